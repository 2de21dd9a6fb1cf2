"""The command tree. Modules of commands import the rooms inside their functions, so that `--help` stays quick."""

from __future__ import annotations

from typing import Annotated

import typer

from controller.cli import admin, devices, planning, reserving, viewing, webhooks
from controller.cli.installed import WithInstalled
from controller.cli.strict import App

app = App(
    name="slotcar",
    cls=WithInstalled,
    help="Reserve bandwidth for a time slot and have the routers do it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"slotcar {version('slotcar')}")
        raise typer.Exit


@app.callback()
def root(
    debug: Annotated[bool, typer.Option("--debug", help="show tracebacks [env: SLOTCAR_DEBUG]")] = False,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Exit codes: 0 ok, 1 error, 2 usage (also: it must ask, there is no terminal and no --yes), 3 refused by admission,
    4 push failed and rolled back, 5 push failed and not rolled back, 6 the answer to a question was no,
    130 interrupted."""


for module in (planning, reserving, viewing, devices, webhooks, admin):
    module.register(app)
