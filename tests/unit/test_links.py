"""Links of the repository are links: a copy that turned one into a file of its target's name would go unseen."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[2]
LONGEST_TARGET_BYTES = 200


def tracked() -> list[Path]:
    done = subprocess.run(("git", "ls-files", "-z"), cwd=HOME, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("this is no checkout")
    return [HOME / name for name in done.stdout.split("\0") if name]


def is_lost_link(file: Path) -> bool:
    """Whether all that it says is where another file is."""
    if file.is_symlink() or not file.is_file() or not 0 < file.stat().st_size <= LONGEST_TARGET_BYTES:
        return False
    text = file.read_bytes()
    return b"\n" not in text and b"\0" not in text and (file.parent / text.decode(errors="replace")).exists()


def test_no_link_has_become_a_file_and_none_leads_nowhere() -> None:
    files = tracked()
    assert [str(file) for file in files if is_lost_link(file)] == []
    assert [str(file) for file in files if file.is_symlink() and not file.exists()] == []
    assert sum(file.is_symlink() for file in files) > 0
