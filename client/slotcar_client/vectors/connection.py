"""A connection as its vector says it: messages, rate, restricted jitter, one way, fast close."""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from slotcar_client.vectors import framing, sockets
from slotcar_client.vectors.bucket import Bucket
from slotcar_client.vectors.mapping import (
    MTU_BYTES,
    PART_BYTES,
    Needs,
    NotPossible,
    Settings,
    Transport,
    above,
    fixed,
    ip_bytes,
    needs,
    settings,
)
from slotcar_client.vectors.vector import Vector
from slotcar_client.wire.errors import SlotcarError

#: Of an end without retransmission: one of these arrives, unless all are lost.
ENDS_SENT = 3
#: How often the receiver of restricted jitter looks whether it is to end.
LOOK_S = 0.2
_CLOSE_AT_ONCE = struct.pack("ii", 1, 0)


class Closed(SlotcarError):
    """The connection is closed, by this end or, with FASTCLOSE, because the other one wants to."""


class Network(Protocol):
    """What was agreed with the network, as a connection needs it."""

    def change(self, needed: Needs) -> None: ...

    def give_back(self) -> None: ...


@dataclass(slots=True)
class Counts:
    """
    Attributes:
        dropped: heads of the full queue that gave way (RJ). incomplete: messages of which a part was lost. garbled:
            datagrams that were none of this connection's.
        changes: by `change`. asked_network: how many of them were above what was agreed.
    """

    sent: int = 0
    received: int = 0
    dropped: int = 0
    incomplete: int = 0
    garbled: int = 0
    changes: int = 0
    asked_network: int = 0


