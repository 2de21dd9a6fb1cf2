"""What one process writes about a device in a revision, another reads as the same; what is broken is named."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from slotcar.rollout.device_folder import (
    AFTER,
    BEFORE,
    PROGRAM,
    DeviceFolder,
    FolderUnreadable,
    ReplacedProgram,
    SlotEnds,
    StagedProgram,
)
from slotcar.rollout.ios.applets import Applet
from slotcar.rollout.model import ConfiguredReservation
from tests.support.requests import T0
from tests.unit.rollout.support import active, revision

REVISION = revision(T0, active(1, 10), active(2, 20))
CARRIED = ConfiguredReservation("h1", "hep/one", 3, ("r1", "r2"), T0 + timedelta(minutes=10))


@pytest.fixture
def folder(tmp_path: Path) -> DeviceFolder:
    device_folder = DeviceFolder(tmp_path / "r1")
    device_folder.write_revision(replace(REVISION.devices["r1"], reservations=(CARRIED,)), replace(REVISION, fence=7))
    return device_folder


def test_a_revision_is_read_as_it_was_written(folder: DeviceFolder) -> None:
    part = REVISION.devices["r1"]
    assert (folder.name, folder.device(), folder.commands()) == ("r1", part.device, list(part.commands))
    assert (folder.lines(BEFORE), folder.lines(AFTER)) == (part.change.before.lines, part.change.after.lines)
    assert folder.lines("after-2.txt") == part.program.configurations[1].lines
    instants = tuple(instant.timestamp() for instant in part.program.instants)
    assert folder.program() == StagedProgram(f"rev-{REVISION.id}", instants, part.program.ids, "none", 7)
    assert folder.reservations() == (CARRIED,)


def test_what_is_written_while_it_is_pushed_is_read_as_it_was(folder: DeviceFolder) -> None:
    assert (folder.replaced_program(), folder.applets_before(), folder.clock_ahead_us()) == (None, None, None)
    replaced = ReplacedProgram((1.5,), ("a", "none"))
    folder.write_replaced(replaced, [("x",)])
    ends = SlotEnds((1.5, 2.5), (("x", "y"), ()))
    folder.write_ends({AFTER: ends, BEFORE: None})
    folder.write_applets_before([Applet("slotcar-step-1", "a", 1.5, ("x",))])
    folder.write_clock(-12)
    folder.write_reading({"show": "it"})
    assert folder.replaced_program() == replaced
    assert folder.lines("before-1.txt") == ("x",)
    assert (folder.slot_ends(AFTER), folder.slot_ends(BEFORE)) == (ends.instants, None)
    assert [folder.lines(name) for name in ("ended-1.txt", "ended-2.txt")] == list(ends.left)
    assert folder.applets_before() == (Applet("slotcar-step-1", "a", 1.5, ("x",)),)
    assert (folder.clock_ahead_us(), folder.reading()) == (-12, {"show": "it"})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "no such file or directory"),
        ("{", "all of it: invalid json"),
        ("[]", "all of it: input should be"),
        ('{"ids": []}', "name: field required"),
        (
            '{"name": "rev", "instants": ["x"], "ids": [], "replaces": "none"}',
            "instants.0: input should be a valid number",
        ),
    ],
)
def test_a_broken_file_is_named_with_what_is_wrong(folder: DeviceFolder, text: str | None, why: str) -> None:
    file = folder.path / PROGRAM
    file.unlink() if text is None else file.write_text(text)
    with pytest.raises(FolderUnreadable, match=why) as error:
        folder.program()
    assert error.value.path == file
