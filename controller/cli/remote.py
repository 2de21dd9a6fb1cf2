"""Asking a running controller over its API, for what changes while one looks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from controller.files import read_regular_file
from controller.problems import SlotcarError

if TYPE_CHECKING:
    import httpx

ANSWER_S = 10.0
#: A stream says something at least every 15 s.
SILENCE_S = 60.0
LARGEST_TOKEN_BYTES = 4096

Api = Annotated[
    str | None,
    typer.Option("--api", envvar="SLOTCAR_API", help="the controller's address; by default that of this machine's"),
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", envvar="SLOTCAR_API_TOKEN_FILE", help="a file that holds a token of that controller"),
]


class NoAnswer(SlotcarError):
    """The controller cannot be reached now; it may be later."""


class Declined(SlotcarError):
    """The controller answers, and will not do this; asking again does not help."""


class Remote:
    """A controller's API, as long as the `with` lasts.

    Raises (every method):
        NoAnswer, Declined.
    """

    def __init__(self, address: str, token: str | None) -> None:
        import httpx

        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.address = address
        try:
            self._client = httpx.Client(base_url=address, headers=headers, timeout=ANSWER_S)
        except (httpx.InvalidURL, ValueError) as error:
            raise Declined(f"{address} is no address of an API: say one such as http://127.0.0.1:8470") from error

    def get(self, path: str, **asked: Any) -> Any:
        with self._answering():
            response = self._client.get(path, params={key: value for key, value in asked.items() if value is not None})
            self._require_good(response)
            return response.json()

    @contextmanager
    def events(self, after: int | None, asked: Mapping[str, str | Sequence[str]]) -> Iterator[Iterator[str]]:
        """The lines of the event stream, from the one after `after` on; from now on where it is None."""
        import httpx

        headers = {"Last-Event-ID": str(after)} if after is not None else {}
        limits = httpx.Timeout(ANSWER_S, read=SILENCE_S)
        with (
            self._answering(),
            self._client.stream(
                "GET", "/v1/events/stream", params=dict(asked), headers=headers, timeout=limits
            ) as response,
        ):
            if response.status_code != 200:
                response.read()
            self._require_good(response)
            yield response.iter_lines()

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def _answering(self) -> Iterator[None]:
        import httpx

        try:
            yield
        except httpx.UnsupportedProtocol as error:
            raise Declined(f"{self.address} is no address of an API: say http:// or https://") from error
        except httpx.TransportError as error:
            words = str(error) or type(error).__name__
            raise NoAnswer(f"the controller at {self.address} does not answer: {words}; does it run?") from error

    def _require_good(self, response: httpx.Response) -> None:
        if response.is_success:
            return
        try:
            words = str(response.json()["detail"])
        except (ValueError, KeyError, TypeError):
            words = f"it answers {response.status_code}, and not as Slotcar does"
        kind = NoAnswer if response.status_code >= 500 else Declined
        raise kind(f"the controller at {self.address}: {words}")


@contextmanager
def remote(address: str | None, token_file: Path | None) -> Iterator[Remote]:
    """
    Raises:
        Declined: the token file cannot be read.
    """
    token = None
    if token_file is not None:
        try:
            token = read_regular_file(token_file, LARGEST_TOKEN_BYTES).decode("ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            words = getattr(error, "strerror", None) or "it is no text"
            raise Declined(f"{token_file}: no token can be read from it: {words}") from error
    opened = Remote(address or _own_address(), token)
    try:
        yield opened
    finally:
        opened.close()


def _own_address() -> str:
    from controller.cli.session import settings

    chosen = settings()
    everywhere = ("0.0.0.0", "::")  # noqa: S104 - asked about, not bound
    host = "127.0.0.1" if chosen.listen_host in everywhere else chosen.listen_host
    return f"http://{f'[{host}]' if ':' in host else host}:{chosen.listen_port}"
