"""The transport that Slotcar prefers: files over SCP and one `copy`, or line by line where a router takes no files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slotcar.rollout.device_folder import DeviceFolder
from slotcar.rollout.fanout.login import Login
from slotcar.rollout.ios.command_line import REFUSED, CommandLine
from slotcar.rollout.ios.event_manager import EventManager
from slotcar.rollout.ios.files import Files, text_of
from slotcar.rollout.transport import DeviceError, Order, Transport

APPLY, UNDO = "slotcar-apply.cfg", "slotcar-undo.cfg"


class SshTransport(Transport):
    """Never saves to the startup configuration: what a slot needs must not come back after a restart, nor may what an
    operator has not saved yet be saved by Slotcar."""

    def __init__(self, name: str, login: Login, flash: str = "flash:", *, acts: bool = False) -> None:
        """
        Args:
            acts: the router has an event manager, and may be given a program.
        """
        self._name = name
        self._command_line = CommandLine(name, login)
        self._files = Files(self._command_line, flash)
        self._manager = EventManager(name, self._command_line, self._files) if acts else None
        self._is_staged = False

    async def open(self) -> None:
        await self._command_line.open()

    async def close(self) -> None:
        await self._command_line.close()

    async def read(self, commands: Sequence[str]) -> dict[str, str]:
        async def ask() -> dict[str, str]:
            return {command: await self._command_line.ask(command) for command in commands}

        return await (ask() if self._manager is None else self._manager.at_rest(ask))

    async def stage(self, apply: Sequence[str], undo: Sequence[str]) -> None:
        await self._files.put(UNDO, text_of(undo))
        self._is_staged = await self._files.put(APPLY, text_of(apply))

    async def arm_revert(self, apply: Sequence[str], minutes: int) -> bool:
        # On one login it has just been read back; what another process staged is looked at once more.
        self._is_staged = self._is_staged or await self._files.read(APPLY) == text_of(apply)
        if not minutes:
            return False
        printed = await self._command_line.ask(f"configure terminal revert timer {minutes}")
        if "%" in printed:  # a release without it, or no archive is configured
            return False
        await self._command_line.ask("end")
        return True

    async def activate(self, apply: Sequence[str]) -> bool:
        if self._manager is not None:
            await self._manager.check_nobody_came_between()
        if not self._is_staged:
            await self._command_line.configure(apply)
            return True
        printed = await self._command_line.tell(f"copy {self._files.path(APPLY)} running-config")
        if "bytes copied" not in printed and "OK" not in printed:
            raise DeviceError(f"{self._name}: the staged change was not copied: {printed.strip()[:200]}")
        return True

    async def confirm(self) -> None:
        if await self._waits():
            await self._command_line.tell("configure confirm")

    async def cancel(self) -> None:
        """`change` confirms instead, and goes on from there: `configure revert now` replaces the whole configuration, and
        with it what an operator did since."""

    async def change(self, lines: Sequence[str]) -> None:
        if self._manager is not None:
            await self._manager.check_nobody_came_between()
        if await self._waits():
            # Or the router would take back what is done now, later.
            await self._command_line.tell("configure confirm")
        await self._command_line.configure(lines)

    async def _waits(self) -> bool:
        printed = await self._command_line.ask("show archive config rollback timer")
        return not REFUSED.search(printed) and "User:" in printed

    async def stage_program(self, folder: DeviceFolder) -> None:
        if self._manager is not None:
            await self._manager.stage(folder)

    async def arm_program(self, folder: DeviceFolder, *, changes: bool) -> bool:
        return self._manager is not None and await self._manager.arm(folder, changes=changes)

    async def leave_program(self, folder: DeviceFolder) -> None:
        if self._manager is not None:
            await self._manager.leave(folder)

    async def file_to_restore(self, order: Order) -> str | None:
        if self._manager is None:
            return await super().file_to_restore(order)
        file = await self._manager.file_to_restore(order.folder, order.target)
        return None if file is None else await super().file_to_restore(replace(order, target=file))

    async def begin_restore(self, order: Order) -> bool:
        return self._manager is not None and await self._manager.begin_restore(order.folder, order.target, order.fence)

    async def end_restore(self) -> bool:
        return self._manager is not None and await self._manager.end_restore()
