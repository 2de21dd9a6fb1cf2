"""The transport that Slotcar prefers: files over SCP and one `copy`, or line by line where a router takes no files."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from controller.rollout.fanout.login import DeviceError, Login
from controller.rollout.ios.shell import REFUSED, Shell

APPLY, UNDO = "slotcar-apply.cfg", "slotcar-undo.cfg"


class SshTransport:
    """Never saves to the startup configuration: what a slot needs must not come back after a restart, nor may what an
    operator has not saved yet be saved by Slotcar."""

    def __init__(self, name: str, login: Login, flash: str = "flash:") -> None:
        self._name = name
        self._shell = Shell(name, login)
        self._flash = flash
        self._is_staged = False

    async def open(self) -> None:
        await self._shell.open()

    async def close(self) -> None:
        await self._shell.close()

    async def read(self, commands: Sequence[str]) -> dict[str, str]:
        return {command: await self._shell.ask(command) for command in commands}

    async def stage(self, apply: Sequence[str], undo: Sequence[str]) -> None:
        await self._put(UNDO, _file(undo))
        self._is_staged = await self._put(APPLY, _file(apply))

    async def arm(self, apply: Sequence[str], revert_minutes: int) -> bool:
        # On one login it has just been read back; what another process staged is looked at once more.
        self._is_staged = self._is_staged or await self._read_file(APPLY) == _file(apply)
        printed = await self._shell.ask(f"configure terminal revert timer {revert_minutes}")
        if "%" in printed:  # a release without it, or no archive is configured
            return False
        await self._shell.ask("end")
        return True

    async def activate(self, apply: Sequence[str]) -> None:
        if not self._is_staged:
            await self._shell.configure(apply)
            return
        printed = await self._shell.tell(f"copy {self._flash}{APPLY} running-config")
        if "bytes copied" not in printed and "OK" not in printed:
            raise DeviceError(f"{self._name}: the staged change was not copied: {printed.strip()[:200]}")

    async def confirm(self) -> None:
        if await self._waits():
            await self._shell.tell("configure confirm")

    async def cancel(self) -> None:
        """`change` confirms instead, and goes on from there: `configure revert now` replaces the whole configuration, and
        with it what an operator did since."""

    async def change(self, lines: Sequence[str]) -> None:
        if await self._waits():
            # Or the router would take back what is done now, later.
            await self._shell.tell("configure confirm")
        await self._shell.configure(lines)

    async def _waits(self) -> bool:
        printed = await self._shell.ask("show archive config rollback timer")
        return not REFUSED.search(printed) and "User:" in printed

    async def _put(self, name: str, text: str) -> bool:
        """Whole, or not at all: a file that is cut off would be half a change. Whether it is there."""
        with suppress(DeviceError):
            await self._shell.put(text, f"{self._flash}{name}")
            if await self._read_file(name) == text:
                return True
        await self._forget(name)
        return False

    async def _forget(self, name: str) -> None:
        """What an earlier push left there must not be taken for this one's."""
        if not REFUSED.search(await self._shell.ask(f"dir {self._flash}{name}")):
            await self._shell.ask(f"delete /force {self._flash}{name}")

    async def _read_file(self, name: str) -> str:
        printed = await self._shell.ask(f"more {self._flash}{name}")
        return "" if REFUSED.search(printed) else f"{printed.strip()}\n"


def _file(lines: Sequence[str]) -> str:
    """A file that ends with `end`, as IOS's own do, and has no blank margin that `more` could lose."""
    return "".join(f"{line.rstrip()}\n" for line in ("!", *lines, "end"))
