"""Named controllers: which one the verbs go to."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slotcar.cli.confirmation import confirm
from slotcar.cli.options import OutputFormat, Yes, parsed
from slotcar.cli.output import Format, emit, print_table, stdout
from slotcar.cli.place import LOCAL, Declined, chosen_place
from slotcar.cli.remote import read_token
from slotcar.cli.strict import App
from slotcar.cli.zones import VARIABLE, zone_of

if TYPE_CHECKING:
    from slotcar_client.contexts import Contexts

context = App(
    help="Named controllers, kept in ~/.config/slotcar, and which of them commands use.", no_args_is_help=True
)
Name = Annotated[str, typer.Argument(metavar="CONTEXT", help="its name", show_default=False)]


def register(app: typer.Typer) -> None:
    app.add_typer(context, name="context")


def _contexts() -> Contexts:
    from slotcar_client.contexts import Contexts, folder_of

    return Contexts(folder_of())


@context.command()
def add(
    name: Name,
    api: Annotated[str, typer.Option("--api", help="the controller's address, such as https://slotcar.example.net")],
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file", help="a file with the token; by default, or with `-`, it is read from standard input"
        ),
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="the controller asks for no token (SLOTCAR_OPEN)")
    ] = False,
    timezone: Annotated[
        str | None, typer.Option("--timezone", help="show people times in this zone, such as Europe/Zurich")
    ] = None,
    use: Annotated[bool, typer.Option("--use", help="also use it from now on; the first context always is")] = False,
) -> None:
    """Add a controller, or replace one of that name. Its token is kept in a file that only you can read."""
    from slotcar_client.client import checked

    if name == LOCAL:
        raise Declined(f"{LOCAL} is this machine's ledger, which is there always: say another name")
    zone = parsed("--timezone", _checked_zone, timezone) if timezone else None
    checked(api)
    token = None
    if not no_token:
        from_file = token_file is not None and str(token_file) != "-"
        token = read_token(token_file) if from_file and token_file else _typed_token()
    _contexts().add(name, api, token, use, zone)
    used = _contexts().in_use() == name
    stdout().print(f"{name} is {api}{', and in use' if used else ''}.")


def _checked_zone(name: str) -> str:
    """
    Raises:
        UnitError: there is no such zone.
    """
    zone_of(name)
    return name


def _typed_token() -> str:
    """
    Raises:
        Declined: there is none.
    """
    token = (typer.prompt("Token", hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline()).strip()
    if not token or not token.isascii() or not token.isprintable():
        raise Declined("standard input has no token: name a file by --token-file, or say --no-token")
    return str(token)


@context.command(name="list")
def list_contexts(form: OutputFormat = Format.TABLE) -> None:
    """List the contexts; `*` marks the one in use."""
    contexts = _contexts()
    used = contexts.in_use() or LOCAL
    listed, zones = {LOCAL: "", **contexts.names()}, contexts.timezones()
    data = [
        {"name": name, "api": api or None, "in_use": name == used, "timezone": zones.get(name)}
        for name, api in listed.items()
    ]
    rows = [
        ("*" if name == used else "", name, api or "this machine's ledger", zones.get(name, ""))
        for name, api in listed.items()
    ]
    emit(data, form, lambda: print_table(("", "context", "controller", "times in"), rows, ""))


@context.command()
def use(name: Name) -> None:
    """Use this context from now on; `local` is this machine's ledger."""
    _contexts().use(None if name == LOCAL else name)
    stdout().print(f"{name} is in use.")


@context.command()
def timezone(
    name: Name,
    zone: Annotated[
        str, typer.Argument(help="a place such as Europe/Zurich, an offset, `local`, or UTC", show_default=False)
    ],
) -> None:
    """Show people times of this context's controller in a zone. JSON and YAML stay UTC; --timezone goes before it."""
    chosen = parsed("ZONE", _checked_zone, zone)
    if name == LOCAL:
        raise Declined(f"{LOCAL} keeps no setting: set {VARIABLE}={zone}, which all commands go by")
    _contexts().set_timezone(name, "" if chosen == "UTC" else chosen)
    stdout().print(f"Times of {name} are shown in {zone}.")


@context.command()
def show() -> None:
    """Show which controller commands use now, and whether --context, SLOTCAR_API, SLOTCAR_CONTEXT or `use` chose it."""
    place = chosen_place()
    words = "this machine's ledger" if place is None else f"{place.api} ({place.name or 'SLOTCAR_API'})"
    stdout().print(words)


@context.command()
def remove(name: Name, yes: Yes = False) -> None:
    """Remove a context and its token. Asks first."""
    contexts = _contexts()
    contexts.need(name)
    confirm(yes, f"Forget the context {name} and its token?")
    contexts.remove(name)
    stdout().print(f"{name} is forgotten.")
