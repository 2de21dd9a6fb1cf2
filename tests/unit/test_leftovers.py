"""A run of the tests that leaves something behind has failed, with one process and with several."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.checkout import PYTHONPATH
from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = "from tests.support import leftovers\nleftovers.GRACE_S = 0.5\n"
LEAVES = """
import pathlib, subprocess, tempfile
def test_passes(tmp_path):
    child = subprocess.Popen(["sleep", "600"])
    pathlib.Path("{note}").write_text(str(child.pid))
    child.returncode = 0
    tempfile.mkdtemp(prefix="forgotten-")
"""
TIDY = """
import multiprocessing
def test_passes(tmp_path):
    (tmp_path / 'kept').touch()
    multiprocessing.get_context("spawn").Lock()
"""


def run(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_inner.py").write_text(text)
    argv = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-q", *options]
    environment = os.environ | {"PYTHONPATH": PYTHONPATH, "TMPDIR": str(folder)}
    return subprocess.run(
        [*argv, "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), "test_inner.py"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip


def runs(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["alone", "workers"])
def test_a_process_and_a_file_that_are_left_fail_the_run(tmp_path: Path, options: tuple[str, ...]) -> None:
    note = tmp_path / "pid"
    done = run(tmp_path, LEAVES.format(note=note), *options)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert f"LEFT BEHIND by this run: process {note.read_text()}: sleep 600" in done.stdout
    assert "/forgotten-" in done.stdout
    assert not runs(int(note.read_text()))


def test_a_run_that_leaves_nothing_passes_and_takes_its_folder_away(tmp_path: Path) -> None:
    done = run(tmp_path, TIDY)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(tmp_path.glob("sl-*")) == []
