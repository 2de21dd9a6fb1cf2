"""The controller itself: serve, schemas, completion, tokens."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from slotcar.cli.answering import ask_state_folder
from slotcar.cli.confirmation import confirm
from slotcar.cli.options import Inventory, OutputFormat, Yes, parsed
from slotcar.cli.output import Format, emit, print_table, progress
from slotcar.cli.session import now, require_own_state_folder, settings, warn_of_other_controller
from slotcar.cli.strict import App

token = App(help="Bearer tokens of the API.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    app.command()(serve)
    app.command()(schema)
    app.command()(completion)
    app.add_typer(token, name="token")


def serve(
    inventory: Inventory = None,
    host: Annotated[str | None, typer.Option("--host", help="address to listen on [env: SLOTCAR_LISTEN_HOST]")] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="port to listen on [env: SLOTCAR_LISTEN_PORT]")
    ] = None,
    tls_certificate: Annotated[
        Path | None,
        typer.Option("--tls-certificate", help="to speak TLS itself, as PEM [env: SLOTCAR_TLS_CERTIFICATE]"),
    ] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", help="its key [env: SLOTCAR_TLS_KEY]")] = None,
    client_ca: Annotated[
        Path | None,
        typer.Option("--client-ca", help="who signs certificates of programs, as PEM [env: SLOTCAR_TLS_CLIENT_CA]"),
    ] = None,
    reconcile: Annotated[
        bool | None, typer.Option("--reconcile/--no-reconcile", help="push to the devices [env: SLOTCAR_RECONCILE]")
    ] = None,
) -> None:
    """Run the controller: the API, and the loop that pushes at every slot boundary."""
    from slotcar.api.serving import serve as run
    from slotcar.web.app import create_app

    chosen = settings(
        inventory=inventory, listen_host=host, listen_port=port, reconcile=reconcile, tls_certificate=tls_certificate,
        tls_key=tls_key, tls_client_ca=client_ca,
    )  # fmt: skip
    run(chosen, create_app)


def schema(
    which: Annotated[str, typer.Argument(help="reservation (of reservation files) or openapi (of the API)")],
) -> None:
    """Print a JSON Schema, for editors and programs."""
    if which == "reservation":
        from slotcar.reservation import json_schema

        document = json_schema()
    elif which == "openapi":
        from slotcar.api.app import openapi_document

        document = openapi_document()
    else:
        raise typer.BadParameter("say reservation or openapi", param_hint="WHICH")
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


class CompletionShell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[CompletionShell, typer.Argument(help="the shell that completes", show_default=False)],
) -> None:
    """Print the script by which a shell completes commands, options, reservations and devices.

    bash: `source <(slotcar completion bash)` in ~/.bashrc; zsh: the same with zsh, after compinit, in ~/.zshrc; fish:
    `slotcar completion fish > ~/.config/fish/completions/slotcar.fish`.
    """
    from typer._completion_shared import get_completion_script

    from slotcar.cli.completing import VARIABLE

    script = get_completion_script(prog_name="slotcar", complete_var=VARIABLE, shell=shell.value)
    sys.stdout.write(script + "\n")


@token.command(name="create")
def token_create(
    name: Annotated[str, typer.Argument(help="the program that uses it, such as cms-transfers")],
    role: Annotated[str, typer.Option("--role", help="requester, operator or auditor")] = "requester",
    owner: Annotated[
        str | None, typer.Option("--owner", help="the owner of its reservations; by default the name")
    ] = None,
    valid: Annotated[str | None, typer.Option("--valid", help="how long it is valid, such as `90 d`")] = None,
    scopes: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            help="what it is for alone: a verb, a right, or FAMILY:read or :write (reservations:read); may be repeated",
        ),
    ] = None,
) -> None:
    """Make a token and print it once; only its hash is kept."""
    from slotcar.auth.tokens import create_token
    from slotcar.base.units import parse_duration
    from slotcar.book.rules.roles import Role

    if role not in set(Role):
        raise typer.BadParameter(f"say one of {', '.join(Role)}", param_hint="--role")
    warn_of_other_controller("tokens")
    require_own_state_folder()
    moment = now()
    expires_at = moment + parsed("--valid", parse_duration, valid) if valid else None
    secret = create_token(settings().tokens_path, name, Role(role), owner or name, moment, expires_at, scopes or ())
    sys.stdout.write(f"{secret}\n")
    progress("this is the only time that it is shown")


@token.command(name="list")
def token_list(form: OutputFormat = Format.TABLE) -> None:
    """List tokens by name, role, owner and scopes; never the tokens themselves."""
    from slotcar.auth.tokens import read_tokens
    from slotcar.base.timebase import iso

    chosen = settings()
    ask_state_folder(chosen)
    tokens = read_tokens(chosen.tokens_path)
    data = [
        {"name": one.name, "role": one.role.value, "owner": one.owner, "created_at": iso(one.created_at),
         "expires_at": iso(one.expires_at) if one.expires_at else None, "scopes": list(one.scopes)}
        for one in tokens
    ]  # fmt: skip
    rows = [
        (one.name, one.role.value, one.owner, iso(one.created_at), iso(one.expires_at) if one.expires_at else "never",
         " ".join(one.scopes) or "all")
        for one in tokens
    ]  # fmt: skip
    emit(data, form, lambda: print_table(("name", "role", "owner", "created", "expires", "for"), rows, "No tokens."))


@token.command(name="revoke")
def token_revoke(name: str, yes: Yes = False) -> None:
    """Revoke a token; a running controller refuses it from the next request on. Asks first."""
    from slotcar.auth.tokens import need_token, revoke_token

    warn_of_other_controller("tokens")
    require_own_state_folder()
    file = settings().tokens_path
    need_token(file, name)
    confirm(yes, f"Revoke the token {name}?")
    revoke_token(file, name)
