"""The sender's side of a session: says the manifest, and sends what the receiver has not over two connections."""

from __future__ import annotations

import threading
from base64 import b64decode
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slotcar_transfer.blocks import Blocks
from slotcar_transfer.counting import Count
from slotcar_transfer.errors import Broken, TransferError
from slotcar_transfer.lanes import BaseControl, Steering, Ticker, prepare
from slotcar_transfer.manifest import PAGE, Block, File
from slotcar_transfer.sources import Reader, load
from slotcar_transfer.tcp import ADDITIONAL, mark
from slotcar_transfer.threads import Threads
from slotcar_transfer.wire import Channel, Header, Kind

#: Read ahead and on the way to the connections; with the socket's buffers it is most of the memory that a sender takes.
AHEAD_BYTES = 32 << 20
#: Without an acknowledgement a connection gets no more than this: it also bounds what is sent again after a break.
MOST_UNACKNOWLEDGED_BYTES = 64 << 20


@dataclass
class _Lane:
    channel: Channel
    control: BaseControl | None
    may_send: bool = True
    dscp: int | None = None
    unacknowledged: int = 0
    room: threading.Condition = field(default_factory=threading.Condition)


class Sender:
    """One try. `run` in one thread, `attach` from any.

    Args:
        control: the session's first connection. root, files: what is sent.
        lane_lost: is called with the name of a connection that broke while the session goes on.
        begun: is called when it is known what the receiver has; connections come then.
    """

    def __init__(
        self, control: Channel, root: Path, files: Sequence[File], block_bytes: int, steering: Steering, count: Count,
        lane_lost: Callable[[str], None] = lambda _lane: None, begun: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self._begun_with = begun
        self._control, self._files, self._block_bytes = control, files, block_bytes
        self._reader, self._single = Reader(root, files), root.is_file()
        self._steering, self._count, self._lane_lost = steering, count, lane_lost
        self._blocks = Blocks(1, self._acknowledged)
        self._done: set[int] = set()
        self._blocks_at_receiver: dict[int, bytes] = {}
        self._lanes: dict[str, _Lane] = {}
        self._threads = Threads()
        self._lock = threading.Lock()
        self._finished = threading.Event()
        self._begun = threading.Event()
        self._over = False

    def run(self) -> dict[str, Any]:
        """What the receiver says at the end.

        Raises:
            TransferError: it was not done; Broken where it may be tried again.
        """
        ticker: Ticker | None = None
        try:
            self._agree()
            self._begun_with()
            self._start(self._load, "load")
            self._start(self._listen, "listen")
            self._begun.set()
            ticker = Ticker(self._look)
            self._finished.wait()
            if (error := self._blocks.error) is not None:
                raise error
            return dict(self._result)
        except Broken:
            raise
        except TransferError as error:
            self._report(error)
            raise
        except Exception as error:
            self._report(TransferError(f"the sender failed: {error}"))
            raise
        finally:
            self._over = True
            if ticker is not None:
                ticker.close()
            self._blocks.stop()
            self._begun.set()
            for lane in list(self._lanes.values()):
                lane.channel.close(abort=True)
            self._control.finish()
            self._threads.join()
            self._reader.close()

    def attach(self, name: str, channel: Channel) -> None:
        """A connection for blocks; it takes the place of the one of that name."""
        control = prepare(name, channel, self._steering)
        may_send = self._steering.known if control is None else control.look()
        lane = _Lane(channel, control, may_send, self._steering.dscps.get(name))
        with self._lock:
            old = self._lanes.get(name)
            self._lanes[name] = lane
        if old:
            old.channel.close(abort=True)
        if self._over:
            channel.close(abort=True)
            return
        self._start(lambda: self._send(name, lane), f"send-{name}")
        self._start(lambda: self._acknowledge(name, lane), f"acks-{name}")

    def fail(self, error: BaseException) -> None:
        """Ends it from outside."""
        self._blocks.fail(error)
        self._finished.set()

    # -- the conversation --------------------------------------------------------------------------------------------

    def _agree(self) -> None:
        rows = [one.row() for one in self._files]
        for begin in range(0, len(rows), PAGE):
            self._control.send_message({"files": rows[begin : begin + PAGE]})
        self._control.send_message({"block_bytes": self._block_bytes, "single": self._single})
        while True:
            answer = self._control.receive_message()
            self._done |= set(answer.get("done", ()))
            for number, text in answer.get("partial", {}).items():
                self._blocks_at_receiver[int(number)] = b64decode(text)
            if "block_bytes" in answer:
                break
        self._block_bytes = int(answer["block_bytes"])
        self._blocks.most_waiting = max(2, AHEAD_BYTES // self._block_bytes)
        total = sum(one.size_bytes for one in self._files)
        self._count.begin(total, len(self._files), int(answer["arrived_bytes"]), len(self._done))

    def _load(self) -> None:
        def whole(number: int, digest: bytes) -> None:
            self._control.send_message({"whole": [number, digest.hex()]})

        load(self._reader, self._blocks, self._block_bytes, self._done, self._has, whole)

    def _has(self, block: Block) -> bool:
        at_receiver = self._blocks_at_receiver.get(block.file)
        return bool(at_receiver and at_receiver[block.offset // self._block_bytes])

    def _listen(self) -> None:
        while True:
            message = self._control.receive_message()
            if "finished" in message:
                self._result = message["finished"]
                self._blocks.all_arrived()
                self._count.all_placed()
                self._finished.set()
                return
            if "placed" in message:
                self._count.placed(int(message["placed"]))
            elif "steer" in message:
                self._steering.take(message["steer"])

    def _report(self, error: TransferError) -> None:
        with suppress(TransferError):
            self._control.send_message({"error": error.kind, "words": str(error)})

    # -- connections -----------------------------------------------------------------------------------------------

    def _send(self, name: str, lane: _Lane) -> None:
        self._begun.wait()
        try:
            while not self._blocks.done and not self._stopped(name, lane):
                with lane.room:
                    free = lane.may_send and lane.unacknowledged < MOST_UNACKNOWLEDGED_BYTES
                    if not free:
                        lane.room.wait(0.05)
                        continue
                loaded = self._blocks.take(name)
                if loaded is None:
                    continue
                block = loaded.block
                body = loaded.body if loaded.body is not None else self._reader.read(block)
                with lane.room:
                    lane.unacknowledged += block.length
                lane.channel.send_block(
                    Header(Kind.BLOCK, block.file, block.offset, block.length, loaded.digest), body
                )
        except Broken:
            self._lost(name, lane)

    def _acknowledge(self, name: str, lane: _Lane) -> None:
        self._begun.wait()
        try:
            while not self._stopped(name, lane):
                header = lane.channel.receive_header()
                block = Block(header.file, header.offset, header.length)
                with lane.room:
                    lane.unacknowledged -= block.length
                    lane.room.notify_all()
                if header.kind is Kind.ACK:
                    self._blocks.arrived(block, name)
                elif header.kind is Kind.DAMAGED:
                    self._blocks.damaged(block, name)
        except Broken:
            self._lost(name, lane)

    def _acknowledged(self, block: Block, lane: str) -> None:
        self._count.add(lane, block.length)

    def _look(self) -> None:
        """The base connection's rate and window, and the marks, which a receiver says when there is a reservation."""
        for name, lane in list(self._lanes.items()):
            dscp = self._steering.dscps.get(name)
            if dscp is not None and dscp != lane.dscp:
                lane.dscp = dscp
                with suppress(OSError):
                    mark(lane.channel.socket, dscp)
            if lane.control is not None:
                lane.may_send = lane.control.look()
            elif name == ADDITIONAL:
                lane.may_send = self._steering.known and self._steering.additional

    def _stopped(self, name: str, lane: _Lane) -> bool:
        return self._over or self._blocks.error is not None or self._lanes.get(name) is not lane

    def _lost(self, name: str, lane: _Lane) -> None:
        with self._lock:
            mine = self._lanes.get(name) is lane
            if mine:
                del self._lanes[name]
        lane.channel.close(abort=True)
        if mine and not self._over and not self._finished.is_set():
            self._blocks.lane_lost(name)
            self._lane_lost(name)

    def _start(self, work: Callable[[], None], name: str) -> None:
        def guarded() -> None:
            try:
                work()
            except BaseException as error:
                self.fail(error)

        self._threads.start(guarded, name)
