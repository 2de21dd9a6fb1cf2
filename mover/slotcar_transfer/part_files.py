"""The files that a receiver writes: parts in the staging folder while they come, and their names once they are whole."""

from __future__ import annotations

import errno
import hashlib
import os
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import blake3

from slotcar_transfer.errors import NoSpace, TransferError
from slotcar_transfer.manifest import STAGING_PREFIX, File, checked_path
from slotcar_transfer.staging import Tree

_MOST_OPEN = 16
HASHED_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True)
class Place:
    """Where it goes: `folder` below the root; `name` of a single file, empty for what comes as a folder."""

    folder: tuple[str, ...]
    name: str = ""


def place_of(tree: Tree, destination: str, single: str | None) -> Place:
    """A destination as it was said; `single` is the name of the file, where it is one.

    A folder's files come below the destination. A file comes into the destination where that is a folder or ends with a
    slash, and otherwise has its name.

    Raises:
        BadName: it leads elsewhere.
    """
    parts = tuple(checked_path(destination).removesuffix("/").split("/")) if destination.strip("/.") else ()
    if single is None:
        return Place(parts)
    if not parts or destination.endswith("/") or tree.kind(parts) == "folder":
        return Place(parts, single)
    return Place(parts[:-1], parts[-1])


class PartFiles:
    """The files of one transfer, by their numbers. A part is `NUMBER.part` in `staging`, on the destination's file system.

    Raises (every method):
        NoSpace, TransferError: it cannot be written.
    """

    def __init__(self, tree: Tree, place: Place, job: str, files: Sequence[File]) -> None:
        self.files = [File(place.name, *one.row()[1:]) for one in files] if place.name else list(files)
        self._tree, self._folder = tree, place.folder
        name = STAGING_PREFIX + hashlib.sha256(job.encode()).hexdigest()[:16]
        folder = tree.folder(place.folder, make=True)
        with suppress(FileExistsError):
            os.mkdir(name, 0o700, dir_fd=folder)
        self.staging = tree.root.joinpath(*place.folder, name)
        self._open: OrderedDict[int, int] = OrderedDict()

    def part(self, number: int) -> int:
        """A descriptor of the file's part, which stays this object's; it holds until others are opened."""
        if number in self._open:
            self._open.move_to_end(number)
            return self._open[number]
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            file = os.open(self.staging / f"{number}.part", flags, 0o600)
        except OSError as error:
            raise self.error_of(error) from error
        self._open[number] = file
        if len(self._open) > _MOST_OPEN:
            os.close(self._open.popitem(last=False)[1])
        return file

    def close_part(self, number: int) -> None:
        if (file := self._open.pop(number, None)) is not None:
            os.close(file)

    def close_parts(self) -> None:
        for number in list(self._open):
            self.close_part(number)

    def drop_parts(self) -> None:
        for part in self.staging.glob("*.part"):
            part.unlink()

    def make_folder(self, number: int) -> None:
        self._tree.folder((*self._folder, *self.files[number].path.removesuffix("/").split("/")), make=True)

    def put_in_place(self, number: int) -> None:
        """Gives the file its mode, its time and its name."""
        file = self.files[number]
        *folders, name = file.path.split("/")
        part = self.staging / f"{number}.part"
        part.chmod(file.mode or 0o600)
        os.utime(part, ns=(file.mtime_ns, file.mtime_ns))
        folder = self._tree.folder((*self._folder, *folders), make=True)
        try:
            os.rename(part, name, dst_dir_fd=folder)
        except IsADirectoryError as error:
            raise TransferError(f"{file.path} is a folder at the destination, and a file at the source") from error

    def open_final(self, number: int) -> int:
        *folders, name = self.files[number].path.split("/")
        folder = self._tree.folder((*self._folder, *folders))
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)

    def final_size(self, number: int) -> int | None:
        """In bytes, under its name; None where it is not there."""
        if self.files[number].is_folder:
            return 0
        try:
            file = self.open_final(number)
        except (OSError, TransferError):
            return None
        try:
            return os.fstat(file).st_size
        finally:
            os.close(file)

    def error_of(self, error: OSError) -> TransferError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return NoSpace(
                f"{self.staging.parent} has no space left; what had arrived of unfinished files was taken away"
            )
        return TransferError(f"{error.filename or self.staging.parent} cannot be written: {error.strerror}")


def write_at(file: int, body: memoryview, offset: int) -> None:
    while body:
        count = os.pwrite(file, body, offset)
        body, offset = body[count:], offset + count


def digest_at(file: int, offset: int, length: int) -> bytes:
    """The BLAKE3 of so many bytes of a file."""
    digest = blake3.blake3()
    while length:
        body = os.pread(file, min(length, HASHED_AT_ONCE), offset)
        if not body:
            break
        digest.update(body)
        offset, length = offset + len(body), length - len(body)
    return digest.digest()
