"""What the archive writes is for its own account, and what others put there is none of it."""

from __future__ import annotations

import stat
from pathlib import Path

from slotcar.base.private_files import close_to_others, make_private_folder
from slotcar.rollout.archive import Archive
from tests.support.networks import line_network


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_what_an_earlier_version_left_open_is_closed(tmp_path: Path) -> None:
    state = tmp_path / "state"
    device = state / "revisions" / "20260101T000000.000000Z-0123abcd" / "r1"
    device.mkdir(parents=True)
    (device / "after.txt").write_text("hostname r1")
    outside = tmp_path / "outside"
    outside.touch()
    outside.chmod(0o644)
    (device / "link").symlink_to(outside)
    for one in (state, device, device / "after.txt"):
        one.chmod(0o755)
    Archive(state).close_to_others()
    assert [mode(one) & 0o077 for one in (state / "revisions", device, device / "after.txt")] == [0, 0, 0]
    assert mode(state) & 0o067 == 0
    assert mode(outside) & 0o044, "a link leads out of it"
    close_to_others([tmp_path / "absent"])


def test_each_reading_has_a_closed_folder_that_goes_with_it(tmp_path: Path) -> None:
    archive, devices = Archive(tmp_path / "state"), list(line_network().devices.values())
    with archive.reading(devices) as one, archive.reading(devices) as other:
        assert one != other
        assert {entry.name for entry in one.iterdir()} == {device.name for device in devices}
        assert all(mode(path) == 0o700 for path in (one, one.parent, *one.iterdir()))
    assert list((tmp_path / "state" / "reading").iterdir()) == []


def test_what_is_no_revision_is_left_alone(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    make_private_folder(tmp_path / "revisions" / "20260101T000000.000000Z-0123abcd")
    (tmp_path / "revisions" / "lost+found").mkdir()
    (tmp_path / "revisions" / "20260102T000000.000000Z-0123abcd").write_text("a file")
    (tmp_path / "revisions" / ".DS_Store").touch()
    assert list(archive.revisions()) == ["20260101T000000.000000Z-0123abcd"]
