"""Commands that change a configuration as a whole, or for a trial: `configure replace`, revert timers, `archive`.

"Configuration Replace and Configuration Rollback" and "Configuration Rollback Confirmed Change", Release 12.3T and 12.4T.
"""

from __future__ import annotations

from slotcar.base.texts import lines_of
from slotcar_lab.ios import difference
from slotcar_lab.ios.commands.files import text_of
from slotcar_lab.ios.commands.registry import command
from slotcar_lab.ios.configuration import Configuration
from slotcar_lab.ios.flash import BYTES, NoSuchFile
from slotcar_lab.ios.machine import PASSES, Machine, Replacement
from slotcar_lab.ios.terminal import Terminal

Captures = dict[str, str]
NO_ARCHIVE = "%Please turn config archive on before using this feature\n"
NOTHING_PENDING = "%No Rollback Confirmed Change pending\n"


@command("configure terminal revert timer <minutes:1-120>")
async def configure_on_trial(terminal: Terminal, captures: Captures) -> str:
    if refusal := _untriable(terminal.machine):
        return refusal
    minutes = int(captures["minutes"])
    terminal.machine.arm(minutes, terminal.user, terminal.machine.running.copy())
    terminal.cursor = terminal.machine.running.cursor()
    return (
        f"Rollback Confirmed Change: Backing up current running config to {_archive_path(terminal.machine)}-0\n\n"
        "Enter configuration commands, one per line.  End with CNTL/Z.\n"
        f"Rollback Confirmed Change: Rollback will begin in {minutes} minute{'s' * (minutes > 1)}.\n"
        'Enter "configure confirm" if you wish to keep what you\'ve configured\n'
    )


@command("configure confirm")
async def confirm(terminal: Terminal, captures: Captures) -> str | None:
    if terminal.machine.pending is None:
        return NOTHING_PENDING
    terminal.machine.forget_pending()
    terminal.machine.changed()
    return None


@command("configure revert now")
async def revert(terminal: Terminal, captures: Captures) -> str:
    if terminal.machine.pending is None:
        return NOTHING_PENDING
    terminal.machine.revert()
    return "Rollback Confirmed Change: rolling to: the configuration before the change\n\nRollback Done\n\n"


@command("configure revert timer <minutes:1-120>")
async def postpone(terminal: Terminal, captures: Captures) -> str | None:
    pending = terminal.machine.pending
    if pending is None:
        return NOTHING_PENDING
    terminal.machine.arm(int(captures["minutes"]), pending.user, pending.saved)
    return None


@command(
    "configure replace <path:file> [list] [<force:=force>]"
    " [revert trigger <trigger:=error>] [[revert] timer <minutes:1-120>]",
    "configure replace <path:file> [list] [<force:=force>] [time <minutes:1-120>]",
)
async def replace(terminal: Terminal, captures: Captures) -> str:
    machine = terminal.machine
    on_error, minutes = "trigger" in captures, int(captures.get("minutes", 0))
    if minutes and (refusal := _untriable(machine)):
        return refusal
    if on_error and not _archives(machine):
        return NO_ARCHIVE
    wanted = _wanted(machine, captures["path"])
    if isinstance(wanted, str):
        return wanted
    if "force" not in captures and not await _is_sure(terminal):
        return ""
    before = machine.running.copy()
    if minutes:
        machine.arm(minutes, terminal.user, before)
    done = await machine.replace(wanted, terminal.user)
    if not done.failed:
        return f"\nTotal number of passes: {done.passes}\nRollback Done\n\n"
    return await _failure_text(terminal, done, before if on_error else None)


async def _is_sure(terminal: Terminal) -> bool:
    terminal.put(
        "This will apply all necessary additions and deletions\n"
        "to replace the current running configuration with the\n"
        "contents of the specified configuration file, which is\n"
        "assumed to be a complete configuration, not a partial\n"
        "configuration.\n"
    )
    return (await terminal.ask("Enter Y if you are sure you want to proceed. ? [no]: ")).strip().lower() in (
        "y",
        "yes",
    )


