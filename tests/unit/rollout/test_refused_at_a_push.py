"""What a host did not do of a push, which the push itself reads: the leader has it without another reading."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from slotcar.network.model import Device
from slotcar.platforms.linux_host.objects import HostObjects, Slice
from slotcar.platforms.linux_host.renderer import RENDERER
from slotcar.platforms.model import Configuration, RefusedPart
from slotcar.rollout import staging, steps
from slotcar.rollout.archive import Archive, revision_id
from slotcar.rollout.device_folder import DeviceFolder
from slotcar.rollout.linux.scripts import state_command
from slotcar.rollout.linux.shell import ShellAnswer
from slotcar.rollout.linux.transport import LinuxTransport
from slotcar.rollout.model import DeviceRevision, Program, Revision
from slotcar.rollout.transport import Order

HOST = Device(name="mover", domain="d", platform="linux-host", interfaces={}, resources={"cpu": {"": 4000}})
AT = datetime(2030, 1, 1, tzinfo=UTC)
SLICE = Slice("g-one", 100, ("process:4711",))
NO_SUCH_PROCESS = "this host has no process 4711, and is not bound"


class Host:
    """Answers a reading with these lines, and has nothing armed."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._shown = "\n".join(lines)

    def run(self, command: str, text: str = "") -> ShellAnswer:
        answers = []
        for one in staging.commands(HOST):
            output = self._shown if one.endswith(" host.sh show") else "none" if state_command(HOST) in one else "0"
            answers.append(f"{output}\n\n--slotcar 0\n")
        return ShellAnswer(0, "".join(answers), "")


def revision_of(archive: Archive) -> Revision:
    before = Configuration(HOST.name, HOST.platform, HostObjects())
    after = Configuration(HOST.name, HOST.platform, HostObjects((SLICE,), 1000))
    part = DeviceRevision(
        HOST, RENDERER.change(before, after, HOST), Program(), tuple(staging.commands(HOST)), "none", (), Program()
    )
    pushed = Revision(revision_id(AT, {HOST.name: part}), AT, {HOST.name: part})
    archive.write(pushed)
    return pushed


def verify(archive: Archive, pushed: Revision, *more: str) -> None:
    folder: DeviceFolder = archive.device_folder(pushed.id, HOST.name)
    shown = [SLICE.line(), *more, "rest reserved=1000"]
    asyncio.run(steps.verify(LinuxTransport(Host(shown), HOST), Order(folder)))


def test_a_refused_bind_is_read_where_the_push_is_compared(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    pushed = revision_of(archive)
    verify(archive, pushed, f"refused g-one process:4711/mover {NO_SUCH_PROCESS}")
    assert archive.refused_of(pushed) == {HOST.name: (RefusedPart("g-one", "process:4711", NO_SUCH_PROCESS),)}


def test_what_was_done_whole_refused_nothing(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    pushed = revision_of(archive)
    verify(archive, pushed)
    assert archive.refused_of(pushed) == {}
