"""Commands that other distributions add to `slotcar`, by entry points such as `lab = "slotcar_lab.cli:app"`."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer

from slotcar.cli.strict import StrictGroup

#: The group of the entry points. Each is a command's name and its Typer application.
COMMANDS = "slotcar.commands"


class WithInstalled(StrictGroup):
    """A group of commands with those that are installed beside it. One of these is imported when it is asked for: the lab
    takes longer to import than all others together."""

    def list_commands(self, ctx: Any) -> list[str]:
        own = super().list_commands(ctx)
        return [*own, *sorted({one.name for one in entry_points(group=COMMANDS)} - {*own})]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Gives None for a command that is not there, or cannot be loaded; the latter is named on stderr."""
        if (own := super().get_command(ctx, cmd_name)) is not None:
            return own
        installed = next((one for one in entry_points(group=COMMANDS) if one.name == cmd_name), None)
        return None if installed is None else _loaded(installed)


def _loaded(installed: EntryPoint) -> Any:
    try:
        command = typer.main.get_command(installed.load())
    except (ImportError, AttributeError) as error:
        typer.echo(f"warning: the installed command `slotcar {installed.name}` cannot be loaded: {error}", err=True)
        return None
    command.name = installed.name
    return command
