"""How many bytes a second a storage device gives one stream, past the kernel's cache."""

from __future__ import annotations

import mmap
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from slotcar.base.problems import SlotcarError

#: Of one request; O_DIRECT wants it aligned, which memory of the kernel's is.
BLOCK_BYTES = 1 << 20
#: Of the file that writing is measured by, at most.
MOST_BYTES = 4 << 30
#: What is measured is rounded down to this: it is a promise.
STEP = 1_000_000


class CannotMeasure(SlotcarError):
    """A device cannot be measured; the message says why."""


def read_bytes_per_s(device: Path, seconds: float) -> int:
    """Reads the device from its beginning, over and over, for so long.

    Raises:
        CannotMeasure: it is not there, cannot be read past the cache, or is empty.
    """
    with _Opened(device, os.O_RDONLY | os.O_DIRECT) as file, mmap.mmap(-1, BLOCK_BYTES) as block:

        def step() -> int:
            done = os.readv(file, [block])
            if not done:
                os.lseek(file, 0, os.SEEK_SET)
            return done

        return _rate(step, seconds, str(device))


def write_bytes_per_s(folder: Path, seconds: float) -> int:
    """Writes a file in the folder for so long, and removes it.

    Raises:
        CannotMeasure: the folder is not there, is full, or its file system writes through the cache alone.
    """
    with tempfile.TemporaryDirectory(dir=_existing(folder), prefix="slotcar-measure-") as own:
        path = Path(own) / "file"
        with _Opened(path, os.O_WRONLY | os.O_CREAT | os.O_DIRECT) as file, mmap.mmap(-1, BLOCK_BYTES) as block:

            def step() -> int:
                if os.lseek(file, 0, os.SEEK_CUR) >= MOST_BYTES:
                    os.lseek(file, 0, os.SEEK_SET)
                return os.writev(file, [block])

            return _rate(step, seconds, str(folder))


def _rate(step: Callable[[], int], seconds: float, what: str) -> int:
    """Bytes a second, rounded down to `STEP` where there is more."""
    moved, empty, began_s = 0, 0, time.monotonic()
    while (took_s := time.monotonic() - began_s) < seconds:
        try:
            done = step()
        except OSError as error:
            raise CannotMeasure(f"{what}: {error.strerror}") from error
        moved, empty = moved + done, 0 if done else empty + 1
        if empty > 1:
            raise CannotMeasure(f"{what} is empty")
    rate = int(moved / took_s)
    return rate // STEP * STEP if rate > STEP else rate


def _existing(folder: Path) -> Path:
    if not folder.is_dir():
        raise CannotMeasure(f"there is no folder {folder}")
    return folder


class _Opened:
    """A file descriptor for the length of a `with`."""

    def __init__(self, path: Path, flags: int) -> None:
        self._path, self._flags, self._file = path, flags, -1

    def __enter__(self) -> int:
        try:
            self._file = os.open(self._path, self._flags, 0o600)
        except OSError as error:
            raise CannotMeasure(f"{self._path} cannot be opened past the cache: {error.strerror}") from error
        return self._file

    def __exit__(self, *_: object) -> None:
        os.close(self._file)
