"""Commands about files: `dir`, `more`, `verify`, `copy`, `delete`, `write`."""

from __future__ import annotations

from slotcar.base.texts import lines_of
from slotcar_lab.ios.commands.registry import command
from slotcar_lab.ios.flash import BYTES, NULL, RUNNING, STARTUP, FlashFull, NoSuchFile, kind_of
from slotcar_lab.ios.machine import Machine
from slotcar_lab.ios.terminal import Terminal, explain

Captures = dict[str, str]


@command("dir [<path:file>]", level=1)
async def directory(terminal: Terminal, captures: Captures) -> str:
    flash = terminal.machine.flash
    path = captures.get("path", flash.device)
    terminal.machine.refresh_flash()
    try:
        return flash.listing(path)
    except NoSuchFile:
        return f"%Error opening {path} (File not found)\n"


@command("more <path:file>")
async def more(terminal: Terminal, captures: Captures) -> str:
    try:
        return text_of(terminal.machine, captures["path"])
    except NoSuchFile:
        return f"%Error opening {captures['path']} (File not found)\n"


@command("verify /md5 <path:file>")
async def verify(terminal: Terminal, captures: Captures) -> str:
    path = captures["path"]
    try:
        digest = terminal.machine.flash.md5(path)
    except NoSuchFile:
        return f"%Error verifying {path} (File not found)\n"
    return f".MD5 of {path} Done!\nverify /md5 ({path}) = {digest}\n\n"


@command("delete [/force] <path:file>")
async def delete(terminal: Terminal, captures: Captures) -> str | None:
    path, flash = captures["path"], terminal.machine.flash
    if not _quiet(terminal):
        await terminal.ask(f"Delete filename [{flash.name_of(path)}]? ")
        await terminal.ask(f"Delete {path}? [confirm]")
    try:
        flash.file(path)
    except NoSuchFile:
        return f"%Error deleting {path} (File not found)\n"
    del flash.files[flash.name_of(path)]
    terminal.machine.changed()
    return None


@command("copy <source:file> <target:file>")
async def copy(terminal: Terminal, captures: Captures) -> str:
    machine = terminal.machine
    source, target = _spelt(captures["source"]), _spelt(captures["target"])
    if not _quiet(terminal):
        named = await terminal.ask(f"Destination filename [{target.rpartition(':')[2].lstrip('/')}]? ")
        if named.strip() and kind_of(target) == "flash":
            target = f"{target.partition(':')[0]}:{named.strip()}"
    try:
        text = text_of(machine, source)
    except NoSuchFile:
        return f"%Error opening {source} (No such file or directory)\n"
    errors = ""
    if kind_of(target) == RUNNING:
        refused = await machine.merge(lines_of(text), terminal.user, source)
        errors = "".join(f"{line}\n{explain(answer, line, 0)}" for line, answer in refused)
    elif kind_of(target) == STARTUP:
        machine.startup = text
        machine.changed()
    elif kind_of(target) != NULL:
        try:
            machine.write_flash(target, text.encode(errors=BYTES))
        except FlashFull:
            return f"%Error writing {target} (No space left on device)\n"
        except NoSuchFile:
            return f"%Error opening {target} (No such device)\n"
    size = len(text.encode(errors=BYTES))
    return f"{errors}{size} bytes copied in 0.{len(text) % 900 + 100} secs ({len(text)} bytes/sec)\n"


@command("write [memory]")
async def write(terminal: Terminal, captures: Captures) -> str:
    terminal.machine.startup = terminal.machine.running.text()
    terminal.machine.changed()
    return "Building configuration...\n[OK]\n"


def text_of(machine: Machine, path: str) -> str:
    """What a path names.

    Raises:
        NoSuchFile: none of this name.
    """
    kind = kind_of(path)
    if kind == RUNNING:
        return machine.running.text()
    if kind == STARTUP:
        return machine.startup
    return "" if kind == NULL else machine.flash.read(path).decode(errors=BYTES)


def _spelt(path: str) -> str:
    """`run` and `start` are `running-config` and `startup-config`."""
    if ":" in path:
        return path
    return next((name for name in (RUNNING, STARTUP) if len(path) > 1 and name.startswith(path)), path)


def _quiet(terminal: Terminal) -> bool:
    return terminal.machine.running.holds("file prompt quiet")
