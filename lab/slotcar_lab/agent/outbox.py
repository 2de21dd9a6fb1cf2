"""What goes from commands to those who asked for them. Standard library only.

While a guest's virtual time runs it goes nowhere: an answer of this machine's would reach the guest at another of its
instants each time.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading

from slotcar_lab.agent import wire


class Outboxes:
    """Those of all commands that run; closed while time runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wakers: set[int] = set()
        self.closed = False

    def open_or_close(self, is_open: bool) -> None:
        with self._lock:
            self.closed = not is_open
            if is_open:
                for waker in self._wakers:
                    os.eventfd_write(waker, 1)

    def new(self, peer: socket.socket) -> Outbox:
        outbox = Outbox(self, peer)
        with self._lock:
            self._wakers.add(outbox.waker)
        return outbox

    def remove(self, waker: int) -> None:
        with self._lock:
            self._wakers.discard(waker)
        os.close(waker)


class Outbox:
    """One command's frames; each is dated when it is put in. `waker` is readable when there is something to be sent on."""

    def __init__(self, outboxes: Outboxes, peer: socket.socket) -> None:
        self.waker = os.eventfd(0, os.EFD_NONBLOCK)
        self._outboxes, self._peer = outboxes, peer
        self._frames: list[wire.Frame] = []

    def __enter__(self) -> Outbox:
        return self

    def __exit__(self, *_: object) -> None:
        self._outboxes.remove(self.waker)

    @property
    def empty(self) -> bool:
        return not self._frames

    def put(self, kind: bytes, payload: bytes) -> None:
        self._frames.append(wire.Frame(kind, wire.now_us(), payload))
        self.send()

    def send(self) -> None:
        """Send on what has come together, unless time runs."""
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self.waker)
        while self._frames and not self._outboxes.closed:
            frame = self._frames.pop(0)
            wire.send(self._peer, frame.kind, frame.payload, frame.t_us)
