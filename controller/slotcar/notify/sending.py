"""One message to one receiver over HTTP: bounded in time and size, redirects not followed."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass
from types import TracebackType
from urllib.parse import urlsplit

import httpx

from slotcar.base import lengths
from slotcar.base.settings import is_loopback
from slotcar.base.texts import lines_of
from slotcar.notify.errors import WrongUrl

#: For everything: the name's look-up, the connection, TLS, the request and the answer.
ANSWER_S = 10.0
#: How the words on an answer begin that is not a good one.
ANSWERED = "answered"
#: What somebody is told who is not told why there was no answer.
NO_ANSWER = "there was no answer over HTTP"


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """`status` is None where there was no answer; `words` say what went wrong, and nothing of what was sent."""

    ok: bool
    status: int | None
    words: str


def checked_url(text: str) -> str:
    """
    Raises:
        WrongUrl: no http or https, no host, a password in it, a fragment, too long.
    """
    hint = "say one such as https://example.net/slotcar"
    if len(text) > lengths.URL or not text.isascii() or not text.isprintable() or " " in text:
        raise WrongUrl(f"the URL holds what a URL cannot, or more than {lengths.URL} characters: {hint}")
    try:
        parts = urlsplit(text)
        port = parts.port
        httpx.URL(text)
    except (ValueError, httpx.InvalidURL):
        raise WrongUrl(f"the URL is none: {hint}") from None
    if parts.scheme not in ("http", "https"):
        raise WrongUrl(
            f"the URL's scheme is {parts.scheme or 'missing'}; events are sent by http and https only: {hint}"
        )
    if not parts.hostname or port == 0:
        raise WrongUrl(f"the URL names no host: {hint}")
    if parts.username is not None or parts.password is not None:
        raise WrongUrl("the URL holds a user or a password: leave it out, receivers know Slotcar by its signature")
    if parts.fragment:
        raise WrongUrl("the URL has a fragment (#…), which is never sent: leave it out")
    return text


def sent_in_clear(url: str) -> bool:
    """Whether events to this URL cross a network without encryption: by http, to another machine than the sender's own."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not is_loopback(parts.hostname or "")


class Sender:
    """Sends; use it with `async with`. Proxies and credentials of the environment are not used."""

    def __init__(self, answer_s: float = ANSWER_S) -> None:
        self._answer_s = answer_s
        self._client = httpx.AsyncClient(
            verify=ssl.create_default_context(), follow_redirects=False, trust_env=False, timeout=answer_s,
            limits=httpx.Limits(max_connections=100, max_keepalive_connections=20),
        )  # fmt: skip

    async def __aenter__(self) -> Sender:
        await self._client.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._client.__aexit__(kind, error, trace)

    async def send(self, url: str, body: bytes, headers: dict[str, str]) -> DeliveryOutcome:
        """The answer's head is all that is read: what a receiver says beyond it is not needed."""
        try:
            async with (
                asyncio.timeout(self._answer_s),
                self._client.stream("POST", url, content=body, headers=headers) as response,
            ):
                return _outcome(response)
        except TimeoutError:
            return DeliveryOutcome(False, None, f"did not answer within {self._answer_s:g} s")
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
            return DeliveryOutcome(False, None, _words(error))


def _outcome(response: httpx.Response) -> DeliveryOutcome:
    status = response.status_code
    if response.is_success:
        return DeliveryOutcome(True, status, "")
    more = ", and redirects are not followed: register the address that it leads to" if response.is_redirect else ""
    return DeliveryOutcome(False, status, f"{ANSWERED} {status}{more}")


def _words(error: Exception) -> str:
    """The kind of the error and its first line; none of these errors quotes headers or the body."""
    if isinstance(error, httpx.TimeoutException):
        return "did not answer in time"
    lines = lines_of(str(error).strip())
    return f"could not be reached: {(lines[0] if lines else type(error).__name__)[:200]}"
