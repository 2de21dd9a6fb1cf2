"""The control protocol: a request is one JSON line, everything after it is frames, either way.

A frame is a header (kind, time stamp of the sender's clock in microseconds since the epoch, length) and a payload.
The stamp is why this is not ssh: receivers' figures are dated by the clock of the kernel that forwarded the packets.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from typing import Any, NamedTuple

HEADER = struct.Struct("!cQI")

STDOUT = b"o"
STDERR = b"e"
EXIT = b"x"  # payload: exit status, in decimal
ANSWER = b"a"  # payload: JSON
ERROR = b"!"  # payload: a sentence
STDIN = b"i"  # an empty payload closes the stream
SIGNAL = b"k"  # payload: signal number, in decimal
CLOCK = b"t"  # answered by a CLOCK frame


class Frame(NamedTuple):
    """One frame; `t_us` is microseconds since the epoch, UTC, by the clock of the kernel that sent it."""

    kind: bytes
    t_us: int
    payload: bytes


def now_us() -> int:
    """Microseconds since the epoch by this kernel's clock."""
    return time.time_ns() // 1000


def send(connection: socket.socket, kind: bytes, payload: bytes = b"", t_us: int | None = None) -> None:
    """Send one frame, whole."""
    stamp = now_us() if t_us is None else t_us
    connection.sendall(HEADER.pack(kind, stamp, len(payload)) + payload)


def receive(connection: socket.socket) -> Frame | None:
    """The next frame, or None once the other side has closed."""
    header = _exactly(connection, HEADER.size)
    if header is None:
        return None
    kind, t_us, length = HEADER.unpack(header)
    payload = _exactly(connection, length)
    return None if payload is None else Frame(kind, t_us, payload)


def send_request(connection: socket.socket, request: dict[str, Any]) -> None:
    connection.sendall(json.dumps(request).encode() + b"\n")


def receive_request(connection: socket.socket) -> dict[str, Any] | None:
    """The request that opens a connection, or None when the other side sent none (a port check)."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte or len(line) > 1_000_000:
            return None
        line += byte
    request = json.loads(line)
    return request if isinstance(request, dict) else None


def _exactly(connection: socket.socket, length: int) -> bytes | None:
    data = bytearray()
    while len(data) < length:
        chunk = connection.recv(length - len(data))
        if not chunk:
            return None
        data += chunk
    return bytes(data)
