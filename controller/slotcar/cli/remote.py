"""Which controller a command goes to over HTTP, and what becomes of the errors of the client library."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from slotcar.base.files import read_regular_file
from slotcar.base.problems import SlotcarError
from slotcar.cli.answering import ask_controller, nobody_asked
from slotcar.cli.output import complain

if TYPE_CHECKING:
    from slotcar_client import Slotcar
    from slotcar_client.contexts import Place

#: The context of this machine's own ledger, which needs no address.
LOCAL = "local"
LARGEST_TOKEN_BYTES = 4096
Api = Annotated[
    str | None,
    typer.Option(
        "--api",
        help="the controller's address; by default the context's, or else that of the one which serves this state folder",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option("--token-file", help="a file that holds a token of that controller [env: SLOTCAR_API_TOKEN_FILE]"),
]
#: Kinds of problems by which admission or a policy refuses (exit code 3).
_REFUSALS = frozenset(
    ("refused", "plan-refused", "quota-exceeded", "flow-taken", "hold-too-long", "beyond-horizon", "endpoint-not-allowed",
     "host-not-given", "bind-not-allowed", "unrenderable")
)  # fmt: skip
_context: str | None = None
#: The address of the controller that this command has asked; empty where it has asked none.
_controller = ""


class NoAnswer(SlotcarError):
    """The controller cannot be reached now; it may be later."""


class Declined(SlotcarError):
    """The controller answers, and will not do this; asking again does not help."""


class RefusedByController(Declined):
    """The controller's admission or its operator's rules refuse it.

    Attributes:
        refusal: admission's numbers, as the API gives them; None where it was not admission.
    """

    def __init__(self, message: str, refusal: Mapping[str, Any] | None = None) -> None:
        self.refusal = refusal
        super().__init__(message)


def choose_context(name: str | None) -> None:
    """What `--context` says, for the whole command."""
    global _context, _controller
    _context, _controller = name, ""
    nobody_asked()


def chosen_place() -> Place | None:
    """The controller that verbs go to; None for this machine's ledger.

    Raises:
        Declined: the context is not there, or its token cannot be read.
    """
    name = _context or (None if os.environ.get("SLOTCAR_API") else os.environ.get("SLOTCAR_CONTEXT"))
    if name == LOCAL:
        return None
    if name is None and not os.environ.get("SLOTCAR_API") and not _contexts_file().exists():
        return None  # without the client library, which takes a while to import
    from slotcar_client import contexts

    with translated():
        return contexts.chosen_place(context=name)


def _contexts_file() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME") or Path(os.environ.get("HOME") or Path.home()) / ".config"
    return Path(base) / "slotcar" / "contexts.json"


@contextmanager
def remote(address: str | None, token_file: Path | None, attempts: int = 5) -> Iterator[Slotcar]:
    """The controller that these name, else that of the context, else this machine's.

    Raises:
        Declined: the token file cannot be read; and see `translated`.
    """
    from slotcar_client import Retries, Slotcar
    from slotcar_client.contexts import token_of

    global _controller
    with translated():
        place = None if address else chosen_place()
        token: str | None = None
        if token_file:
            token = read_token(token_file)
        elif place:
            token = place.token
        elif _is_for(address, os.environ.get("SLOTCAR_API")):
            token = token_of(os.environ)
        api = address or (place.api if place else _own_address())
        _controller = api
        ask_controller(api, place.name if place else "")
        with Slotcar(api, token, retries=Retries(attempts=attempts)) as slotcar:
            yield slotcar


def not_understood(error: BaseException) -> str | None:
    """What to say where a command failed at what a controller answered; None where none was asked, or it is another error.
    Any server may stand at the address, and its JSON be anything."""
    if not _controller or not isinstance(
        error, LookupError | TypeError | AttributeError | ValueError | RecursionError
    ):
        return None
    return (
        f"what {_controller} answers is not what this slotcar understands ({type(error).__name__}: {str(error)[:100]}):"
        " is it a Slotcar controller, and of this version? --debug shows where"
    )


def _is_for(address: str | None, api: str | None) -> bool:
    """Whether the token of the environment is for `address`: the environment may name another controller with it."""
    if not address or not api or urlsplit(address)[:2] == urlsplit(api)[:2]:
        return True
    complain(f"note: the environment's token is for {api} and is not sent to {address}; say --token-file for another")
    return False


@contextmanager
def translated() -> Iterator[None]:
    """
    Raises:
        NoAnswer, Declined, RefusedThere: instead of the client library's errors, in the same words.
    """
    import slotcar_client

    try:
        yield
    except (slotcar_client.NoAnswer, slotcar_client.Unavailable) as error:
        raise NoAnswer(str(error)) from error
    except slotcar_client.Problem as error:
        words = f"{error}; an earlier attempt may have done it: see slotcar status" if error.maybe_done else str(error)
        if error.kind in _REFUSALS:
            raise RefusedByController(words, None if error.maybe_done else error.document.get("refusal")) from error
        raise Declined(words) from error
    except slotcar_client.SlotcarError as error:
        raise Declined(str(error)) from error


def read_token(file: Path) -> str:
    """
    Raises:
        Declined: it cannot be read.
    """
    try:
        return read_regular_file(file, LARGEST_TOKEN_BYTES).decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        words = getattr(error, "strerror", None) or "it is not text"
        raise Declined(f"{file}: no token can be read from it: {words}") from error


def _own_address() -> str:
    """The controller of this state folder, or the one at the port that the settings name.

    Whatever listens at the port that is usual may be another folder's, or another person's.

    Raises:
        Declined: no controller serves the folder, or several do.
    """
    from slotcar.api.serving_record import addresses
    from slotcar.cli.session import settings

    chosen = settings()
    if "listen_port" in chosen.model_fields_set:
        return chosen.address_here(chosen.listen_port)
    folder = chosen.state_dir.absolute()
    name_one = "name one with --api where the command has it, SLOTCAR_API or --context"
    try:
        serving = addresses(folder)
    except OSError as error:
        raise Declined(f"who serves the state folder {folder} cannot be seen: {error.strerror}; {name_one}") from error
    if not serving:
        words = "no controller that runs on this machine serves the state folder"
        raise Declined(f"{words} {folder}: start one with `slotcar serve`, or {name_one}")
    if len(serving) > 1:
        raise Declined(f"several controllers serve the state folder {folder}, at {', '.join(serving)}: {name_one}")
    return serving[0]
