"""Which connection sends which block: whoever is free takes the next. Without I/O, but for waiting."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from slotcar_transfer.errors import Damaged
from slotcar_transfer.manifest import Block

#: A block that arrives damaged so often is damaged by something that stays.
MOST_DAMAGED = 5


@dataclass(slots=True)
class Loaded:
    """A block with its bytes and their BLAKE3; `body` is None where it is to be read again."""

    block: Block
    digest: bytes
    body: memoryview | None


@dataclass(slots=True)
class _Sent:
    digest: bytes
    lanes: list[str]
    last: str
    damaged: int = 0


@dataclass
class Blocks:
    """The blocks of one attempt, between the reader of files and the connections.

    At the end, when no block is left that nobody has, a free connection takes the oldest one that another has not got
    through: a connection that starves holds nothing up. The receiver drops what comes twice.

    Attributes:
        most_waiting: blocks that are read ahead.
        acknowledged: is called with each block and the connection that brought it, once.
    """

    most_waiting: int
    acknowledged: Callable[[Block, str], None]
    _waiting: deque[Loaded] = field(default_factory=deque)
    _again: deque[Loaded] = field(default_factory=deque)
    _sent: dict[Block, _Sent] = field(default_factory=dict)
    _all_read: bool = False
    _error: BaseException | None = None
    _stopped: bool = False
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def offer(self, loaded: Loaded) -> bool:
        """The next block that was read; waits while enough are waiting. False where it is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._over or len(self._waiting) < self.most_waiting)
            if self._over:
                return False
            self._waiting.append(loaded)
            self._changed.notify_all()
            return True

    def all_read(self) -> None:
        with self._changed:
            self._all_read = True
            self._changed.notify_all()

    def take(self, lane: str, wait_s: float = 0.5) -> Loaded | None:
        """The next block for a connection; None where there is none for now, or none any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._over or self._next(lane) is not None or self.done, wait_s)
            loaded = None if self._over else self._next(lane)
            if loaded is None:
                return None
            for queue in (self._again, self._waiting):
                if queue and queue[0] is loaded:
                    queue.popleft()
            sent = self._sent.setdefault(loaded.block, _Sent(loaded.digest, [], lane))
            sent.lanes.append(lane)
            sent.last = lane
            self._changed.notify_all()
            return loaded

    def arrived(self, block: Block, lane: str) -> None:
        with self._changed:
            if self._sent.pop(block, None) is None:
                return  # it came over both connections
            self.acknowledged(block, lane)
            self._changed.notify_all()

    def all_arrived(self) -> None:
        """The receiver has every file whole: what it says so on may overtake the last blocks' acknowledgements."""
        with self._changed:
            for block, sent in self._sent.items():
                self.acknowledged(block, sent.lanes[0] if sent.lanes else sent.last)
            self._sent.clear()
            self._again.clear()
            self._changed.notify_all()

    def damaged(self, block: Block, lane: str) -> None:
        """
        Raises:
            Damaged: it has been so too often.
        """
        with self._changed:
            sent = self._sent.get(block)
            if sent is None:
                return
            sent.damaged += 1
            if sent.damaged >= MOST_DAMAGED:
                raise Damaged(
                    f"a block arrived damaged {sent.damaged} times; what it is read from, or memory, is at fault"
                )
            self._lost(block, sent, lane)
            self._changed.notify_all()

    def lane_lost(self, lane: str) -> None:
        """What was on that connection alone is for the others."""
        with self._changed:
            for block, sent in list(self._sent.items()):
                if lane in sent.lanes:
                    self._lost(block, sent, lane)
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """Ends it for all; the first error counts."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    @property
    def done(self) -> bool:
        """Whether every block that there is has arrived."""
        return self._all_read and not self._waiting and not self._again and not self._sent

    @property
    def error(self) -> BaseException | None:
        return self._error

    @property
    def _over(self) -> bool:
        return self._stopped or self._error is not None

    def _next(self, lane: str) -> Loaded | None:
        if self._again:
            return self._again[0]
        if self._waiting:
            return self._waiting[0]
        if self._all_read:
            for block, sent in self._sent.items():
                if lane not in sent.lanes:
                    return Loaded(block, sent.digest, None)
        return None

    def _lost(self, block: Block, sent: _Sent, lane: str) -> None:
        sent.lanes = [one for one in sent.lanes if one != lane]
        if not sent.lanes and not any(one.block == block for one in self._again):
            self._again.append(Loaded(block, sent.digest, None))
