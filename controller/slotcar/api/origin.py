"""Who may reach the API through a browser: requests that name this controller, and pages of its own.

A page of another site can make its reader's browser send requests here, and by a name that it lets point to this address
(DNS rebinding) even read the answers. So the Host header must be a name that the operator knows (RFC 9110 §7.4), and what a
browser says of a request's origin (Fetch Metadata's `Sec-Fetch-Site`, RFC 6454's `Origin`) must be this API itself.
Programs send neither of the two, and pass.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from slotcar.api import problems

#: Names of this machine for itself: no other site can take them.
OWN_NAMES = ("localhost", "127.0.0.1", "::1")
_SAFE = ("GET", "HEAD", "OPTIONS")
#: Everybody is told these; a monitor's page may ask them from its own site.
_OPEN = ("/healthz", "/readyz", "/metrics")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class CheckOrigin:
    """Refuses requests for other hosts (421) and from other sites (403) before anything reads them.

    Starlette's TrustedHostMiddleware knows no IPv6 address and answers with plain text.
    """

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        self._app = app
        self._hosts = frozenset(name.strip("[]").lower() for name in (*OWN_NAMES, *hosts))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            stated = headers.getlist("host")
            name = host_of(stated[0]) if len(stated) == 1 else None
            if name not in self._hosts:
                text = stated[0][:100] if stated else "nothing"
                words = (
                    f"this is not {text}: ask by a name of this controller; SLOTCAR_HOSTS lists those beside its own"
                )
                await problems.answer(Request(scope), 421, words)(scope, receive, send)
                return
            if scope["path"] not in _OPEN and is_foreign(scope["method"], headers):
                words = "the request comes from a page of another site: ask from this one, or from a program"
                await problems.answer(Request(scope), 403, words)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def host_of(authority: str) -> str | None:
    """The name or address in a Host header, without its port, in lower case; None where it is none.

    >>> host_of("LocalHost:8470"), host_of("[::1]:8470"), host_of("a b"), host_of("")
    ('localhost', '::1', None, None)
    """
    try:
        parts = urlsplit(f"//{authority}")
        _ = parts.port
    except ValueError:
        return None
    return parts.hostname if parts.netloc == authority and "@" not in authority and " " not in authority else None


def is_foreign(method: str, headers: Mapping[str, str]) -> bool:
    """Whether a browser says that the request comes from a page of another site.

    A link or a bookmark may lead here from anywhere: such a navigation reads, and its answer is for the person.
    """
    site = headers.get("sec-fetch-site", "none")
    if site not in ("same-origin", "none"):
        return not (method in _SAFE and headers.get("sec-fetch-mode") == "navigate")
    origin = headers.get("origin")
    return method not in _SAFE and origin is not None and not _is_own(origin, headers["host"])


def _is_own(origin: str, host: str) -> bool:
    """Whether an origin is the very host and port that were asked."""
    try:
        theirs = urlsplit(origin)
        default = _DEFAULT_PORTS.get(theirs.scheme)
        ours = urlsplit(f"//{host}")
        return default is not None and (theirs.hostname, theirs.port or default) == (
            ours.hostname,
            ours.port or default,
        )
    except ValueError:
        return False
