"""Commands about the session itself: privilege, terminal, configuration mode, leaving."""

from __future__ import annotations

from slotcar_lab.ios.commands.registry import command
from slotcar_lab.ios.terminal import Closed, Terminal

Captures = dict[str, str]


@command("enable [<level:15-15>]", level=1)
async def enable(terminal: Terminal, captures: Captures) -> str | None:
    secret = terminal.machine.account.enable_secret
    if terminal.level == 15:
        return None
    if not secret:
        return "% Error in authentication.\n"
    for _ in range(3):
        if await terminal.ask("Password: ", echo=False) == secret:
            terminal.level = 15
            return None
    return "% Bad secrets\n\n"


@command("disable", level=1)
async def disable(terminal: Terminal, captures: Captures) -> None:
    terminal.level = 1


@command("exit", "quit", "logout", level=1)
async def leave(terminal: Terminal, captures: Captures) -> None:
    raise Closed


@command("terminal length <count:0-512>", level=1)
async def length(terminal: Terminal, captures: Captures) -> None:
    terminal.length = int(captures["count"])


@command("terminal width <count:0-512>", "terminal [no] monitor", "terminal no length", level=1)
async def width(terminal: Terminal, captures: Captures) -> None:
    """Lines are never wrapped, whatever the width."""


@command("show privilege", level=1)
async def privilege(terminal: Terminal, captures: Captures) -> str:
    return f"Current privilege level is {terminal.level}\n"


@command("configure terminal")
async def configure(terminal: Terminal, captures: Captures) -> str:
    terminal.cursor = terminal.machine.running.cursor()
    return "Enter configuration commands, one per line.  End with CNTL/Z.\n"


@command("configure")
async def configure_from(terminal: Terminal, captures: Captures) -> str | None:
    answer = await terminal.ask("Configuring from terminal, memory, or network [terminal]? ")
    return await configure(terminal, captures) if "terminal".startswith(answer.strip()) else "?\n"


@command("reload [<reason:line>]")
async def reload(terminal: Terminal, captures: Captures) -> None:
    answer = await terminal.ask("Proceed with reload? [confirm]")
    if answer.strip().lower() in ("", "y"):
        terminal.machine.reload()
        raise Closed