class Connection:
    """One may be sent on by one thread and received on by another; close it, or use it with `with`.

    Attributes:
        socket: the connected socket, with everything set. vector: as it holds now. agreed: what the network was asked for
            at most. counts: so far.
    """

    def __init__(
        self, connected: socket.socket, vector: Vector, transport: Transport, *, mtu_bytes: int = MTU_BYTES,
        network: Network | None = None, agreed: Needs | None = None,
    ) -> None:  # fmt: skip
        self.socket = connected
        self.vector = vector
        self.transport = transport
        self.counts = Counts()
        self.network = network
        self.agreed = agreed or needs(vector, transport, mtu_bytes)
        self.settings = settings(vector, transport, mtu_bytes)
        self._mtu_bytes = mtu_bytes
        self._number = 0
        self._ended = self._closed = False
        self._frames = framing.Frames(vector.max_data_r)
        self._parts = framing.Parts(vector.max_data_r)
        self._ready: list[bytes] = []
        self._bucket = _bucket(self.settings)
        self._newest: framing.Newest | None = None
        self._more = threading.Condition()
        self._failure: Exception | None = None
        if self.settings.queue_messages is not None:
            self._newest = framing.Newest(self.settings.queue_messages)
            self._receiver = threading.Thread(target=self._keep_newest, daemon=True)
            self._receiver.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def fileno(self) -> int:
        return self.socket.fileno()

    def send(self, message: bytes) -> None:
        """Sends a message, or without MBP so many bytes of a stream, when the rate lets it.

        Raises:
            NotPossible: it is longer than `max_data_t`, or this end only receives.
            Closed: with FASTCLOSE, as the other end wants to close: this one is closed then.
            OSError: the connection is broken.
        """
        if not self.settings.sends:
            raise NotPossible("max_data_t is 0: on this connection nothing is sent from here")
        if len(message) > self.vector.max_data_t:
            raise NotPossible(f"a message of {len(message)} bytes, and max_data_t is {self.vector.max_data_t}")
        if self._closed:
            raise Closed("the connection is closed")
        if self.transport is Transport.TCP:
            self._write(framing.framed(message) if self.settings.framed else message)
        elif self.transport is Transport.SCTP:
            self._wait_for_rate(ip_bytes(len(message), self.transport, framed=False, mtu_bytes=self._mtu_bytes))
            self._write(message)
        else:
            headers = self._mtu_bytes - self.settings.room_bytes - PART_BYTES
            for part in framing.parts(self._number, message, self.settings.room_bytes):
                self._wait_for_rate(len(part) + headers)
                self._write(part)
            self._number += 1
        self.counts.sent += 1

    def recv(self, timeout_s: float | None = None) -> bytes | None:
        """The next message, or without MBP what has come of a stream; None once the other end has said that it ends.

        With FASTCLOSE this end is closed then.

        Raises:
            NotPossible: this end only sends. TimeoutError. OSError: the connection is broken.
            Garbled: what comes on a stream is not of this library's other end.
        """
        if not self.settings.receives:
            raise NotPossible("max_data_r is 0: on this connection nothing comes here")
        message = self._next(timeout_s) if self._newest is None else self._newest_message(timeout_s)
        if message is None and self.settings.fast_close:
            self._close_fast()
        if message is not None:
            self.counts.received += 1
        return message

    def change(self, vector: Vector) -> bool:
        """Another vector from now on; the network is asked only where it is above what was agreed. Gives whether it was.

        Raises:
            NotPossible: what it changes is chosen when a connection is made, this host does not give it, or the network
                has no room: all stays as it was.
        """
        if reasons := fixed(vector, self.vector):
            raise NotPossible("; ".join(reasons))
        needed = needs(vector, self.transport, self._mtu_bytes)
        chosen = settings(vector, self.transport, self._mtu_bytes)
        more = above(needed, self.agreed)
        sockets.set_buffers(self.socket, chosen)
        if more:
            self._agree(needed, more)
        sockets.set_priority(self.socket, chosen)
        if self.transport is Transport.TCP:
            sockets.set_pace(self.socket, chosen)
        elif self.transport is Transport.UDP:
            self.socket.setsockopt(socket.SOL_SOCKET, sockets.SO_NO_CHECK, int(not chosen.checksum))
        self.vector, self.settings = vector, chosen
        self._apply_to_queues(chosen)
        self.counts.changes += 1
        self.counts.asked_network += bool(more)
        return bool(more)

    def finish(self) -> None:
        """Says that this end wants to close. It may still receive."""
        if self.transport is Transport.UDP:
            for _ in range(ENDS_SENT):
                with suppress(OSError):
                    self.socket.send(framing.END)
        else:
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Ends the connection; what was sent still goes out. What was reserved for it is given back."""
        if not self._closed:
            self.finish()
        self._shut()
        if self.network is not None:
            network, self.network = self.network, None
            network.give_back()

    def _agree(self, needed: Needs, more: list[str]) -> None:
        try:
            if self.network is None:
                raise NotPossible(f"nothing was agreed with a network: {'; '.join(more)}")
            self.network.change(needed)
        except NotPossible:
            sockets.set_buffers(self.socket, self.settings)
            raise
        self.agreed = needed

    def _apply_to_queues(self, chosen: Settings) -> None:
        self._frames.longest_bytes = self._parts.longest_bytes = max(
            self._frames.longest_bytes, self.vector.max_data_r
        )
        if chosen.bucket_ip_bps is None:
            self._bucket = None
        elif self._bucket is None:
            self._bucket = _bucket(chosen)
        else:
            self._bucket.change(chosen.bucket_ip_bps, chosen.bucket_bytes or 0, time.monotonic())
        with self._more:
            if self._newest is not None and chosen.queue_messages:
                self._newest.resize(chosen.queue_messages)

    def _wait_for_rate(self, size_bytes: int) -> None:
        if self._bucket is not None and (wait_s := self._bucket.take(size_bytes, time.monotonic())):
            time.sleep(wait_s)

    def _write(self, data: bytes) -> None:
        if not self.settings.fast_close:
            self.socket.sendall(data)
            return
        if self.transport is Transport.UDP and not self.settings.receives:
            self._hear_end()
        poll = select.poll()
        poll.register(self.socket, select.POLLOUT | select.POLLRDHUP)
        view = memoryview(data)
        while view or not data:
            ((_, events),) = poll.poll()
            if self._ended or events & (select.POLLRDHUP | select.POLLHUP):
                self._close_fast()
                raise Closed("the other end wants to close, and this one has FASTCLOSE")
            view = view[self.socket.send(view, socket.MSG_DONTWAIT) :]
            if not data:
                return

    def _hear_end(self) -> None:
        """Of an end that only sends, and so reads nothing else."""
        with suppress(BlockingIOError):
            while not self._ended:
                self._of_datagram(self.socket.recv(65_535, socket.MSG_DONTWAIT))

    def _next(self, timeout_s: float | None) -> bytes | None:
        """Straight from the socket."""
        ends_s = None if timeout_s is None else time.monotonic() + timeout_s
        while not self._ready:
            if self._ended:
                return None
            left_s = None if ends_s is None else max(0.0, ends_s - time.monotonic())
            if not select.select([self.socket], [], [], left_s)[0]:
                raise TimeoutError("nothing came in time")
            self._ready = self._arrived()
        return self._ready.pop(0)

    def _arrived(self) -> list[bytes]:
        """What the next piece from the socket makes whole."""
        if self.transport is Transport.UDP:
            return self._of_datagram(self.socket.recv(65_535))
        if self.transport is Transport.SCTP:
            return self._of_sctp()
        piece = self.socket.recv(max(self.vector.max_data_r, 1 << 16 if self.settings.framed else 1))
        if not piece:
            self._ended = True
            return []
        return self._frames.take(piece) if self.settings.framed else [piece]

    def _of_datagram(self, datagram: bytes) -> list[bytes]:
        if datagram == framing.HELLO:
            self.socket.send(framing.WELCOME)
        elif datagram == framing.END:
            self._ended = True
        elif datagram != framing.WELCOME:
            try:
                message = self._parts.take(datagram)
            except framing.Garbled:
                self.counts.garbled += 1
                return []
            finally:
                self.counts.incomplete = self._parts.incomplete
            return [] if message is None else [message]
        return []

    def _of_sctp(self) -> list[bytes]:
        pieces = []
        while True:
            piece, _, flags, _ = self.socket.recvmsg(self.vector.max_data_r + 1)
            if not piece:
                self._ended = True
                return []
            pieces.append(piece)
            if flags & socket.MSG_EOR:
                return [b"".join(pieces)]

    def _keep_newest(self) -> None:
        """Restricted jitter: takes all that comes at once, so that neither the kernel's queue nor a window holds it."""
        assert self._newest is not None
        while not self._ended and not self._closed:
            try:
                readable, _, _ = select.select([self.socket], [], [], LOOK_S)
                arrived = self._arrived() if readable else []
            except (OSError, ValueError) as error:
                with self._more:
                    self._failure, self._ended = error, True
                    self._more.notify_all()
                return
            with self._more:
                for message in arrived:
                    self._newest.put(message)
                self.counts.dropped = self._newest.dropped
                self._more.notify_all()

    def _newest_message(self, timeout_s: float | None) -> bytes | None:
        assert self._newest is not None
        with self._more:
            if not self._more.wait_for(lambda: self._newest or self._ended or self._closed, timeout_s):
                raise TimeoutError("no message came in time")
            if self._newest:
                return self._newest.get()
            if self._failure is not None and not self._closed:
                raise self._failure
            return None

    def _close_fast(self) -> None:
        """At once, and without what waits to be sent: the other end would not take it."""
        with suppress(OSError):
            if self.transport is not Transport.UDP:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _CLOSE_AT_ONCE)
        self._shut()

    def _shut(self) -> None:
        self._closed = True
        with self._more:
            self._more.notify_all()
        if self._newest is not None and threading.current_thread() is not self._receiver:
            self._receiver.join()
        self.socket.close()


def _bucket(chosen: Settings) -> Bucket | None:
    if chosen.bucket_ip_bps is None or chosen.bucket_bytes is None:
        return None
    return Bucket(chosen.bucket_ip_bps, chosen.bucket_bytes, time.monotonic())
