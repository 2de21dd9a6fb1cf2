"""Datagrams with what the kernel knows of them: when they arrived, by which code point and TTL."""

from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass
from typing import Any

#: Of linux/in.h and asm/socket.h; Python 3.11 has no names for them.
_IP_RECVTTL, _SO_TIMESTAMPNS = 12, 35
_TIMESPEC = struct.Struct("@ll")
LONGEST_BYTES = 65_535


@dataclass(frozen=True, slots=True)
class Arrived:
    """
    Attributes:
        sender: its address, as `sendto` takes it.
        received_ns: by the kernel's stamp; nanoseconds since 1970.
    """

    data: bytes
    sender: Any
    received_ns: int
    dscp: int
    ttl: int


def stamping_socket(port: int = 0, address: str = "") -> socket.socket:
    """A socket of IPv4 that stamps what arrives.

    Raises:
        OSError: the port is another program's, or below 1024 and this one may not have it.
    """
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        opened.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        opened.setsockopt(socket.IPPROTO_IP, _IP_RECVTTL, 1)
        opened.setsockopt(socket.IPPROTO_IP, socket.IP_TTL, 255)
        opened.bind((address, port))
    except OSError:
        opened.close()
        raise
    return opened


def set_dscp(opened: socket.socket, dscp: int) -> None:
    """What leaves by the socket from now on has this code point."""
    opened.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)


def arrived_on(opened: socket.socket) -> Arrived:
    """The next datagram.

    Raises:
        OSError: BlockingIOError where nothing has arrived.
    """
    data, notes, _, sender = opened.recvmsg(LONGEST_BYTES, 256)
    received_ns, dscp, ttl = time.time_ns(), 0, 0
    for level, kind, value in notes:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
            seconds, rest_ns = _TIMESPEC.unpack(value[: _TIMESPEC.size])
            received_ns = seconds * 1_000_000_000 + rest_ns
        elif (level, kind) == (socket.IPPROTO_IP, socket.IP_TOS):
            dscp = value[0] >> 2
        elif (level, kind) == (socket.IPPROTO_IP, socket.IP_TTL):
            (ttl,) = struct.unpack_from("=i", value)
    return Arrived(data, sender, received_ns, dscp, ttl)
