"""Proxies in front of the API: whose word on the client and on TLS is believed, and what speaks for a set-up that is wrong.

`X-Forwarded-Proto` makes a session's cookie go over TLS alone, so it counts from the operator's proxies and nobody else.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import timedelta

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from slotcar.api.local_socket import STATE
from slotcar.base.logs import RepeatLimit
from slotcar.base.settings import is_loopback
from slotcar_client.wire import documents

log = structlog.get_logger("slotcar.api")
FORWARDED = (b"x-forwarded-proto", b"x-forwarded-for")
#: How the names of the pages' cookies go on.
SESSION = b"slotcar-session="
UNTRUSTED = "forwarded headers of a peer that is no trusted proxy are not believed"
IN_CLEAR = "tokens or sessions cross a network in clear"
_HINTS = {
    UNTRUSTED: "if it is your proxy, name it in SLOTCAR_TRUSTED_PROXIES: until then cookies are not kept to TLS",
    IN_CLEAR: "put a TLS proxy in front that sets X-Forwarded-Proto, and name it in SLOTCAR_TRUSTED_PROXIES",
}


@dataclass(slots=True)
class ProxyTroubles:
    """What was noticed since the start: the kind, and the peer or client that it was last noticed of."""

    latest: dict[str, str] = field(default_factory=dict)
    _log_limit: RepeatLimit = field(default_factory=lambda: RepeatLimit(most=1, within=timedelta(hours=1)))

    def note(self, trouble: str, address: str) -> None:
        self.latest[trouble] = address
        if self._log_limit.admit(trouble, time.monotonic()) is not None:
            log.warning(trouble, client=address, hint=_HINTS[trouble])

    def checks(self, details: bool) -> Iterator[documents.Check]:
        """As `/readyz` says them; they make nothing unready."""
        for trouble, address in sorted(self.latest.items()):
            whose = f" (last of {address})" if details else ""
            yield {"name": "proxy", "ok": True, "message": f"{trouble}{whose}: {_HINTS[trouble]}"}


class ForwardedHeaders:
    """Takes the client and the scheme from the headers of trusted proxies, and notes what others send."""

    def __init__(self, app: ASGIApp, trusted: Collection[str], troubles: ProxyTroubles) -> None:
        self._app, self._troubles = app, troubles
        self._trusting = ProxyHeadersMiddleware(self._forwarded, list(trusted))  # type: ignore[arg-type]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            peer = _client(scope)
            if peer not in self._trusting.trusted_hosts and any(name in FORWARDED for name, _ in scope["headers"]):
                self._troubles.note(UNTRUSTED, peer)
        await self._trusting(scope, receive, send)  # type: ignore[arg-type]

    async def _forwarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        in_clear = scope["type"] == "http" and scope["scheme"] == "http" and not _is_here(scope)
        if in_clear and _has_credentials(scope):
            self._troubles.note(IN_CLEAR, _client(scope))
        await self._app(scope, receive, send)


def _client(scope: Scope) -> str:
    return str(scope["client"][0]) if scope.get("client") else ""


def _is_here(scope: Scope) -> bool:
    """Whether the request comes from this machine: by its socket, or from a loopback address."""
    return scope.get("state", {}).get(STATE) is not None or is_loopback(_client(scope))


def _has_credentials(scope: Scope) -> bool:
    """Whether the request has a token or a session, or is about to bring one."""
    if scope["path"] == "/sign-in":
        return True
    return any(
        name == b"authorization" or (name == b"cookie" and SESSION in value) for name, value in scope["headers"]
    )
