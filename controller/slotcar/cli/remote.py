"""The controller that a command asks over HTTP, with its token."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from slotcar.base.files import read_regular_file
from slotcar.cli.answering import ask_controller, controller_asked
from slotcar.cli.output import complain
from slotcar.cli.place import Declined, chosen_place

if TYPE_CHECKING:
    from slotcar.base.settings import Settings
    from slotcar_client import Slotcar
    from slotcar_client.contexts import Bearer

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


@contextmanager
def remote(address: str | None, token_file: Path | None, attempts: int = 5) -> Iterator[Slotcar]:
    """The controller that these name, else that of the context, else this machine's: by its socket where no token is named.

    Raises:
        Declined: the token file cannot be read.
    """
    from slotcar.base.settings import load_settings
    from slotcar.cli.local_socket import answering_socket
    from slotcar_client import Retries, Slotcar
    from slotcar_client.contexts import token_of

    place = None if address else chosen_place()
    token: Bearer = None
    if token_file:
        token = read_token(token_file)
    elif place:
        token = place.bearer
    elif _is_for(address, os.environ.get("SLOTCAR_API")):
        token = token_of(os.environ)
    api = address or (place.api if place else None)
    if api is None:
        chosen = load_settings()
        names_none = token is None and "listen_port" not in chosen.model_fields_set
        if names_none and (path := answering_socket(chosen)):
            with controller_at(path, attempts) as slotcar:
                yield slotcar
            return
        api = _own_address(chosen)
    ask_controller(api, place.name if place else "")
    with Slotcar(api, token, retries=Retries(attempts=attempts)) as slotcar:
        yield slotcar


@contextmanager
def controller_at(path: Path, attempts: int = 5) -> Iterator[Slotcar]:
    """The controller that answers at a UNIX socket of this machine, which knows this process's account by itself."""
    import httpx

    from slotcar_client import Retries, Slotcar

    ask_controller(f"unix:{path.absolute()}")
    transport = httpx.HTTPTransport(uds=str(path))
    with Slotcar("http://localhost", retries=Retries(attempts=attempts), transport=transport) as slotcar:
        yield slotcar


def not_understood(error: BaseException) -> str | None:
    """What to say where a command failed at what a controller answered; None where none was asked, or it is another error.
    Any server may stand at the address, and its JSON be anything."""
    controller = controller_asked()
    strange = isinstance(error, LookupError | TypeError | AttributeError | ValueError | RecursionError)
    if not controller or not strange:
        return None
    return (
        f"what {controller} answers is not what this slotcar understands ({type(error).__name__}: {str(error)[:100]}):"
        " is it a Slotcar controller, and of this version? --debug shows where"
    )


def _is_for(address: str | None, api: str | None) -> bool:
    """Whether the token of the environment is for `address`: the environment may name another controller with it."""
    if not address or not api or urlsplit(address)[:2] == urlsplit(api)[:2]:
        return True
    complain(f"note: the environment's token is for {api} and is not sent to {address}; say --token-file for another")
    return False


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


def _own_address(chosen: Settings) -> str:
    """The controller of this state folder, or the one at the port that the settings name.

    Whatever listens at the port that is usual may be another folder's, or another person's.

    Raises:
        Declined: no controller serves the folder, or several do.
    """
    from slotcar.api.serving_record import addresses

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
