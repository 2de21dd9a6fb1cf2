"""Disks of the lab's guest: files with holes beside its console, each held to a rate."""

from __future__ import annotations

from pathlib import Path

from slotcar_lab.guest.machine import Disk, disk_words


def test_each_disk_has_a_file_with_holes_and_a_rate(tmp_path: Path) -> None:
    (tmp_path / "disk0.raw").write_bytes(b"of an earlier guest")
    words = disk_words((Disk(64_000_000, 20_000_000), Disk(1_000_000, 5_000_000)), tmp_path)
    sizes = [(tmp_path / f"disk{number}.raw").stat() for number in (0, 1)]
    assert [one.st_size for one in sizes] == [64_000_000, 1_000_000]
    assert sizes[0].st_blocks == 0
    assert (tmp_path / "disk0.raw").read_bytes()[:2] == b"\0\0"
    drives = [word for word in words if word.startswith("file=")]
    assert [drive.partition("throttling.bps-read=")[2].partition(",")[0] for drive in drives] == [
        "20000000",
        "5000000",
    ]


def test_a_guest_without_disks_has_no_words_for_them(tmp_path: Path) -> None:
    assert disk_words((), tmp_path) == []
