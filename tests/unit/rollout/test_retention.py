"""The archive forgets what is old, and nothing that a way back needs."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.rollout.archive import Archive, revision_id
from slotcar.rollout.device_folder import RESERVATIONS
from slotcar.rollout.model import ConfiguredReservation, Revision
from slotcar.rollout.retention import Retention
from tests.support.requests import T0
from tests.unit.rollout.support import revision

KEEP = timedelta(days=90)
NOTHING_RESERVED = revision(T0)
DEVICES = tuple(sorted(NOTHING_RESERVED.devices))


def pushed(archive: Archive, days: int, *handles: str) -> str:
    """A push some days after T0 after which every device carries these."""
    at = T0 + timedelta(days=days)
    configured = tuple(ConfiguredReservation(handle, f"hep/{handle}", 1, DEVICES) for handle in handles)
    parts = {name: replace(part, reservations=configured) for name, part in NOTHING_RESERVED.devices.items()}
    archived = Revision(revision_id(at, parts), at, parts)
    archive.write(archived)
    return archived.id


def test_what_is_older_goes_but_for_the_last_that_a_device_had(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    _, _, last, young = (pushed(archive, days) for days in (0, 1, 2, 60))
    Retention(archive, KEEP).look(T0 + timedelta(days=100))
    assert list(archive.revisions()) == [last, young]


def test_the_way_back_from_a_reservation_stays_however_old_it_is(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    _, without, came, _, last = (
        pushed(archive, day, *handles)
        for day, handles in enumerate([(), ("r-other",), ("r-long",), ("r-long", "r-other"), ("r-long",)])
    )
    Retention(archive, KEEP).look(T0 + timedelta(days=1000))
    assert list(archive.revisions()) == [without, came, last]


def test_an_old_push_that_came_to_nothing_goes(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    last = pushed(archive, 1)
    at = T0 + timedelta(days=2)
    failed = Revision(revision_id(at, NOTHING_RESERVED.devices), at, NOTHING_RESERVED.devices)
    archive.write(failed)
    archive.take_back(failed)
    Retention(archive, KEEP).look(T0 + timedelta(days=100))
    assert list(archive.revisions(taken_back=True)) == [last]


def test_it_looks_once_a_day(tmp_path: Path) -> None:
    archive, now = Archive(tmp_path), T0 + timedelta(days=100)
    retention = Retention(archive, KEEP)
    retention.look(now)
    old = [pushed(archive, day) for day in (1, 2)]
    retention.look(now + timedelta(hours=23))
    assert list(archive.revisions()) == old
    retention.look(now + timedelta(hours=25))
    assert list(archive.revisions()) == old[1:]


def test_nothing_goes_where_a_file_of_the_archive_cannot_be_read(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    old = [pushed(archive, day) for day in (1, 2)]
    (archive.folder(old[0]) / DEVICES[0] / RESERVATIONS).write_text("[{")
    Retention(archive, KEEP).look(T0 + timedelta(days=100))
    assert list(archive.revisions()) == old


def test_a_revision_goes_whole_or_says_why_it_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = Archive(tmp_path)
    old = pushed(archive, 1)
    assert not archive.forget("20000101T000000.000000Z-none")

    def refuse(self: Path, target: Path) -> Path:
        raise OSError(30, "Read-only file system", str(self))

    with monkeypatch.context() as disk:
        disk.setattr(Path, "rename", refuse)
        with pytest.raises(InvalidInput, match="cannot be taken away: read-only file system"):
            archive.forget(old)
    assert archive.forget(old)
    assert not any(archive.folder(old).parent.iterdir())
