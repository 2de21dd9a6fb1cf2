"""Reads the files of a transfer in order, with their digests, and notices a file that changes meanwhile."""

from __future__ import annotations

import os
import stat
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import blake3

from slotcar_transfer.blocks import Blocks, Loaded
from slotcar_transfer.errors import Changed, TransferError
from slotcar_transfer.manifest import Block, File, blocks_of, count_of

_MOST_OPEN = 16


@dataclass
class Reader:
    """The files below `root`; of a single file `root` is the file.

    Raises (every method):
        Changed: a file is not as the manifest has it.
        TransferError: it cannot be read.
    """

    root: Path
    files: Sequence[File]
    _open: OrderedDict[int, int] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def read(self, block: Block) -> memoryview:
        """The bytes of a block, out of a file that is as it was listed before and after."""
        with self._lock:
            file = self._file(block.file)
            body = bytearray(block.length)
            view, place = memoryview(body), block.offset
            while place < block.offset + block.length:
                count = os.preadv(file, [view[place - block.offset :]], place)
                if count == 0:
                    break
                place += count
            self._check(block.file, os.fstat(file))
            return view

    def close(self) -> None:
        with self._lock:
            for file in self._open.values():
                os.close(file)
            self._open.clear()

    def _file(self, number: int) -> int:
        if number in self._open:
            self._open.move_to_end(number)
            return self._open[number]
        place = self._place(number)
        try:
            file = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError as error:
            raise Changed(f"{place} went away while it was to be read") from error
        except OSError as error:
            raise TransferError(f"{place} cannot be read: {error.strerror}") from error
        self._open[number] = file
        if len(self._open) > _MOST_OPEN:
            os.close(self._open.popitem(last=False)[1])
        return file

    def _check(self, number: int, status: os.stat_result) -> None:
        listed = self.files[number]
        if (status.st_size, status.st_mtime_ns) != (listed.size_bytes, listed.mtime_ns) or not stat.S_ISREG(
            status.st_mode
        ):
            raise Changed(
                f"{self._place(number)} changed while it was read: it was listed with {listed.size_bytes} bytes and has"
                f" {status.st_size}, or was written meanwhile; move it when nobody writes it any more"
            )

    def _place(self, number: int) -> Path:
        return self.root if self.root.is_file() else self.root / self.files[number].path


def load(
    reader: Reader, blocks: Blocks, block_bytes: int, done: Collection[int], has: Callable[[Block], bool],
    whole: Callable[[int, bytes], None],
) -> None:  # fmt: skip
    """Reads every file that is not `done`, offers the blocks that the receiver has not, and tells the BLAKE3 of the whole.

    Of a file of one block the whole is the block.
    """
    for number, file in enumerate(reader.files):
        if number in done or file.size_bytes == 0:
            continue
        several = count_of(file, block_bytes) > 1
        digest = blake3.blake3()
        for block in blocks_of(number, file, block_bytes):
            body = reader.read(block)
            if several:
                digest.update(body)
            if not has(block) and not blocks.offer(Loaded(block, blake3.blake3(body).digest(), body)):
                return
        if several:
            whole(number, digest.digest())
    blocks.all_read()
