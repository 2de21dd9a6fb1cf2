"""The state folder is read whole while a controller writes there."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from slotcar.base.settings import Settings, load_settings
from slotcar.recovery.state_copy import StateUnreadable, state_files
from tests.support.patience import wait_for

LOOKS = 40


def settings_of(folder: Path) -> Settings:
    return load_settings(state_dir=folder)


def fill(folder: Path, number: int) -> None:
    folder.mkdir(parents=True)
    for name in ("after.txt", "before.txt", "ends.json"):
        (folder / name).write_text(str(number))


def test_a_device_is_of_one_moment_though_it_is_replaced_all_the_time(tmp_path: Path) -> None:
    """As `Archive.keep_as_good` replaces it: there is a moment in which no folder has the device's name."""
    target = tmp_path / "known-good" / "r1"
    fill(target, 0)
    stop = threading.Event()

    def replace() -> None:
        fresh, old, number = target.with_name(".r1.new"), target.with_name(".r1.old"), 0
        while not stop.is_set():
            number += 1
            fill(fresh, number)
            target.rename(old)
            fresh.rename(target)
            shutil.rmtree(old)

    looks: list[dict[str, bytes]] = []

    def looked_at_several() -> bool:
        looks.append(dict(state_files(settings_of(tmp_path))))
        return len(looks) >= LOOKS and len({tuple(files.values()) for files in looks}) > 1

    writer = threading.Thread(target=replace)
    writer.start()
    try:
        wait_for(looked_at_several, "it to be replaced meanwhile", pause_s=0)
    finally:
        stop.set()
        writer.join()
    for files in looks:
        assert set(files) == {f"known-good/r1/{name}" for name in ("after.txt", "before.txt", "ends.json")}
        assert len(set(files.values())) == 1
    assert len({tuple(files.values()) for files in looks}) > 1, "it was replaced meanwhile"


def test_a_device_that_a_killed_controller_left_aside_is_kept(tmp_path: Path) -> None:
    fill(tmp_path / "known-good" / ".r1.old", 1)
    fill(tmp_path / "known-good" / ".r2.new", 2)
    assert sorted(dict(state_files(settings_of(tmp_path)))) == [
        f"known-good/r1/{name}" for name in ("after.txt", "before.txt", "ends.json")
    ]


def test_what_is_half_written_or_no_part_of_the_archive_is_left_out(tmp_path: Path) -> None:
    fill(tmp_path / "revisions" / "20270101T000000.000000Z-00000000.part", 1)
    fill(tmp_path / "postgres" / "base", 1)
    fill(tmp_path / "reading" / "abc", 1)
    (tmp_path / "tokens.json").write_text("{}")
    (tmp_path / "known-good" / "r1").mkdir(parents=True)
    (tmp_path / "known-good" / "r1" / "link").symlink_to("/etc/passwd")
    assert dict(state_files(settings_of(tmp_path))) == {"tokens.json": b"{}"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another account for a moment")
def test_another_accounts_folder_is_said_to_be_unreadable(tmp_path: Path) -> None:
    fill(tmp_path / "known-good" / "r1", 1)
    (tmp_path / "known-good" / "r1").chmod(0o700)
    for folder in (tmp_path, *tmp_path.parents):
        folder.chmod(folder.stat().st_mode | 0o011)
    os.seteuid(65534)
    try:
        with pytest.raises(StateUnreadable, match="cannot be read: permission denied"):
            dict(state_files(settings_of(tmp_path)))
    finally:
        os.seteuid(0)
