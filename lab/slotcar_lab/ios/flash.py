"""A router's flash: named files of bounded size in memory, and how IOS writes their paths."""

from __future__ import annotations

import datetime
import hashlib
from dataclasses import dataclass, field

#: How bytes that are no UTF-8 stand in texts, so that they come out again as they went in.
BYTES = "surrogateescape"
RUNNING, STARTUP, NULL = "running-config", "startup-config", "null:"


class FlashFull(Exception):
    """(No space left on device)"""


class NoSuchFile(Exception):
    """(File not found)"""


@dataclass(frozen=True, slots=True)
class File:
    """What a file holds and when it was written."""

    data: bytes
    written: datetime.datetime


@dataclass(slots=True)
class Flash:
    """`device` is its name with the colon, such as `flash:`; `flash:` names it as well."""

    device: str
    size_bytes: int
    files: dict[str, File] = field(default_factory=dict)
    full: bool = False

    @property
    def free_bytes(self) -> int:
        return 0 if self.full else self.size_bytes - sum(len(file.data) for file in self.files.values())

    def name_of(self, path: str) -> str:
        """The file's name without the device.

        Raises:
            NoSuchFile: another device's path.
        """
        device, colon, name = path.rpartition(":")
        if colon and device + colon not in (self.device, "flash:"):
            raise NoSuchFile(path)
        return name.lstrip("/")

    def write(self, path: str, data: bytes, at: datetime.datetime) -> None:
        """
        Raises:
            FlashFull: no room; the file is as before.
        """
        name = self.name_of(path)
        before = len(self.files[name].data) if name in self.files else 0
        if data and len(data) > self.free_bytes + (0 if self.full else before):
            raise FlashFull(path)
        self.files[name] = File(data, at)

    def read(self, path: str) -> bytes:
        """
        Raises:
            NoSuchFile: none of this name.
        """
        return self.file(path).data

    def file(self, path: str) -> File:
        name = self.name_of(path)
        if name not in self.files:
            raise NoSuchFile(path)
        return self.files[name]

    def md5(self, path: str) -> str:
        return hashlib.md5(self.read(path), usedforsecurity=False).hexdigest()

    def listing(self, path: str) -> str:
        """The lines of `dir`."""
        name = self.name_of(path)
        shown = {name: self.file(path)} if name else self.files
        lines = [f"Directory of {path if name else self.device + '/'}", ""]
        for number, (each, file) in enumerate(shown.items(), 1):
            when = file.written.strftime("%b %d %Y %H:%M:%S +00:00")
            lines.append(f"{number:>5}  -rw-  {len(file.data):>10}  {when}  {each}")
        if not shown:
            lines.append("No files in directory")
        return "\n".join([*lines, "", f"{self.size_bytes} bytes total ({self.free_bytes} bytes free)"]) + "\n"


def kind_of(path: str) -> str:
    """`running-config`, `startup-config` or `null:` where a path names one of them, else `flash`."""
    bare = path.rpartition(":")[2].lstrip("/") if not path.startswith("null") else NULL
    if path.startswith("system:") or (bare == RUNNING and ":" not in path):
        return RUNNING
    if path.startswith("nvram:") or (bare == STARTUP and ":" not in path):
        return STARTUP
    return NULL if bare == NULL else "flash"
