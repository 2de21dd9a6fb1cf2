"""Messages on transports that do not keep them: lengths on a stream, numbered parts in datagrams. Pure."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from slotcar_client.vectors.mapping import FRAME_BYTES, PART_BYTES

_LENGTH = struct.Struct(">I")
#: A message's number, the part's, and how many parts it has; 0 parts: it is no message, and the part says what.
_PART = struct.Struct(">IHH")
NUMBERS = 1 << 32
HELLO, WELCOME, END = (_PART.pack(0, kind, 0) for kind in (1, 2, 3))
#: Messages of which parts are waited for; the oldest gives way, as parts come in order but for what the network reorders.
MOST_INCOMPLETE = 8


class Garbled(ValueError):
    """What comes is not of this library's other end, or longer than was agreed."""


def framed(message: bytes) -> bytes:
    return _LENGTH.pack(len(message)) + message


@dataclass(slots=True)
class Frames:
    """Takes a stream in pieces of any size, and gives the messages that are whole."""

    longest_bytes: int
    _buffer: bytearray = field(default_factory=bytearray)

    def take(self, piece: bytes) -> list[bytes]:
        """
        Raises:
            Garbled: a message is longer than was agreed: nothing that follows can be understood.
        """
        self._buffer += piece
        whole, at = [], 0
        while len(self._buffer) - at >= FRAME_BYTES:
            (length,) = _LENGTH.unpack_from(self._buffer, at)
            if length > self.longest_bytes:
                raise Garbled(f"a message of {length} bytes comes, and max_data_r is {self.longest_bytes}")
            if len(self._buffer) - at - FRAME_BYTES < length:
                break
            at += FRAME_BYTES + length
            whole.append(bytes(self._buffer[at - length : at]))
        del self._buffer[:at]
        return whole


def parts(number: int, message: bytes, room_bytes: int) -> Iterator[bytes]:
    """The datagrams of a message, of which each has room for so much of it."""
    count = max(1, -(-len(message) // room_bytes))
    for part in range(count):
        yield _PART.pack(number % NUMBERS, part, count) + message[part * room_bytes : (part + 1) * room_bytes]


@dataclass(slots=True)
class Parts:
    """Takes datagrams, and gives the messages of which all parts have come; nothing is asked for again.

    Attributes:
        incomplete: messages that were given up, as a part of them did not come.
    """

    longest_bytes: int
    incomplete: int = 0
    _waiting: dict[int, dict[int, bytes]] = field(default_factory=dict)

    def take(self, datagram: bytes) -> bytes | None:
        """The message that is whole with this datagram.

        Raises:
            Garbled: it is no part of a message of at most the agreed length; others are not concerned.
        """
        if len(datagram) < PART_BYTES:
            raise Garbled(f"a datagram of {len(datagram)} bytes comes, which is no part of a message")
        number, part, count = _PART.unpack_from(datagram)
        content = datagram[PART_BYTES:]
        if part >= count or count > self.longest_bytes + 1 or len(content) > self.longest_bytes:
            raise Garbled(
                f"part {part} of {count} comes with {len(content)} bytes; max_data_r is {self.longest_bytes}"
            )
        if count == 1:
            return content
        those = self._waiting.setdefault(number, {})
        those[part] = content
        if sum(map(len, those.values())) > self.longest_bytes:
            del self._waiting[number]
            raise Garbled(f"a message is longer than max_data_r, which is {self.longest_bytes} bytes")
        if len(those) == count:
            del self._waiting[number]
            return b"".join(those[one] for one in range(count))
        if len(self._waiting) > MOST_INCOMPLETE:
            del self._waiting[next(iter(self._waiting))]
            self.incomplete += 1
        return None


class Newest:
    """The received messages of A1's restricted jitter: where the queue is full, its head gives way (A1 §2).

    Attributes:
        dropped: heads that gave way.
    """

    def __init__(self, most: int) -> None:
        self._messages: deque[bytes] = deque(maxlen=most)
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, message: bytes) -> None:
        self.dropped += len(self._messages) == self._messages.maxlen
        self._messages.append(message)

    def get(self) -> bytes:
        """The head.

        Raises:
            IndexError: there is none.
        """
        return self._messages.popleft()

    def resize(self, most: int) -> None:
        """For so many; where there are more, the oldest give way."""
        self.dropped += max(0, len(self._messages) - most)
        self._messages = deque(self._messages, maxlen=most)
