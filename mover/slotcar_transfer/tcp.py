"""The sender's side of TCP, as far as a program may set it without privileges: mark, pace, buffers, TCP_INFO."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

#: linux/socket.h, linux/tcp.h: Python's module has not all of them.
SO_MAX_PACING_RATE = 47
TCP_INFO = 11
TCP_NOTSENT_LOWAT = 25
UNLIMITED = (1 << 32) - 1
#: The kernel halves SO_SNDBUF between data and its own bookkeeping: it takes twice what is asked for.
SMALLEST_BUFFER_BYTES, LARGEST_BUFFER_BYTES = 64 << 10, 64 << 20
#: TCP and IPv4 headers without options, as admission counts them (GARA §5.1).
COUNTED_HEADERS_BYTES = 40
_INFO = struct.Struct("8B24I4Q6I4Q2IQ")


class Lane(NamedTuple):
    """One of the two connections (NICT): `base` is reserved and in profile, `additional` takes what is free."""

    name: str
    dscp: int


BASE, ADDITIONAL = "base", "additional"


@dataclass(frozen=True, slots=True)
class TcpInfo:
    """Of `struct tcp_info`; times in microseconds, the window in segments.

    `sent_bytes`: with what was sent again; 0 of a kernel before 4.19, which does not count it.
    """

    rtt_us: int
    rtt_variation_us: int
    segment_bytes: int
    window_segments: int
    unacknowledged_segments: int
    retransmitted_segments: int
    acknowledged_bytes: int
    received_bytes: int
    sent_bytes: int


def info(connection: socket.socket) -> TcpInfo:
    """
    Raises:
        OSError: the connection is closed.
    """
    raw = connection.getsockopt(socket.IPPROTO_TCP, TCP_INFO, _INFO.size)
    numbers = _INFO.unpack(raw.ljust(_INFO.size, b"\0"))[8:]
    return TcpInfo(
        rtt_us=numbers[15], rtt_variation_us=numbers[16], segment_bytes=numbers[2], window_segments=numbers[18],
        unacknowledged_segments=numbers[4], retransmitted_segments=numbers[23], acknowledged_bytes=numbers[26],
        received_bytes=numbers[27], sent_bytes=numbers[40],
    )  # fmt: skip


def mark(connection: socket.socket, dscp: int) -> None:
    """The code point of what is sent. Linux lets every program set one (RFC 2474's field; ECN is the kernel's)."""
    if connection.family == socket.AF_INET6:
        connection.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, dscp << 2)
    else:
        connection.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)


def pace(connection: socket.socket, payload_bps: int | None) -> None:
    """No more than that, bits per second of TCP's payload; None for no limit. It holds for what is sent from now on.

    The kernel paces by itself (Linux 4.13 and later); with the `fq` scheduler on the interface it does so more evenly.
    """
    bytes_ps = UNLIMITED if payload_bps is None else max(1, min(UNLIMITED - 1, payload_bps // 8))
    connection.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("I", bytes_ps))


def pacing_rate(connection: socket.socket) -> int:
    """Bytes per second, as the kernel took it."""
    raw = connection.getsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 8)
    return int.from_bytes(raw, "little")


def buffer(connection: socket.socket, size_bytes: int) -> None:
    """How much may be on the way and waiting (bandwidth times delay)."""
    size = max(SMALLEST_BUFFER_BYTES, min(LARGEST_BUFFER_BYTES, size_bytes))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, size)


def congestion_control(connection: socket.socket, name: str) -> bool:
    """Whether the kernel has it and lets this user choose it."""
    with suppress(OSError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        return True
    return False


def payload_of_committed(rate_bps: int, packet_bytes: int, segment_bytes: int) -> int:
    """What TCP may send of payload so that its packets are within a reserved payload rate.

    Admission counts 40 bytes of headers for each packet of `packet_bytes`; TCP's options (timestamps) take from the
    payload of a segment, and short segments have more headers. Rounded down.
    """
    if segment_bytes <= 0:
        return rate_bps
    counted = packet_bytes - COUNTED_HEADERS_BYTES
    # The committed rate of IP packets, times this connection's share of payload in its packets.
    options = max(0, counted - segment_bytes) if counted - segment_bytes <= COUNTED_HEADERS_BYTES else 12
    return rate_bps * packet_bytes * segment_bytes // (counted * (segment_bytes + COUNTED_HEADERS_BYTES + options))
