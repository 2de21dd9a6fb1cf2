"""What is moved: files with sizes and times, and the blocks that they are cut into. Pure, but for `listed`."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import blake3

from slotcar_transfer.errors import BadName, NotAllowed, TransferError

#: What a receiver keeps while a transfer is not done begins so, and is never part of one.
STAGING_PREFIX = ".slotcar-transfer-"
SMALLEST_BLOCK_BYTES, LARGEST_BLOCK_BYTES = 64 << 10, 4 << 20
#: The base connection takes so long for a block: what is lost with a connection, and what a change of rate waits for.
BLOCK_S = 0.5
MOST_BLOCKS = 250_000
#: Files of one message of the manifest: it is far below the largest message even with long names.
PAGE = 500
LONGEST_PATH_BYTES = 4000
#: Of the names that cannot be sent, so many are told.
MOST_NAMES = 20
LARGEST_FILE_BYTES = 1 << 60


@dataclass(frozen=True, slots=True)
class File:
    """`path` is relative with `/` between its parts; a directory without files ends with one, and has 0 bytes."""

    path: str
    size_bytes: int
    mtime_ns: int
    mode: int

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")

    def row(self) -> list[Any]:
        return [self.path, self.size_bytes, self.mtime_ns, self.mode]


@dataclass(frozen=True, slots=True)
class Block:
    """`[offset, offset + length)` of file number `file`."""

    file: int
    offset: int
    length: int


def checked_path(path: str) -> str:
    """A relative path that stays below where it is put.

    Raises:
        BadName: it does not.
    """
    if not path or len(path.encode("utf-8", "surrogateescape")) > LONGEST_PATH_BYTES:
        raise BadName(f"a path of {len(path)} characters is refused: 1 to {LONGEST_PATH_BYTES} bytes are allowed")
    shown = ascii(path)
    if path.startswith("/"):
        raise BadName(f"the path {shown} is absolute; paths are relative to the folder that is served")
    if "\0" in path:
        raise BadName(f"the path {shown} has a zero byte")
    for part in path.removesuffix("/").split("/"):
        if part in ("", ".", ".."):
            raise BadName(f"the path {shown} has a part {part!r}, and leads elsewhere")
        if part.startswith(STAGING_PREFIX):
            raise BadName(f"the path {shown} has a part that begins with {STAGING_PREFIX}: that is for parts of files")
    return path


def file_of(row: object) -> File:
    """A row of the manifest as the other end sent it.

    Raises:
        BadName, TransferError: it cannot be taken.
    """
    if not isinstance(row, list) or len(row) != 4 or not isinstance(row[0], str):
        raise TransferError("the other end sends a manifest that cannot be read")
    if not all(type(one) is int for one in row[1:]) or not 0 <= row[1] <= LARGEST_FILE_BYTES:
        raise TransferError(f"the other end sends impossible numbers for {row[0]!a}")
    return File(checked_path(row[0]), row[1], row[2], row[3] & 0o777)


def checked_files(rows: Iterable[object]) -> list[File]:
    """
    Raises:
        BadName: a path leads elsewhere, is there twice, or is a file and a folder at once.
    """
    files = [file_of(row) for row in rows]
    plain = {one.path for one in files}
    if len(plain) != len(files):
        raise BadName("the manifest has a path twice")
    for one in files:
        parts = one.path.removesuffix("/").split("/")
        if any("/".join(parts[:depth]) in plain for depth in range(1, len(parts))):
            raise BadName(f"the manifest has {one.path!a} below something that is a file")
    return files


def block_bytes_for(rate_bps: int | None, total_bytes: int = 0) -> int:
    """The size of blocks for a connection of that rate: a power of two, and so that there are not too many."""
    wanted = LARGEST_BLOCK_BYTES if rate_bps is None else int(rate_bps / 8 * BLOCK_S)
    size = SMALLEST_BLOCK_BYTES
    while size < LARGEST_BLOCK_BYTES and (size * 2 <= wanted or total_bytes // size > MOST_BLOCKS):
        size *= 2
    return size


def block_bytes_in(total_bytes: int, seconds: float | None) -> int:
    """As `block_bytes_for`, for what is to be moved in so many seconds."""
    return block_bytes_for(None if seconds is None else int(total_bytes * 8 / max(1.0, seconds)), total_bytes)


def blocks_of(number: int, file: File, block_bytes: int) -> Iterator[Block]:
    """Ascending; none of an empty file."""
    for offset in range(0, file.size_bytes, block_bytes):
        yield Block(number, offset, min(block_bytes, file.size_bytes - offset))


def count_of(file: File, block_bytes: int) -> int:
    return -(-file.size_bytes // block_bytes)


def digest_of(files: Sequence[File], block_bytes: int) -> str:
    """Which manifest it is."""
    digest = blake3.blake3(block_bytes.to_bytes(8, "big"))
    for one in files:
        digest.update(repr(one.row()).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def listed(source: Path) -> list[File]:
    """The files of a folder, or the one file, in the order of their paths.

    A link is followed where it leads to something below the folder.

    Raises:
        BadName: a link leads out of the folder, or names are not UTF-8, of which all are told.
        NotAllowed: something is neither a file nor a folder.
        TransferError: it cannot be read.
    """
    try:
        if stat.S_ISREG(source.stat().st_mode):
            return _all_utf_8([_file(source, source.name)])
        root = source.resolve(strict=True)
        if not root.is_dir():
            raise NotAllowed(f"{source} is neither a file nor a folder")
        return sorted(_all_utf_8(list(_below(root, root, "", ()))), key=lambda one: one.path)
    except OSError as error:
        raise TransferError(f"{error.filename or source} cannot be read: {error.strerror}") from error


def _below(root: Path, folder: Path, prefix: str, above: tuple[Path, ...]) -> Iterator[File]:
    empty = True
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(STAGING_PREFIX):
                continue
            empty = False
            path, place = prefix + entry.name, folder / entry.name
            if not _is_utf_8(entry.name):
                yield File(path, 0, 0, 0)
                continue
            if entry.is_symlink():
                place = _led(root, place)
            status = place.stat()
            if stat.S_ISDIR(status.st_mode):
                if place in (*above, folder):
                    raise BadName(f"the link {folder / entry.name} leads to a folder that it is in")
                yield from _below(root, place, path + "/", (*above, folder))
            elif stat.S_ISREG(status.st_mode):
                yield _file(place, path)
            else:
                raise NotAllowed(f"{place} is neither a file nor a folder (a device, a socket or a pipe)")
    if empty and prefix:
        yield File(prefix, 0, 0, 0o755)


def _led(root: Path, link: Path) -> Path:
    target = Path(os.path.realpath(link))
    if not target.is_relative_to(root):
        raise BadName(f"the link {link} leads out of the folder, to {target}")
    if not target.exists():
        raise BadName(f"the link {link} leads to {target}, which is not there")
    return target


def _file(place: Path, path: str) -> File:
    status = place.stat()
    return File(
        checked_path(path) if _is_utf_8(path) else path,
        status.st_size,
        status.st_mtime_ns,
        stat.S_IMODE(status.st_mode) & 0o777,
    )


def _is_utf_8(name: str) -> bool:
    """Python gives bytes that are none as half characters."""
    return name.isascii() or not any("\ud800" <= one <= "\udfff" for one in name)


def _all_utf_8(files: list[File]) -> list[File]:
    """
    Raises:
        BadName: names are not UTF-8; of a folder with such a name, that name alone is told.
    """
    wrong = sorted(ascii(one.path) for one in files if not _is_utf_8(one.path))
    if wrong:
        more = f" and {len(wrong) - MOST_NAMES} more" if len(wrong) > MOST_NAMES else ""
        names = f"{', '.join(wrong[:MOST_NAMES])}{more}"
        raise BadName(f"the name {names} is not UTF-8" if len(wrong) == 1 else f"the names {names} are not UTF-8")
    return files
