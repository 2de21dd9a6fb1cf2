"""STAMP's packets in unauthenticated mode (RFC 8762 §4.2.1, §4.3.1), with the Class of Service TLV (RFC 8972 §4.4). Pure.

Times are nanoseconds since 1970 in UTC. On the wire they are NTP's: seconds since 1900 and 32 bits of a second, which
begin again in 2036; `near_ns` says by an instant nearby which second is meant.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

PORT = 862
#: The least that a packet has, in both directions (RFC 8762 §4.2.1).
BASE_BYTES = 44
NANOSECONDS = 1_000_000_000
#: From 1900 to 1970.
_NTP_EPOCH_S = 2_208_988_800
_ERA_NS = (1 << 32) * NANOSECONDS
_SENDER = struct.Struct("!IQHH28x")
_REFLECTOR = struct.Struct("!IQHHQIQHHB3x")
#: Flags, type, length; then the code point to answer with, the one that arrived, ECN and "reverse path" in one word.
_CLASS = struct.Struct("!BBHHxx")
_UNRECOGNIZED, _MALFORMED, _CLASS_OF_SERVICE, _PADDING = 0x80, 0x40, 4, 1


class NoStamp(ValueError):
    """What arrived is no packet of STAMP's."""


@dataclass(frozen=True, slots=True)
class ErrorEstimate:
    """What a clock may be off by, and whether anything keeps it right (RFC 4656 §4.1.2).

    Attributes:
        error_ns: at least 1.
    """

    error_ns: int
    is_synchronized: bool


@dataclass(frozen=True, slots=True)
class SenderPacket:
    """
    Attributes:
        session: the STAMP session identifier (RFC 8972 §3). dscp: the code point to travel by, in both directions.
    """

    sequence: int
    sent_ns: int
    clock: ErrorEstimate
    session: int
    dscp: int


@dataclass(frozen=True, slots=True)
class ReflectorPacket:
    """
    Attributes:
        sequence, sent_ns, clock: the reflector's own. received_ns: when the sender's packet arrived.
        sender: what the reflector says of it. arrived_dscp: the code point that it arrived with; None where it says none.
        ttl: with which it arrived.
    """

    sequence: int
    sent_ns: int
    clock: ErrorEstimate
    received_ns: int
    sender: SenderPacket
    arrived_dscp: int | None
    ttl: int


def sender_bytes(packet: SenderPacket, length: int = 0) -> bytes:
    """`length`: of the UDP payload at least, by an extra padding TLV (RFC 8972 §4.1)."""
    base = _SENDER.pack(
        packet.sequence % (1 << 32), ntp_of(packet.sent_ns), estimate_word(packet.clock), packet.session
    )
    padding = length - BASE_BYTES - _CLASS.size - 4
    filled = struct.pack("!BBH", _UNRECOGNIZED, _PADDING, padding) + bytes(padding) if padding >= 0 else b""
    return base + _CLASS.pack(_UNRECOGNIZED, _CLASS_OF_SERVICE, 4, packet.dscp << 10) + filled


def read_sender(data: bytes, near_ns: int) -> SenderPacket:
    """`dscp` is 0 where no class is asked for.

    Raises:
        NoStamp.
    """
    if len(data) < BASE_BYTES:
        raise NoStamp(f"{len(data)} bytes are fewer than {BASE_BYTES}")
    sequence, sent, word, session = _SENDER.unpack_from(data)
    request = _class_of(data)
    return SenderPacket(sequence, near(sent, near_ns), estimate_of(word), session, request >> 10 if request else 0)


def reflector_bytes(
    sequence: int, sent_ns: int, clock: ErrorEstimate, received_ns: int, arrived: bytes, arrived_dscp: int, ttl: int
) -> bytes:
    """The answer to a packet that `read_sender` took: as long as it, with its TLVs."""
    of_sender = _SENDER.unpack_from(arrived)
    base = _REFLECTOR.pack(
        sequence % (1 << 32), ntp_of(sent_ns), estimate_word(clock), of_sender[3], ntp_of(received_ns), of_sender[0],
        of_sender[1], of_sender[2], 0, ttl,
    )  # fmt: skip
    return base + _answered(arrived, arrived_dscp)


