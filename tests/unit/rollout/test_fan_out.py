"""A step on many devices at once: what goes wrong with one is that one's trouble alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from slotcar.rollout.archive import Archive
from slotcar.rollout.device_folder import READING, DeviceFolder
from slotcar.rollout.fanout import Job, Order, PushStep, fan_out
from slotcar.rollout.transport import Transport
from tests.unit.rollout.support import NETWORK


class Answers(Transport):
    """Answers once the other device has failed."""

    def __init__(self, failed: asyncio.Event) -> None:
        self._failed = failed

    async def close(self) -> None: ...

    async def read(self, commands: Sequence[str]) -> dict[str, str]:
        await self._failed.wait()
        await asyncio.sleep(0)  # whoever is cancelled for the failure is cancelled by now
        return dict.fromkeys(commands, "")

    async def stage(self, apply: Sequence[str], undo: Sequence[str]) -> None: ...

    async def arm_revert(self, apply: Sequence[str], minutes: int) -> bool:
        return False

    async def activate(self, apply: Sequence[str]) -> bool:
        return True

    async def change(self, lines: Sequence[str]) -> None: ...


class Breaks(Answers):
    """What a library raises for an answer that it did not expect. `where`: at what."""

    def __init__(self, failed: asyncio.Event, where: str) -> None:
        super().__init__(failed)
        self._where = where

    async def close(self) -> None:
        self._break_at("close")

    async def read(self, commands: Sequence[str]) -> dict[str, str]:
        self._failed.set()
        self._break_at("read")
        return dict.fromkeys(commands, "")

    def _break_at(self, where: str) -> None:
        if where == self._where:
            raise TypeError("Type 'NoneType' cannot be serialized.")


@pytest.mark.parametrize(
    ("where", "error"),
    [("read", "r1: unforeseen: TypeError: Type 'NoneType' cannot be serialized."), ("close", "")],
)
def test_what_nobody_foresaw_on_one_device_ends_nothing_on_another(where: str, error: str, tmp_path: Path) -> None:
    archive, failed = Archive(tmp_path), asyncio.Event()
    devices = [NETWORK.devices[name] for name in ("r1", "r2")]
    with archive.reading(devices) as folder:
        folders = [DeviceFolder(folder / device.name) for device in devices]
        transports: list[Transport] = [Breaks(failed, where), Answers(failed)]
        jobs = [
            Job(one.name, Order(one), lambda transport=transport: transport)  # type: ignore[misc]
            for one, transport in zip(folders, transports, strict=True)
        ]
        outcomes = fan_out(PushStep.READ, jobs)
        assert {name: one.error for name, one in outcomes.items()} == {"r1": error, "r2": ""}
        assert folders[1].has(READING)
