"""What a receiver has written down of a transfer that is not done: which blocks have arrived, and which files are in place.

`journal` in the staging folder begins with one line of JSON, and goes on with records of 48 bytes. A record follows the
bytes that it speaks of, so what the journal has, the file has; after a power failure that may not be so, and whoever
takes it up again reads the blocks of files that are not in place, and compares.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slotcar_transfer.errors import TransferError

RECORD = struct.Struct("!IxxxxQ32s")
#: The offset of a record that says: the file is in place, its digest is that of the whole.
IN_PLACE = (1 << 64) - 1
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Record:
    file: int
    offset: int
    digest: bytes


class Journal:
    """Open, and locked against a second receiver.

    Raises:
        TransferError: another receiver has it.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "journal"
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(self._file)
            raise TransferError(f"another transfer to the same place is under way ({folder})") from error

    def header(self) -> dict[str, object]:
        """What it was begun with; empty where it is new, or cannot be read."""
        line, _ = self._split()
        try:
            header = json.loads(line)
        except (ValueError, RecursionError):
            return {}
        return header if isinstance(header, dict) and header.get("format") == _FORMAT else {}

    def records(self) -> Iterator[Record]:
        """The last one may have been cut off, and is left out then."""
        _, body = self._split()
        for place in range(0, len(body) // RECORD.size * RECORD.size, RECORD.size):
            yield Record(*RECORD.unpack_from(body, place))

    def begin(self, header: dict[str, object], records: Iterator[Record] | list[Record]) -> None:
        """Begins anew with what is known already; whole or not at all."""
        first = json.dumps({"format": _FORMAT, **header}).encode() + b"\n"
        body = b"".join(RECORD.pack(one.file, one.offset, one.digest) for one in records)
        os.ftruncate(self._file, 0)
        self._write(first + body)
        os.fsync(self._file)

    def add(self, record: Record) -> None:
        self._write(RECORD.pack(record.file, record.offset, record.digest))

    def close(self) -> None:
        os.close(self._file)

    def _write(self, data: bytes) -> None:
        if os.write(self._file, data) != len(data):
            raise OSError(28, "the journal could not be written whole")

    def _split(self) -> tuple[bytes, bytes]:
        body = self.path.read_bytes()
        line, newline, rest = body.partition(b"\n")
        return (line, rest) if newline else (b"", b"")
