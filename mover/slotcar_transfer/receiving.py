"""The receiver's side of a session: takes the manifest, says what it has, and writes what comes."""

from __future__ import annotations

import queue
import threading
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import blake3

from slotcar_transfer.counting import Count
from slotcar_transfer.errors import Broken, TransferError
from slotcar_transfer.lanes import Ticker
from slotcar_transfer.manifest import PAGE, SMALLEST_BLOCK_BYTES, Block, checked_files
from slotcar_transfer.part_files import place_of
from slotcar_transfer.staging import Tree
from slotcar_transfer.store import Store
from slotcar_transfer.threads import Threads
from slotcar_transfer.wire import LARGEST_BLOCK_BYTES, Channel, Header, Kind

#: Of one transfer; the list of them is kept in memory at both ends.
MOST_FILES = 200_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where it goes, and which transfer it is: `job` is the same at each try."""

    destination: str
    job: str


class Receiver:
    """One try. `run` in one thread, `attach` from any.

    Args:
        lane_lost: as of a sender.
        begun: is called when it is known what there is to move.
    """

    def __init__(
        self, control: Channel, tree: Tree, wanted: Wanted, count: Count,
        lane_lost: Callable[[str], None] = lambda _lane: None, begun: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._control, self._tree, self._wanted, self._count = control, tree, wanted, count
        self._lane_lost, self._begun_with = lane_lost, begun
        self._store: Store | None = None
        self._lanes: dict[str, Channel] = {}
        self._threads = Threads()
        self._events: queue.SimpleQueue[BaseException | int] = queue.SimpleQueue()
        self._begun = threading.Event()
        self._lock = threading.Lock()
        self._over = False

    def run(self) -> dict[str, Any]:
        """What was moved.

        Raises:
            TransferError: it was not done; what has arrived is kept where the error says so.
        """
        keep = True
        watch: Ticker | None = None
        try:
            store = self._store = self._agree()
            self._begun.set()
            self._begun_with()
            self._start(self._listen, "listen")
            watch = Ticker(self._look)
            self._wait(store)
            self._count.all_placed()
            store.finish()
            result = {"files": len(store.files), "bytes": sum(one.size_bytes for one in store.files)}
            self._control.send_message({"finished": result})
            return result
        except TransferError as error:
            keep = error.keeps_parts
            if not isinstance(error, Broken):
                with suppress(TransferError):
                    self._control.send_message({"error": error.kind, "words": str(error)})
            raise
        except Exception as error:
            with suppress(TransferError):
                self._control.send_message({"error": "error", "words": f"the receiver failed: {error}"})
            raise
        finally:
            self._over = True
            if watch is not None:
                watch.close()
            self._begun.set()
            for channel in list(self._lanes.values()):
                channel.close(abort=True)
            self._threads.join(leave=("listen",))
            if self._store is not None:
                self._store.close(keep)

    def attach(self, name: str, channel: Channel) -> None:
        with self._lock:
            old = self._lanes.get(name)
            self._lanes[name] = channel
        if old:
            old.close(abort=True)
        if self._over:
            channel.close(abort=True)
            return
        self._start(lambda: self._receive(name, channel), f"receive-{name}")

    def fail(self, error: BaseException) -> None:
        self._events.put(error)

    def steer(self, document: dict[str, object]) -> None:
        """Tells the sender what it goes by."""
        with suppress(TransferError):
            self._control.send_message({"steer": document})

    # -- the conversation --------------------------------------------------------------------------------------------

    def _agree(self) -> Store:
        rows: list[object] = []
        while True:
            message = self._control.receive_message()
            rows += message.get("files", ())
            if len(rows) > MOST_FILES:
                raise TransferError(f"a transfer has {MOST_FILES} files at most; move the folder in parts")
            if "block_bytes" in message:
                break
        block_bytes = int(message["block_bytes"])
        if not SMALLEST_BLOCK_BYTES <= block_bytes <= LARGEST_BLOCK_BYTES or block_bytes & (block_bytes - 1):
            raise TransferError(f"the other end asks for blocks of {block_bytes} bytes")
        files = checked_files(rows)
        single = files[0].path if message.get("single", False) and len(files) == 1 else None
        place = place_of(self._tree, self._wanted.destination, single)
        store = Store(self._tree, place, self._wanted.job, files, block_bytes, self._events.put)
        arrived = store.arrived_bytes()
        self._count.begin(sum(one.size_bytes for one in files), len(files), arrived, len(store.at_first))
        self._send_received_blocks(store, arrived)
        return store

    def _send_received_blocks(self, store: Store, arrived_bytes: int) -> None:
        done, partial = store.at_first, list(store.partial().items())
        for begin in range(0, len(done), 100 * PAGE):
            self._control.send_message({"done": done[begin : begin + 100 * PAGE]})
        for number, blocks in partial:
            self._control.send_message({"partial": {number: b64encode(blocks).decode()}})
        self._control.send_message({"block_bytes": store.block_bytes, "arrived_bytes": arrived_bytes})

    def _listen(self) -> None:
        while not self._over:
            message = self._control.receive_message()
            if "whole" in message:
                number, digest = message["whole"]
                assert self._store is not None
                self._store.whole(int(number), bytes.fromhex(digest))

    def _look(self) -> None:
        if self._store is not None and self._store.failed is not None:
            self._events.put(self._store.failed)

    def _wait(self, store: Store) -> None:
        placed = 0
        while not store.done:
            event = self._events.get()
            while True:
                if isinstance(event, BaseException):
                    raise event
                placed += 1
                try:
                    event = self._events.get_nowait()
                except queue.Empty:
                    break
            self._count.placed(placed)
            self._control.send_message({"placed": placed})
            placed = 0

    # -- connections -----------------------------------------------------------------------------------------------

    def _receive(self, name: str, channel: Channel) -> None:
        self._begun.wait()
        store, buffer = self._store, bytearray(0)
        try:
            while not self._over and store is not None:
                header = channel.receive_header()
                if header.kind is not Kind.BLOCK:
                    raise TransferError(f"{channel.peer} sends no block where one is due")
                if len(buffer) < header.length:
                    buffer = bytearray(header.length)
                body = memoryview(buffer)[: header.length]
                channel.receive_into(body)
                channel.send_header(self._written(store, name, header, body))
        except Broken:
            with self._lock:
                mine = self._lanes.get(name) is channel
                if mine:
                    del self._lanes[name]
            channel.close(abort=True)
            if mine and not self._over:
                self._lane_lost(name)

    def _written(self, store: Store, name: str, header: Header, body: memoryview) -> Header:
        """The answer to a block."""
        kind = Kind.DAMAGED
        if blake3.blake3(body).digest() == header.digest:
            kind = Kind.ACK
            if store.write(Block(header.file, header.offset, header.length), header.digest, body):
                self._count.add(name, header.length)
        return Header(kind, header.file, header.offset, header.length)

    def _start(self, work: Callable[[], None], name: str) -> None:
        def guarded() -> None:
            try:
                work()
            except BaseException as error:
                if not self._over:
                    self.fail(error)

        self._threads.start(guarded, name)