def _wanted(machine: Machine, path: str) -> Configuration | str:
    """The configuration in a file, or why it holds none."""
    try:
        text = text_of(machine, path)
        if "end" not in (line.strip() for line in lines_of(text)):
            return "%The input file is not a valid config file.\n"
        return machine.parsed(text)
    except NoSuchFile:
        return f"%Error opening {path} (No such file or directory)\n"
    except ValueError as error:
        return f"%The input file is not a valid config file.\n{error}\n"


async def _failure_text(terminal: Terminal, done: Replacement, before: Configuration | None) -> str:
    machine = terminal.machine
    lines = "".join(f"{line}\n" for line in done.failed)
    text = f"\nRollback aborted after {PASSES} passes\nThe following commands are failed to apply to the IOS image.\n"
    text += f"********\n{lines}********\n"
    if before is not None:
        machine.forget_pending()
        await machine.replace(before, terminal.user)
        text += "\nError rollback: the original configuration has been successfully restored\n"
    return text


@command("archive config")
async def archive(terminal: Terminal, captures: Captures) -> str | None:
    machine = terminal.machine
    if not _archives(machine):
        return NO_ARCHIVE
    machine.write_flash(
        f"{_archive_path(machine)}-{len(machine.flash.files)}", machine.running.text().encode(errors=BYTES)
    )
    return None


@command("show archive")
async def show_archive(terminal: Terminal, captures: Captures) -> str:
    if not _archives(terminal.machine):
        return "Archive feature not enabled\n"
    return (
        "The maximum archive configurations allowed is 10.\n"
        "There are currently 0 archive configurations saved.\n"
        f"The next archive file will be named {_archive_path(terminal.machine)}-<timestamp>-0\n"
        " Archive #  Name\n   1\n"
    )


@command("show archive config rollback timer")
async def show_timer(terminal: Terminal, captures: Captures) -> str:
    pending = terminal.machine.pending
    if pending is None:
        return NOTHING_PENDING
    return (
        f"Time configured(UTC): {pending.since.strftime('%H:%M:%S UTC %a %b %d %Y')}\n"
        f"Timer type: absolute timer\nTimer value: {pending.minutes} min\nUser: {pending.user}\n"
    )


@command("show archive config differences [<first:file> [<second:file>]]")
async def differences(terminal: Terminal, captures: Captures) -> str:
    machine = terminal.machine
    try:
        first = text_of(machine, captures.get("first", "nvram:startup-config"))
        second = text_of(machine, captures.get("second", "system:running-config"))
        lines = difference.contextual(machine.parsed(first), machine.parsed(second))
    except NoSuchFile as error:
        return f"%Error opening {error} (No such file or directory)\n"
    except ValueError as error:
        return f"%Error: {error}\n"
    return "".join(f"{line}\n" for line in lines)


@command("show archive config incremental-diffs <path:file> [ignorecase]")
async def incremental(terminal: Terminal, captures: Captures) -> str:
    machine = terminal.machine
    try:
        lines = difference.incremental(machine.running, lines_of(text_of(machine, captures["path"])))
    except NoSuchFile:
        return f"%Error opening {captures['path']} (No such file or directory)\n"
    return "".join(f"{line}\n" for line in lines)


def _untriable(machine: Machine) -> str:
    """Why no change can be made on trial now; empty where one can."""
    if not _archives(machine):
        return NO_ARCHIVE
    return "%Rollback Confirmed Change already pending\n" if machine.pending else ""


def _archives(machine: Machine) -> bool:
    return bool(_archive_path(machine))


def _archive_path(machine: Machine) -> str:
    section = machine.running.top.child("archive")
    path = section.child("path") if section else None
    return path.text.split()[1] if path else ""
