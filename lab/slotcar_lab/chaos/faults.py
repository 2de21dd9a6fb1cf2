"""What chaos breaks on the controllers' machine: a disk that is full, a clock that is set, a database that is read-only."""

from __future__ import annotations

import contextlib
import errno
import os
import struct
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg

from slotcar_lab import requirements
from slotcar_lab.errors import LabError

#: Of the file system that holds the controllers' state: an embedded database and an archive fit in, and little more.
DISK_MIB = 384
#: In such steps a disk is filled; the last is its block.
STEPS_BYTES = (16 * 2**20, 2**20, 4096)
#: As long as only a hang takes.
NOTICED_S = 120.0
#: The fields of postmaster.pid (PostgreSQL, `pidfile.h`): the port, and the folder of the socket.
PORT_LINE, SOCKET_LINE = 3, 4


@contextlib.contextmanager
def small_disk(folder: Path, size_mib: int = DISK_MIB) -> Iterator[Disk]:
    """A tmpfs of its own at `folder`, which is made.

    Raises:
        LabError: it cannot be mounted; says why.
    """
    root = requirements.as_root()
    if root is None:
        raise LabError("a small disk for the controllers is mounted by root, and sudo asks for a password here")
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={size_mib}m,mode=0755,uid={os.geteuid()},gid={os.getegid()}"
    _run([*root, "mount", "-t", "tmpfs", "-o", options, "slotcar-chaos", str(folder)])
    try:
        yield Disk(folder)
    finally:
        # Lazily: a process that is ending may have a file open yet.
        _run([*root, "umount", "--lazy", str(folder)])


@dataclass(frozen=True, slots=True)
class Disk:
    """A file system that is small enough to be filled."""

    folder: Path

    @property
    def free_bytes(self) -> int:
        state = os.statvfs(self.folder)
        return state.f_bavail * state.f_frsize

    @property
    def _filler(self) -> Path:
        return self.folder / "filler"

    def fill(self) -> int:
        """Takes all the space that is free, and says how much that was (bytes)."""
        with self._filler.open("ab") as filler:
            before = os.fstat(filler.fileno()).st_size
            # Ever smaller steps: others take space at the same time, and a step that does not fit takes nothing.
            for step_bytes in STEPS_BYTES:
                while _extended(filler.fileno(), step_bytes):
                    pass
            return os.fstat(filler.fileno()).st_size - before

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Clock:
    """The wall clock of one controller and of all that it starts. Right until it is set.

    Attributes:
        library: what `wall_clock.compile_clock` made.
        file: holds how many seconds it is ahead.
    """

    library: Path
    file: Path

    def environment(self) -> dict[str, str]:
        """What a process that is to have this clock is started with."""
        if not self.file.exists():
            self.set(0)
        return {"LD_PRELOAD": str(self.library), "SLOTCAR_CHAOS_CLOCK": str(self.file)}

    def set(self, ahead_s: int) -> None:
        """Sets it so many seconds ahead of the right time; back where below zero, right where zero."""
        # In place, not by another file of that name: processes have this one mapped.
        descriptor = os.open(self.file, os.O_WRONLY | os.O_CREAT, 0o644)
        try:
            os.pwrite(descriptor, struct.pack("q", ahead_s), 0)
        finally:
            os.close(descriptor)

    @property
    def ahead_s(self) -> int:
        return int(struct.unpack("q", self.file.read_bytes())[0]) if self.file.exists() else 0


def set_read_only(data_dir: Path, read_only: bool) -> None:
    """Makes the embedded database in `data_dir` refuse every change by default, or accept changes again.

    Raises:
        LabError: it does not answer.
    """
    setting = "SET default_transaction_read_only = on" if read_only else "RESET default_transaction_read_only"
    with _connected(data_dir) as connection:
        connection.execute(f"ALTER SYSTEM {setting}")
        connection.execute("SELECT pg_reload_conf()")


def wait_disconnected(data_dir: Path, program: str) -> None:
    """Waits until the database has noticed that a program is dead, by its name: what it had locked is free then.

    Raises:
        LabError: the database does not answer, or does not notice.
    """
    until_s = time.monotonic() + NOTICED_S
    with _connected(data_dir) as connection:
        while connection.execute("SELECT FROM pg_stat_activity WHERE application_name = %s", [program]).fetchone():
            if time.monotonic() > until_s:
                raise LabError(f"the database did not notice that {program} is dead")
            time.sleep(0.02)


@contextlib.contextmanager
def _connected(data_dir: Path) -> Iterator[psycopg.Connection]:
    """
    Raises:
        LabError: the embedded database in `data_dir` does not answer.
    """
    try:
        lines = (data_dir / "postmaster.pid").read_text().splitlines()
        address = f"host='{lines[SOCKET_LINE]}' port={lines[PORT_LINE]} user=postgres dbname=postgres"
        with psycopg.connect(address, connect_timeout=5, autocommit=True) as connection:
            yield connection
    except (OSError, IndexError, psycopg.Error) as error:
        raise LabError(f"the database in {data_dir} does not answer: {error}") from error


def _extended(descriptor: int, step_bytes: int) -> bool:
    """Whether the file could be made longer by so much."""
    try:
        os.posix_fallocate(descriptor, os.fstat(descriptor).st_size, step_bytes)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return False
    return True


def _run(argv: list[str]) -> None:
    done = subprocess.run(argv, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise LabError(f"{' '.join(argv)}: {(done.stderr or done.stdout).strip()}")
