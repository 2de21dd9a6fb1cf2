"""What every answer says to a browser. Pure ASGI: a `BaseHTTPMiddleware` would stand between a stream and its reader."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Nothing from elsewhere, and nothing inline: a label that got through as markup would run nothing.
POLICY = "; ".join(
    (
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
        "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
    )
)  # fmt: skip
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
}
#: Swagger UI's page has a script in it.
_WITHOUT_POLICY = ("/docs",)


class SecurityHeaders:
    """Adds `HEADERS` to every answer that does not have them already."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    if name != "Content-Security-Policy" or scope["path"] not in _WITHOUT_POLICY:
                        headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)
