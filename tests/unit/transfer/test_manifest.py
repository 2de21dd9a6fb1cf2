"""What may be in a manifest, and what a folder is listed as."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar_transfer.errors import BadName, NotAllowed, TransferError
from slotcar_transfer.manifest import (
    LARGEST_BLOCK_BYTES,
    MOST_BLOCKS,
    SMALLEST_BLOCK_BYTES,
    File,
    block_bytes_for,
    blocks_of,
    checked_files,
    checked_path,
    listed,
)
from tests.support.examples import examples

BAD = [
    "", "/etc/passwd", "..", "../x", "a/../b", "a/..", "./a", "a//b", "a/./b", "a\0b", "x" * 5000, ".slotcar-transfer-1/x",
]  # fmt: skip


@pytest.mark.parametrize("path", BAD)
def test_a_path_that_leads_elsewhere_is_refused(path: str) -> None:
    with pytest.raises(BadName):
        checked_path(path)


@given(st.text(max_size=40))
@examples(200, 5000)
def test_what_is_taken_stays_below(path: str) -> None:
    try:
        checked_path(path)
    except BadName:
        return
    assert os.path.normpath(os.path.join("/root/of/all", path)).startswith("/root/of/all/")  # noqa: PTH118


@pytest.mark.parametrize(
    "rows",
    [
        [["a", 1, 1, 1], ["a", 1, 1, 1]], [["a", 1, 1, 1], ["a/b", 1, 1, 1]], [["a", -1, 1, 1]], [["a", 1, 1]], ["a"],
        [["a", True, 1, 1]], [[7, 1, 1, 1]], [["a", "1", 1, 1]],
    ],
)  # fmt: skip
def test_a_manifest_that_cannot_be_is_refused(rows: list[object]) -> None:
    with pytest.raises(TransferError):
        checked_files(rows)


def test_a_mode_has_no_more_than_permissions() -> None:
    assert checked_files([["a", 1, 1, 0o4777]])[0].mode == 0o777


def test_a_folder_is_listed_with_empty_folders_and_links_that_stay_inside(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "one").write_bytes(b"1")
    (tmp_path / "nothing").mkdir()
    (tmp_path / "again").symlink_to("a/one")
    (tmp_path / ".slotcar-transfer-old").mkdir()
    assert [(one.path, one.size_bytes) for one in listed(tmp_path)] == [("a/one", 1), ("again", 1), ("nothing/", 0)]


@pytest.mark.parametrize(
    ("target", "words"), [("/etc", "leads out of"), ("../..", "leads out"), ("gone", "not there")]
)
def test_a_link_that_leads_out_is_refused(tmp_path: Path, target: str, words: str) -> None:
    (tmp_path / "link").symlink_to(target)
    with pytest.raises(BadName, match=words):
        listed(tmp_path)


def test_a_link_to_a_folder_above_it_is_no_loop(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "up").symlink_to("..")
    with pytest.raises(BadName, match="a folder that it is in"):
        listed(tmp_path)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(NotAllowed, match="neither a file nor a folder"):
        listed(tmp_path)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(tmp_path / "s"))
        with pytest.raises(NotAllowed):
            listed(tmp_path / "s")


@given(st.integers(0, 10**13), st.integers(0, 10**11))
@examples(100, 1000)
def test_blocks_cover_a_file_once_and_are_not_too_many(size: int, rate_bps: int) -> None:
    block_bytes = block_bytes_for(rate_bps, size)
    assert SMALLEST_BLOCK_BYTES <= block_bytes <= LARGEST_BLOCK_BYTES
    assert block_bytes & (block_bytes - 1) == 0
    if block_bytes < LARGEST_BLOCK_BYTES:
        assert size // block_bytes <= MOST_BLOCKS
    if size < 10**9:
        place = 0
        for one in blocks_of(0, File("a", size, 0, 0), block_bytes):
            assert one.offset == place
            place += one.length
        assert place == size
