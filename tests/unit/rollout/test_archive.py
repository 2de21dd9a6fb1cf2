"""The archive: whole revisions or none, readable without anything else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.platforms.linux_tc.running import QDISCS
from slotcar.platforms.model import Configuration
from slotcar.rollout.archive import Archive, revision_id
from slotcar.rollout.comparison import compare
from slotcar.rollout.device_folder import DeviceFolder
from slotcar.rollout.model import Revision
from tests.support.requests import T0, at
from tests.unit.rollout.support import NETWORK, active, revision

REVISION = revision(T0, active(1, 10))


def test_a_revision_keeps_all_that_a_rollback_needs(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    folder = archive.write(REVISION)
    assert archive.revisions() == [REVISION.id]
    assert archive.devices_of(REVISION.id) == dict(NETWORK.devices)
    for name, part in REVISION.devices.items():
        assert (folder / name / "before.txt").read_text() == part.change.before.text == ""
        assert (folder / name / "after.txt").read_text() == part.change.after.text
        assert (folder / name / "undo.txt").read_text().splitlines() == list(part.change.undo)
        assert json.loads((folder / name / "commands.json").read_text()) == list(part.commands)


def test_a_revision_that_was_not_written_whole_is_none(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.folder(f"{REVISION.id}.part").mkdir(parents=True)
    assert archive.revisions() == []
    archive.write(REVISION)
    assert archive.revisions() == [REVISION.id]


def test_a_push_that_came_to_nothing_is_no_place_to_go_back_to(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.write(REVISION)
    archive.take_back(REVISION)
    assert archive.revisions() == []
    assert archive.revisions(taken_back=True) == [REVISION.id]
    assert archive.devices_of(REVISION.id), "it is there to be looked into"
    archive.write(REVISION)
    assert archive.revisions() == [REVISION.id], "the next try succeeded"


def test_a_revision_may_be_written_again(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    assert archive.write(REVISION) == archive.write(REVISION)
    assert archive.revisions() == [REVISION.id]


def test_what_is_known_good_is_the_last_verified_push_of_each_device(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    later = revision(at(1), active(1, 10), active(2, 20))
    for one in (REVISION, later):
        archive.write(one)
        archive.keep_as_good(one)
    for name, part in later.devices.items():
        assert (archive.known_good / name / "after.txt").read_text() == part.change.after.text
    assert {entry.name for entry in archive.known_good.iterdir()} == set(later.devices)


def test_a_revision_keeps_what_a_device_would_have_had_by_itself_without_it(tmp_path: Path) -> None:
    """So that a rollback after a boundary does not go back to before it."""
    archive = Archive(tmp_path)
    first = revision(T0, active(1, 10), active(2, 20))
    archive.write(first)
    archive.keep_as_good(first)
    part = first.devices["r1"]
    assert len(part.program.instants) == 2
    for steps in (0, 1):
        # Read after so many of its steps.
        part_read = replace(revision(at(15), active(3, 30)).devices["r1"], replaces=part.program.ids[steps])
        folder = archive.write(Revision(f"later-{steps}", at(15), {"r1": part_read})) / "r1"
        rest = part.program.configurations[steps:]
        assert [(folder / f"before-{n}.txt").read_text() for n in range(1, len(rest) + 1)] == [
            one.text for one in rest
        ]
        replaced = DeviceFolder(folder).replaced_program()
        assert replaced is not None
        assert replaced.instants == tuple(one.timestamp() for one in part.program.instants[steps:])
        assert replaced.ids == part.program.ids[steps:]
    unknown = replace(part, replaces="another")
    folder = archive.write(Revision("unknown", at(15), {"r1": unknown})) / "r1"
    assert not list(folder.glob("before-*.txt"))
    assert DeviceFolder(folder).replaced_program() is None


def test_a_revisions_name_sorts_by_time_and_tells_its_content() -> None:
    parts, others = REVISION.devices, revision(T0, active(1, 11)).devices
    assert revision_id(T0, parts) == revision_id(T0, parts) != revision_id(T0, others)
    assert revision_id(T0, parts) < revision_id(at(1), parts)


def test_a_folder_that_cannot_be_written_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    with pytest.raises(
        InvalidInput, match=r"cannot be written: not a directory; nothing was pushed; make room or set"
    ):
        Archive(tmp_path / "state").write(REVISION)


def test_the_same_trouble_is_told_in_the_same_words_each_time(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    archive, troubles = Archive(tmp_path / "state"), set()
    for minutes in range(2):
        with pytest.raises(InvalidInput) as refused:
            archive.write(revision(at(minutes), active(1, 10)))
        troubles.add(str(refused.value))
    assert len(troubles) == 1


def test_an_unknown_revision_names_the_latest(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    with pytest.raises(InvalidInput, match="nothing was pushed yet"):
        archive.devices_of("20200101")
    archive.write(REVISION)
    with pytest.raises(InvalidInput, match=f"the latest is {REVISION.id}"):
        archive.devices_of("20200101")


def test_the_playbooks_compare_from_the_folder_alone(tmp_path: Path) -> None:
    folder = DeviceFolder(Archive(tmp_path).write(REVISION) / "r1")
    unmanaged = dict.fromkeys(REVISION.devices["r1"].commands, "qdisc noqueue 0: dev lo root refcnt 2\n" * 6)
    unmanaged[QDISCS] = "[]"
    assert compare(folder, "before.txt", unmanaged).equal
    comparison = compare(folder, "after.txt", unmanaged)
    assert not comparison.equal
    assert comparison.apply == REVISION.devices["r1"].change.apply
    assert comparison.difference.splitlines()[:2] == ["--- device", "+++ wanted"]
    assert compare(folder, "", unmanaged).equal
    empty = Configuration("r1", REVISION.devices["r1"].device.platform)
    assert comparison.before == empty.text
