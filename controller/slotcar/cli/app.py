"""The command tree. Modules of commands import the rooms inside their functions, so that `--help` stays quick."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from slotcar.cli import (
    admin,
    adopting,
    auditing,
    contexts,
    costing,
    database,
    delegating,
    devices,
    domains,
    enquiring,
    explaining,
    grouping,
    holding,
    hosts,
    offers,
    planning,
    policies,
    reserving,
    sharing,
    signing_in,
    starting,
    usage,
    viewing,
    webhooks,
)
from slotcar.cli.answering import nobody_asked
from slotcar.cli.exit_codes import ExitCode, markdown_table
from slotcar.cli.installed import WithInstalled
from slotcar.cli.place import choose_context
from slotcar.cli.strict import App
from slotcar.cli.zones import VARIABLE, choose_zone


class CommandLineProgram(WithInstalled):
    """All commands, and how they end."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code.value), code.meaning) for code in ExitCode])


app = App(
    name="slotcar",
    cls=CommandLineProgram,
    help="Reserve bandwidth for a time slot and have the routers do it.",
    epilog=markdown_table(),
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
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="show every shortage of a refusal, not only the tightest")
    ] = False,
    context: Annotated[
        str | None,
        typer.Option(
            "--context",
            help="the controller to use: a name from `slotcar context list`, or `local` for this machine's ledger",
        ),
    ] = None,
    timezone: Annotated[
        str | None,
        typer.Option(
            "--timezone",
            help="show people times in this zone: a place such as Europe/Zurich, an offset, or `local` for this"
            " machine's; by default the context's, or UTC. JSON and YAML stay UTC [env: SLOTCAR_TIMEZONE]",
        ),
    ] = None,
    show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Options that all commands have."""
    from slotcar.base.units import UnitError

    nobody_asked()
    choose_context(context)
    try:
        choose_zone(timezone)
    except UnitError as error:
        where = "--timezone" if timezone else VARIABLE
        raise typer.BadParameter(str(error), param_hint=where) from error


for module in (
    starting, planning, enquiring, reserving, grouping, viewing, usage, auditing, explaining, offers, costing, devices,
    adopting, holding, hosts, delegating, sharing, policies, webhooks, domains, contexts, signing_in, database, admin,
):  # fmt: skip
    module.register(app)
