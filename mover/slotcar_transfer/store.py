"""What a receiver does with blocks: write, note in the journal, check the whole, and put the file under its name.

A file is written as `NUMBER.part` in a staging folder on the same file system, checked, flushed to the disk, and
renamed: under its final name it is whole or not there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock

import blake3

from slotcar_transfer.errors import Damaged, NoSpace, TransferError, size_text
from slotcar_transfer.journal import IN_PLACE, Journal, Record
from slotcar_transfer.manifest import Block, File, count_of, digest_of
from slotcar_transfer.part_files import HASHED_AT_ONCE, PartFiles, Place, digest_at, write_at
from slotcar_transfer.staging import Tree

#: Flushing a small file waits for the disk more than it works.
_FINISHERS = 4
#: What a file system needs beside the bytes of a file.
_PER_FILE_BYTES = 4096


@dataclass
class _Arriving:
    """One file: which blocks are there, their digests, and how far the digest of the whole has come."""

    missing: int
    arrived: bytearray
    digests: bytearray
    whole: bytes | None = None
    hashed: int = 0
    hasher: blake3.blake3 | None = None
    finishing: bool = False
    checked: bool = False


class Store:
    """The receiving side of one transfer; open until `close`. Blocks may be written from several threads.

    Attributes:
        block_bytes: of the blocks, as the transfer was begun.
        in_place: the numbers of the files that are under their names; `at_first` those that were from the beginning.
        placed: is called with the number of each file that comes under its name; under a lock, so it must not wait.

    Raises (every method):
        NoSpace, TransferError: it cannot be written.
    """

    def __init__(
        self, tree: Tree, place: Place, job: str, files: Sequence[File], block_bytes: int,
        placed: Callable[[int], None] = lambda _number: None,
    ) -> None:  # fmt: skip
        self._parts = PartFiles(tree, place, job, files)
        self.files, self.staging = self._parts.files, self._parts.staging
        self._placed: Callable[[int], None] = lambda _number: None
        self._journal = Journal(self.staging)
        self._lock = Lock()
        self._arriving: dict[int, _Arriving] = {}
        self.in_place: set[int] = set()
        self.block_bytes = block_bytes
        self._finishers = ThreadPoolExecutor(_FINISHERS, "finish")
        self._hashing = ThreadPoolExecutor(1, "hash")
        self._failed: BaseException | None = None
        self._closed = False
        #: Looks at a file before it gets its name; raises where it may not have it.
        self.check: Callable[[int], None] | None = None
        try:
            with self._lock:
                self._take_up()
                self._check_space()
                self._make_what_is_empty()
                self.at_first = sorted(self.in_place)
                self._placed = placed
        except BaseException:
            self.close()
            raise

    # -- before ----------------------------------------------------------------------------------------------------

    def has(self, block: Block) -> bool:
        if block.file in self.in_place:
            return True
        arriving = self._arriving.get(block.file)
        return bool(arriving and arriving.arrived[block.offset // self.block_bytes])

    def partial(self) -> dict[int, bytes]:
        """Of each file of which some blocks are there: a byte for each block, 1 where it is."""
        return {number: bytes(one.arrived) for number, one in self._arriving.items()}

    def arrived_bytes(self) -> int:
        """Of files in place, and of blocks of others."""
        whole = sum(self.files[number].size_bytes for number in self.in_place)
        parts = sum(
            min(self.block_bytes, self.files[number].size_bytes - index * self.block_bytes)
            for number, one in self._arriving.items() for index, has_arrived in enumerate(one.arrived) if has_arrived
        )  # fmt: skip
        return whole + parts

    def _take_up(self) -> None:
        """What the journal has of this manifest, as far as the files have it too. Of another manifest nothing counts."""
        header = self._journal.header()
        begun_bytes = header.get("block_bytes")
        if isinstance(begun_bytes, int) and header.get("manifest") == digest_of(self.files, begun_bytes):
            self.block_bytes = begun_bytes
            for record in self._journal.records():
                self._recall(record)
            for number in list(self._arriving):
                self._verify(number)
        else:
            self._parts.drop_parts()
        self._journal.begin(
            {"manifest": digest_of(self.files, self.block_bytes), "block_bytes": self.block_bytes}, list(self._known())
        )
        for number, one in list(self._arriving.items()):
            if one.missing == 0 and count_of(self.files[number], self.block_bytes) == 1:
                self._schedule(number, one)

    def _recall(self, record: Record) -> None:
        if record.file >= len(self.files):
            return
        if record.offset == IN_PLACE:
            self._arriving.pop(record.file, None)
            if self._parts.final_size(record.file) == self.files[record.file].size_bytes:
                self.in_place.add(record.file)
        elif record.offset < self.files[record.file].size_bytes and record.offset % self.block_bytes == 0:
            self._mark(record.file, record.offset, record.digest)

    def _verify(self, number: int) -> None:
        """Keeps those blocks whose bytes are what the journal says."""
        one, file = self._arriving[number], self.files[number]
        part = self.staging / f"{number}.part"
        # It may have been renamed, and the record of that not been written.
        renamed = not part.exists() and one.missing == 0 and self._parts.final_size(number) == file.size_bytes
        try:
            source = self._parts.open_final(number) if renamed else os.open(part, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            del self._arriving[number]
            return
        try:
            for index in [index for index, has_arrived in enumerate(one.arrived) if has_arrived]:
                length = min(self.block_bytes, file.size_bytes - index * self.block_bytes)
                if digest_at(source, index * self.block_bytes, length) != bytes(
                    one.digests[index * 32 : index * 32 + 32]
                ):
                    one.arrived[index] = 0
                    one.missing += 1
        finally:
            os.close(source)
        if renamed:
            del self._arriving[number]
            if one.missing == 0:
                self.in_place.add(number)

    def _known(self) -> Iterator[Record]:
        for number in sorted(self.in_place):
            yield Record(number, IN_PLACE, bytes(32))
        for number, one in self._arriving.items():
            for index, has_arrived in enumerate(one.arrived):
                if has_arrived:
                    yield Record(number, index * self.block_bytes, bytes(one.digests[index * 32 : index * 32 + 32]))

    def _check_space(self) -> None:
        missing = [one for number, one in enumerate(self.files) if number not in self.in_place]
        needed = sum(one.size_bytes for one in missing) - sum(
            self.files[number].size_bytes - one.missing * self.block_bytes for number, one in self._arriving.items()
        )
        status = os.statvfs(self.staging)
        free = status.f_bavail * status.f_frsize
        if needed + len(missing) * _PER_FILE_BYTES > free:
            raise NoSpace(
                f"{self.staging.parent} has {size_text(free)} free and {size_text(needed)} are to come; nothing was sent"
            )

    def _make_what_is_empty(self) -> None:
        for number, file in enumerate(self.files):
            if number in self.in_place:
                continue
            if file.is_folder:
                self._parts.make_folder(number)
                self._note_in_place(number)
            elif file.size_bytes == 0:
                self._parts.part(number)
                self._put_in_place(number)

    # -- while it comes --------------------------------------------------------------------------------------------

    def write(self, block: Block, digest: bytes, body: memoryview) -> bool:
        """A block whose digest was checked. False where it was there already."""
        self._check_block(block)
        with self._lock:
            if self._failed:
                raise self._failed
            if self.has(block):
                return False
            file = self._parts.part(block.file)
            copy = os.dup(file)  # another thread may close what is open longest
        try:
            write_at(copy, body, block.offset)
        except OSError as error:
            raise self._parts.error_of(error) from error
        finally:
            os.close(copy)
        with self._lock:
            if self.has(block):
                return False
            try:
                self._journal.add(Record(block.file, block.offset, digest))
            except OSError as error:
                raise self._parts.error_of(error) from error
            arriving = self._mark(block.file, block.offset, digest)
            self._schedule(block.file, arriving)
        return True

    def whole(self, number: int, digest: bytes) -> None:
        """The BLAKE3 of a file of several blocks, as the sender read it; empty where the source has none."""
        with self._lock:
            if number in self.in_place or not 0 <= number < len(self.files):
                return
            arriving = self._arriving.get(number) or self._new(number)
            arriving.whole = digest
            self._schedule(number, arriving)

    @property
    def done(self) -> bool:
        return len(self.in_place) == len(self.files)

    @property
    def failed(self) -> BaseException | None:
        return self._failed

    def finish(self) -> None:
        """After the last file: takes the staging folder away."""
        self._finishers.shutdown()
        self._journal.close()
        self._closed = True
        shutil.rmtree(self.staging, ignore_errors=True)

    def close(self, keep: bool = True) -> None:
        """Ends it where it is; without `keep` what has arrived of files that are not in place goes away."""
        if self._closed:
            return
        self._closed = True
        self._hashing.shutdown(cancel_futures=True)
        self._finishers.shutdown(cancel_futures=True)
        with self._lock:
            self._parts.close_parts()
            self._journal.close()
        if not keep or not (self._arriving or self.in_place):
            shutil.rmtree(self.staging, ignore_errors=True)

    def _mark(self, number: int, offset: int, digest: bytes) -> _Arriving:
        arriving = self._arriving.get(number) or self._new(number)
        index = offset // self.block_bytes
        if not arriving.arrived[index]:
            arriving.arrived[index] = 1
            arriving.missing -= 1
        arriving.digests[index * 32 : index * 32 + 32] = digest
        return arriving

    def _new(self, number: int) -> _Arriving:
        count = count_of(self.files[number], self.block_bytes)
        self._arriving[number] = arriving = _Arriving(count, bytearray(count), bytearray(32 * count))
        return arriving

    def _check_block(self, block: Block) -> None:
        if not 0 <= block.file < len(self.files) or block.offset % self.block_bytes:
            raise TransferError("the other end sends a block that the manifest has not")
        left = self.files[block.file].size_bytes - block.offset
        if block.length != min(self.block_bytes, left) or left <= 0:
            raise TransferError("the other end sends a block of another length than the manifest's")

    # -- when a file is whole --------------------------------------------------------------------------------------

    def _schedule(self, number: int, one: _Arriving) -> None:
        """Under the lock. Large files are hashed as their blocks join; a file of one block has been."""
        if one.finishing:
            return
        single = len(one.arrived) == 1
        if one.missing == 0 and (single or one.whole is not None):
            one.finishing = True
            pool, work = (self._finishers, self._put_checked) if single else (self._hashing, self._hash_on)
            self._run(pool, work, number)
        elif (
            not single and one.arrived[one.hashed // self.block_bytes : one.hashed // self.block_bytes + 1] == b"\x01"
        ):
            self._run(self._hashing, self._hash_on, number)

    def _run(self, pool: ThreadPoolExecutor, work: Callable[[int], None], number: int) -> None:
        def note_failure(done: Future[None]) -> None:
            if not done.cancelled() and (error := done.exception()) is not None:
                self._failed = self._failed or (self._parts.error_of(error) if isinstance(error, OSError) else error)

        with suppress(RuntimeError):  # it is being closed
            pool.submit(work, number).add_done_callback(note_failure)

    def _hash_on(self, number: int) -> None:
        """The digest of what has joined; at the end it is compared."""
        one, size = self._arriving.get(number), self.files[number].size_bytes
        if one is None:
            return
        one.hasher = one.hasher or blake3.blake3()
        with self._lock:
            file = os.dup(self._parts.part(number))
        try:
            while one.hashed < size and one.arrived[one.hashed // self.block_bytes]:
                body = os.pread(file, min(HASHED_AT_ONCE, self.block_bytes, size - one.hashed), one.hashed)
                if not body:
                    raise Damaged(f"{self.files[number].path} is shorter on the disk than it was written")
                one.hasher.update(body)
                one.hashed += len(body)
        finally:
            os.close(file)
        if one.finishing and one.hashed == size and not one.checked:
            one.checked = True
            if one.whole and one.hasher.digest() != one.whole:
                raise Damaged(
                    f"{self.files[number].path} arrived, and is not what was read at the source; it was not kept"
                )
            self._run(self._finishers, self._put_checked, number)

    def _put_checked(self, number: int) -> None:
        with self._lock:
            file = os.dup(self._parts.part(number))
        try:
            if self.check is not None:
                self.check(file)
            os.fdatasync(file)
        finally:
            os.close(file)
        with self._lock:
            self._put_in_place(number)

    def _put_in_place(self, number: int) -> None:
        self._parts.close_part(number)
        self._parts.put_in_place(number)
        self._note_in_place(number)

    def _note_in_place(self, number: int) -> None:
        self._journal.add(Record(number, IN_PLACE, bytes(32)))
        self._arriving.pop(number, None)
        self.in_place.add(number)
        self._placed(number)