def read_reflector(data: bytes, near_ns: int) -> ReflectorPacket:
    """
    Raises:
        NoStamp.
    """
    if len(data) < BASE_BYTES:
        raise NoStamp(f"{len(data)} bytes are fewer than {BASE_BYTES}")
    sequence, sent, word, session, received, sequence_sent, sent_there, sender_word, _, ttl = _REFLECTOR.unpack_from(
        data
    )
    answered = _class_of(data, understood=True)
    sender = SenderPacket(
        sequence_sent, near(sent_there, near_ns), estimate_of(sender_word), session, answered >> 10 if answered else 0
    )
    arrived_dscp = answered >> 4 & 63 if answered is not None else None
    return ReflectorPacket(
        sequence, near(sent, near_ns), estimate_of(word), near(received, near_ns), sender, arrived_dscp, ttl
    )


def ntp_of(at_ns: int) -> int:
    """64 bits of NTP's timestamp, rounded down."""
    seconds, rest_ns = divmod(at_ns, NANOSECONDS)
    return (seconds + _NTP_EPOCH_S) % (1 << 32) << 32 | (rest_ns << 32) // NANOSECONDS


def near(ntp: int, near_ns: int) -> int:
    """The instant of a timestamp, in the era in which it is nearest to another; rounded up, as `ntp_of` rounds down."""
    at_ns = ((ntp >> 32) - _NTP_EPOCH_S) * NANOSECONDS - (-((ntp & 0xFFFFFFFF) * NANOSECONDS) >> 32)
    return at_ns + _ERA_NS * round((near_ns - at_ns) / _ERA_NS)


def estimate_word(clock: ErrorEstimate) -> int:
    """S, Z for NTP's format, scale and multiplier; never less than the error."""
    units, scale = -(-(clock.error_ns << 32) // NANOSECONDS), 0
    while units > 255 and scale < 63:
        units, scale = -(-units // 2), scale + 1
    return clock.is_synchronized << 15 | scale << 8 | min(max(units, 1), 255)


def estimate_of(word: int) -> ErrorEstimate:
    """A multiplier of 0 is no estimate (RFC 4656 §4.1.2): such a clock is as good as none."""
    scale, multiplier = word >> 8 & 63, word & 255
    error_ns = -(-(multiplier << scale) * NANOSECONDS >> 32)
    return ErrorEstimate(max(error_ns, 1), bool(word >> 15) and multiplier > 0)


def _tlvs(data: bytes) -> list[tuple[int, int, int, int]]:
    """Of each whole TLV: where it begins, its flags, its type and its length."""
    parts, at = [], BASE_BYTES
    while at + 4 <= len(data):
        flags, kind, length = struct.unpack_from("!BBH", data, at)
        if at + 4 + length > len(data):
            break
        parts.append((at, flags, kind, length))
        at += 4 + length
    return parts


def _class_of(data: bytes, *, understood: bool = False) -> int | None:
    """The first 16 bits of the Class of Service TLV; None where there is none, or its reader did not understand it."""
    for at, flags, kind, length in _tlvs(data):
        if kind == _CLASS_OF_SERVICE and length >= 4 and not (understood and flags & (_UNRECOGNIZED | _MALFORMED)):
            return int(struct.unpack_from("!H", data, at + 4)[0])
    return None


def _answered(arrived: bytes, dscp: int) -> bytes:
    """The sender's TLVs: the class with the code point that arrived, padding as it is, all others not recognized."""
    answer = bytearray(arrived[BASE_BYTES:])
    for at, flags, kind, length in _tlvs(arrived):
        at -= BASE_BYTES
        if kind == _CLASS_OF_SERVICE and length >= 4:
            word = struct.unpack_from("!H", answer, at + 4)[0]
            struct.pack_into("!H", answer, at + 4, word & ~(63 << 4) | dscp << 4)
        understands = kind == _PADDING or (kind == _CLASS_OF_SERVICE and length >= 4)
        answer[at] = flags & ~_UNRECOGNIZED if understands else flags | _UNRECOGNIZED
    return bytes(answer)
