"""Commands about the session itself: privilege, terminal, configuration mode, leaving."""

from __future__ import annotations

from lab.ios.commands.registry import command
from lab.ios.shell import Closed, Shell

Given = dict[str, str]


@command("enable [<level:15-15>]", level=1)
async def enable(shell: Shell, given: Given) -> str | None:
    secret = shell.machine.account.enable_secret
    if shell.level == 15:
        return None
    if not secret:
        return "% Error in authentication.\n"
    for _ in range(3):
        if await shell.ask("Password: ", echo=False) == secret:
            shell.level = 15
            return None
    return "% Bad secrets\n\n"


@command("disable", level=1)
async def disable(shell: Shell, given: Given) -> None:
    shell.level = 1


@command("exit", "quit", "logout", level=1)
async def leave(shell: Shell, given: Given) -> None:
    raise Closed


@command("terminal length <count:0-512>", level=1)
async def length(shell: Shell, given: Given) -> None:
    shell.length = int(given["count"])


@command("terminal width <count:0-512>", "terminal [no] monitor", "terminal no length", level=1)
async def width(shell: Shell, given: Given) -> None:
    """Lines are never wrapped, whatever the width."""


@command("show privilege", level=1)
async def privilege(shell: Shell, given: Given) -> str:
    return f"Current privilege level is {shell.level}\n"


@command("configure terminal")
async def configure(shell: Shell, given: Given) -> str:
    shell.cursor = shell.machine.running.cursor()
    return "Enter configuration commands, one per line.  End with CNTL/Z.\n"


@command("configure")
async def configure_from(shell: Shell, given: Given) -> str | None:
    answer = await shell.ask("Configuring from terminal, memory, or network [terminal]? ")
    return await configure(shell, given) if "terminal".startswith(answer.strip()) else "?\n"


@command("reload [<reason:line>]")
async def reload(shell: Shell, given: Given) -> None:
    answer = await shell.ask("Proceed with reload? [confirm]")
    if answer.strip().lower() in ("", "y"):
        shell.machine.reload()
        raise Closed
