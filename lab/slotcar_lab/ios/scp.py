"""The far end of scp: a sink and a source over a router's flash (the protocol of rcp, as OpenSSH's `scp -O` speaks it)."""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Callable

from slotcar_lab.ios.flash import FlashFull, NoSuchFile
from slotcar_lab.ios.machine import Machine

_OK = b"\0"


def wanted(command: str) -> tuple[bool, str] | None:
    """Whether an SSH command is one of scp's: (it sends to us, the path)."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if not words or words[0] != "scp":
        return None
    flags = "".join(word[1:] for word in words[1:-1] if word.startswith("-"))
    return "t" in flags, words[-1]


async def serve(
    machine: Machine, to_us: bool, path: str, reader: asyncio.StreamReader, write: Callable[[bytes], None]
) -> int:
    """Transfer one file; gives the exit status.

    Raises:
        asyncio.IncompleteReadError: the other end went away.
    """
    if not machine.running.holds("ip scp server enable"):
        write(b"\x01Administratively disabled.\n")
        return 1
    return await (_sink if to_us else _source)(machine, path, reader, write)


async def _sink(machine: Machine, path: str, reader: asyncio.StreamReader, write: Callable[[bytes], None]) -> int:
    write(_OK)
    while line := await reader.readline():
        if line[:1] == b"T":
            write(_OK)
            continue
        header = re.fullmatch(rb"C\d+ (\d+) .*\n", line)
        if not header:
            write(b"\x01scp: one file at a time\n")
            return 1
        size = int(header[1])
        write(_OK)
        data = await reader.readexactly(size)
        await reader.readexactly(1)
        try:
            machine.write_flash(path, data)
        except FlashFull:
            write(f"\x01{path}: No space left on device\n".encode())
            return 1
        except NoSuchFile:
            write(f"\x01{path}: No such device\n".encode())
            return 1
        write(_OK)
    return 0


async def _source(machine: Machine, path: str, reader: asyncio.StreamReader, write: Callable[[bytes], None]) -> int:
    await reader.readexactly(1)
    try:
        data = machine.flash.read(path)
    except NoSuchFile:
        write(f"\x01{path}: No such file or directory\n".encode())
        return 1
    write(f"C0644 {len(data)} {path.rpartition('/')[2].rpartition(':')[2]}\n".encode())
    await reader.readexactly(1)
    write(data + _OK)
    await reader.readexactly(1)
    return 0
