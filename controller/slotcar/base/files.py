"""Files whose names an operator or a caller gave: a reader never waits for what stands there, and programs are not looked
for in the current folder, which anybody may have filled."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}

#: Variables that list folders with programs or Python's modules.
_SEARCHED = ("PATH", "PYTHONPATH")


def searched_elsewhere(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables by which programs and modules are found, without what is relative to the current folder."""
    return {
        name: os.pathsep.join(one for one in environment[name].split(os.pathsep) if Path(one).is_absolute())
        for name in _SEARCHED
        if name in environment
    }


def read_regular_file(path: Path, max_bytes: int) -> bytes:
    """The bytes of a regular file of at most `max_bytes`; symbolic links are followed.

    A FIFO would block its reader until somebody writes to it, and a device may never end: both are refused, and opened
    without waiting, because a name can come to mean another file between a look and the reading.

    Raises:
        OSError: it cannot be read, is no regular file, or is larger. `strerror` says so in words.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        require_regular(os.fstat(descriptor), path)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            raw = stream.read(max_bytes + 1)
    finally:
        os.close(descriptor)
    if len(raw) > max_bytes:
        raise OSError(errno.EFBIG, f"is larger than {max_bytes} bytes", str(path))
    return raw


def require_regular(status: os.stat_result, path: Path) -> None:
    """
    Raises:
        OSError: it is no regular file; `strerror` says what it is.
    """
    if not stat.S_ISREG(status.st_mode):
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
        code = errno.EISDIR if stat.S_ISDIR(status.st_mode) else errno.EINVAL
        raise OSError(code, f"is {kind}, not a regular file", str(path))
