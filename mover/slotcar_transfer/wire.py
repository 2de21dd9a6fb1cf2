"""Frames over TLS. A frame is a header of 56 bytes and a body; a body is JSON (a message) or a block of a file.

One thread may read while another one writes. OpenSSL's connection object may not be used by two threads at once, so every
call on it is made under a lock, without blocking, and waiting for the socket is done outside of it.
"""

from __future__ import annotations

import json
import select
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from slotcar_transfer.errors import Broken, OtherVersion, TransferError, WrongPeer, of_document

#: The first bytes of every frame, in all versions of the protocol.
MAGIC = b"SLTR"
HEADER = struct.Struct("!4sBxxxIQI32s")
LARGEST_MESSAGE_BYTES = 4 << 20
LARGEST_BLOCK_BYTES = 8 << 20
#: An end that acknowledges nothing for so long is gone (TCP_USER_TIMEOUT), and keepalive notices one that is idle.
USER_TIMEOUT_MS = 30_000
HANDSHAKE_S = 20.0
NO_DIGEST = bytes(32)
#: Records of TLS are at most 16 KiB: more at once is no faster.
_WRITE_BYTES = 1 << 18


class Kind(IntEnum):
    MESSAGE = 1
    BLOCK = 2
    #: The block arrived and is in the journal.
    ACK = 3
    #: The block arrived and is not what its digest says.
    DAMAGED = 4


@dataclass(frozen=True, slots=True)
class Header:
    """`file` is the number in the manifest, `offset` in bytes; `digest` is the body's BLAKE3."""

    kind: Kind
    file: int = 0
    offset: int = 0
    length: int = 0
    digest: bytes = NO_DIGEST

    def packed(self) -> bytes:
        return HEADER.pack(MAGIC, self.kind, self.file, self.offset, self.length, self.digest)


class Channel:
    """A TLS connection with frames.

    Attributes:
        peer: the other end's name among the known ones, or its certificate's subject.
        before_close: is called when it is about to be closed by this end, perhaps more than once.

    Raises (every method):
        Broken: the connection is over.
        WrongPeer: because the other end does not know this one.
        OtherVersion: the other end sends no frames of this protocol.
    """

    def __init__(self, connection: ssl.SSLSocket, peer: str = "") -> None:
        self.socket = connection
        self.peer = peer
        self.before_close: Callable[[], None] = lambda: None
        connection.setblocking(False)
        _keep_alive(connection)
        #: Entered again by a signal's handler that closes the channel while its thread holds it.
        self._ssl = threading.RLock()
        self._writing = threading.Lock()
        #: Python's `shutdown` takes TLS off the socket: what was read or written after it would be bytes without TLS.
        self._shut = False
        self._over = False

    def send_message(self, message: dict[str, Any]) -> None:
        body = json.dumps(message, separators=(",", ":")).encode()
        if len(body) > LARGEST_MESSAGE_BYTES:
            raise ValueError(f"a message of {len(body)} bytes is too large")
        with self._writing:
            self._send(memoryview(Header(Kind.MESSAGE, length=len(body)).packed() + body))

    def send_block(self, header: Header, body: memoryview) -> None:
        with self._writing:
            self._send(memoryview(header.packed()))
            self._send(body)

    def send_header(self, header: Header) -> None:
        with self._writing:
            self._send(memoryview(header.packed()))

    def receive_header(self) -> Header:
        raw = bytearray(HEADER.size)
        self.receive_into(memoryview(raw))
        magic, kind, file, offset, length, digest = HEADER.unpack(raw)
        if magic != MAGIC or kind not in Kind._value2member_map_:
            raise OtherVersion(f"{self.peer or 'the other end'} does not speak Slotcar's transfer protocol")
        limit = LARGEST_MESSAGE_BYTES if kind == Kind.MESSAGE else LARGEST_BLOCK_BYTES
        if length > limit:
            raise OtherVersion(f"{self.peer or 'the other end'} sends a frame of {length} bytes; the most is {limit}")
        return Header(Kind(kind), file, offset, length, digest)

    def receive_message(self) -> dict[str, Any]:
        """
        Raises:
            TransferError: it is an error that the other end reports.
        """
        header = self.receive_header()
        if header.kind is not Kind.MESSAGE:
            raise OtherVersion(f"{self.peer or 'the other end'} sends a {header.kind.name} where a message is due")
        return self.body_of(header)

    def body_of(self, header: Header) -> dict[str, Any]:
        raw = bytearray(header.length)
        self.receive_into(memoryview(raw))
        try:
            message = json.loads(raw)
        except (ValueError, RecursionError):  # nested deep
            message = None
        if not isinstance(message, dict):
            raise OtherVersion(f"{self.peer or 'the other end'} sends a message that is not a JSON object")
        if "error" in message:
            raise of_document(message)
        return message

    def receive_into(self, view: memoryview) -> None:
        """Fills the view."""
        while view:
            try:
                with self._ssl:
                    self._check_not_shut()
                    count = self.socket.recv_into(view)
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN)
                continue
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT)
                continue
            except (OSError, ValueError) as error:
                raise self._broken(error) from error
            if count == 0:
                raise self._broken(None)
            view = view[count:]

    def close(self, abort: bool = False) -> None:
        """Wakes whoever waits for it. `abort`: without waiting for what was sent, so that the port is free at once."""
        self._over = True
        self.before_close()
        with suppress(OSError):
            if abort:
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self._shutdown(socket.SHUT_RDWR)
        with suppress(OSError):
            socket.socket.close(self.socket)

    def finish(self, wait_s: float = 3.0) -> None:
        """Closes it so that what was sent arrives: a connection that is closed with something unread is reset."""
        until = time.monotonic() + wait_s
        scratch = bytearray(1 << 14)
        with suppress(OSError, ValueError):
            self._shutdown(socket.SHUT_WR)
            while not self._over and (left := until - time.monotonic()) > 0:
                waiting = select.poll()
                waiting.register(self.socket.fileno(), select.POLLIN)
                if not waiting.poll(left * 1000):
                    break
                with self._ssl, suppress(ssl.SSLWantReadError):
                    if self.socket.recv_into(scratch) == 0:
                        break
        self.close()

    def _shutdown(self, how: int) -> None:
        with self._ssl:
            self._shut = True
            self.socket.shutdown(how)

    def _check_not_shut(self) -> None:
        if self._shut:
            raise self._broken(None)

    def _send(self, view: memoryview) -> None:
        while view:
            try:
                with self._ssl:
                    self._check_not_shut()
                    count = self.socket.send(view[:_WRITE_BYTES])
            except ssl.SSLWantWriteError:
                self._wait(select.POLLOUT)
                continue
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN)
                continue
            except (OSError, ValueError) as error:
                raise self._broken(error) from error
            view = view[count:]

    def _wait(self, event: int) -> None:
        file = self.socket.fileno()
        if self._over or file < 0:
            raise self._broken(None)
        waiting = select.poll()
        waiting.register(file, event)
        waiting.poll(1000)
        if self._over:
            raise self._broken(None)

    def _broken(self, error: Exception | None) -> TransferError:
        reason = getattr(error, "reason", None) or ""
        if isinstance(error, ssl.SSLError) and "ALERT" in reason and ("CA" in reason or "CERTIFICATE" in reason):
            return WrongPeer(
                f"{self.peer} does not know this end; give it the certificate that `slotcar transfer key` prints here"
            )
        words = getattr(error, "strerror", None) or (str(error) if error else "it was closed")
        return Broken(f"the connection to {self.peer or 'the other end'} broke: {words}")


def _keep_alive(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4)):
        connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)
