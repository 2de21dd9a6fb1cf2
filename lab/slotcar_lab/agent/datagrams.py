"""Datagrams in batches, and the sockets that send and receive them. Standard library only: traffic.py takes it along."""

from __future__ import annotations

import ctypes
import socket
import struct
from typing import Any

#: Packets in one system call. Under emulation a call costs more than a packet, so Python's own send is too slow.
BATCH = 128
SEQUENCE = struct.Struct("!Q")
SOL_UDP, UDP_SEGMENT = 17, 103
SO_MAX_PACING_RATE = 47
#: The kernel may send so much faster than the rate, to make up for a turn that came late.
HEADROOM = 1.25
#: UDP, IP and Ethernet headers, which the pace counts.
HEADER_BYTES = 42
SKB_BYTES = 1_300
#: The hosts' queues pace this priority (lab/slotcar_lab/plan.py).
PACED_PRIORITY = 1


class IoVec(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class MsgHdr(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_void_p),
        ("name_length", ctypes.c_uint32),
        ("vectors", ctypes.POINTER(IoVec)),
        ("vector_count", ctypes.c_size_t),
        ("control", ctypes.c_void_p),
        ("control_length", ctypes.c_size_t),
        ("flags", ctypes.c_int),
    )


class MMsgHdr(ctypes.Structure):
    _fields_ = (("header", MsgHdr), ("length", ctypes.c_uint))


class Batch:
    """`BATCH` datagrams of one size in one buffer, for sendmmsg(2) and recvmmsg(2).

    `together` of them make one message, which a socket with UDP_SEGMENT cuts up again.
    """

    def __init__(self, payload_bytes: int, together: int = 1) -> None:
        self.payload_bytes = payload_bytes
        self.together = together
        self.buffer = bytearray(payload_bytes * BATCH)
        self._pinned = (ctypes.c_char * len(self.buffer)).from_buffer(self.buffer)
        base, octets, messages = ctypes.addressof(self._pinned), payload_bytes * together, BATCH // together
        self._vectors = (IoVec * messages)(*(IoVec(base + n * octets, octets) for n in range(messages)))
        self._messages = (MMsgHdr * messages)()
        for message, vector in zip(self._messages, self._vectors, strict=True):
            message.header.vectors = ctypes.pointer(vector)
            message.header.vector_count = 1
        self._libc = ctypes.CDLL(None, use_errno=True)

    def send(self, connected: socket.socket, count: int) -> int:
        """Send the first `count` datagrams, a multiple of `together`; returns how many went."""
        messages = count // self.together
        return self.together * self._done(self._libc.sendmmsg(connected.fileno(), self._messages, messages, 0))

    def receive(self, bound: socket.socket) -> int:
        """Take what is waiting, at most `BATCH` datagrams; returns how many."""
        return self._done(self._libc.recvmmsg(bound.fileno(), self._messages, BATCH, socket.MSG_DONTWAIT, None))

    def stamp(self, number: int, sequence: int) -> None:
        SEQUENCE.pack_into(self.buffer, number * self.payload_bytes, sequence)

    def stamped(self, number: int) -> int:
        return int(SEQUENCE.unpack_from(self.buffer, number * self.payload_bytes)[0])

    @staticmethod
    def _done(result: int) -> int:
        # ECONNREFUSED comes back from a receiver that is gone, ENOBUFS from a full device queue: neither ends the flow.
        return max(result, 0)


class PacedSocket:
    """A socket whose datagrams the kernel spaces. Nobody can raise a socket's pace, so for a higher one there is another
    socket; what waits in the one before still leaves at its pace."""

    def __init__(self, spec: dict[str, Any], queued: int, together: int) -> None:
        self._spec, self._queued, self._together = spec, queued, together
        self._packets_ps = 0.0
        self.connected = self._new_socket()

    def __enter__(self) -> PacedSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.connected.close()

    def set(self, packets_ps: float) -> None:
        if packets_ps == self._packets_ps:
            return
        if 0 < self._packets_ps < packets_ps:
            self.connected.close()
            self.connected = self._new_socket()
        self._packets_ps = packets_ps
        pace_bytes_ps = max(1, int(HEADROOM * packets_ps * (self._spec["payload_bytes"] + HEADER_BYTES)))
        self.connected.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, pace_bytes_ps)

    def _new_socket(self) -> socket.socket:
        sender, payload_bytes = udp_socket(self._spec), self._spec["payload_bytes"]
        if self._together > 1:
            sender.setsockopt(SOL_UDP, UDP_SEGMENT, payload_bytes)
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, PACED_PRIORITY)
        # The kernel doubles what it is told, and counts its own bookkeeping with each packet.
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self._queued * (payload_bytes + SKB_BYTES) // 2)
        sender.connect((self._spec["address"], self._spec["port"]))
        return sender


def udp_socket(spec: dict[str, Any]) -> socket.socket:
    end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    end.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, spec["dscp"] << 2)
    return end


def overflowed(port: int) -> int:
    """Datagrams that arrived and found the receiver's buffer full: the receiver's own loss, not the network's."""
    with open("/proc/net/udp") as table:  # noqa: PTH123 - pathlib costs a quarter of a second to import under emulation
        rows = [line.split() for line in table.readlines()[1:]]
    return sum(int(row[-1]) for row in rows if row[1].endswith(f":{port:04X}"))
