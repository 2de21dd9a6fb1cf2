"""Sockets with a vector's settings, read back; and the first words of two ends on UDP."""

from __future__ import annotations

import errno
import socket
import struct
import time
from collections.abc import Iterable
from contextlib import suppress

from slotcar_client.vectors.framing import HELLO, WELCOME
from slotcar_client.vectors.mapping import NotPossible, Settings, Transport, choose, transports
from slotcar_client.vectors.vector import Vector

Address = tuple[str, int]
#: linux/socket.h, linux/in.h: Python's module has not all of them.
SO_NO_CHECK, SO_MAX_PACING_RATE, IP_MTU_DISCOVER, PMTUDISC_DO = 11, 47, 10, 2
CONNECT_S = 10.0
#: Between two tries to be heard on UDP, of which any datagram may be lost.
HELLO_S = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
#: An end that does not know the transport: its kernel, or a router before it.
_NOT_THERE = (errno.ECONNREFUSED, errno.EPROTONOSUPPORT, errno.ENOPROTOOPT, errno.EHOSTUNREACH, errno.ESOCKTNOSUPPORT)


def unbound(transport: Transport) -> socket.socket:
    """
    Raises:
        OSError: this host has no such transport.
    """
    if transport is Transport.UDP:
        return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    number = socket.IPPROTO_SCTP if transport is Transport.SCTP else socket.IPPROTO_TCP
    return socket.socket(socket.AF_INET, socket.SOCK_STREAM, number)


def available(candidates: Iterable[Transport] = tuple(Transport)) -> frozenset[Transport]:
    """Those of the transports that this host's kernel has. It may load a module to find out, which takes its time."""
    transports_here = set()
    for transport in candidates:
        with suppress(OSError):
            unbound(transport).close()
            transports_here.add(transport)
    return frozenset(transports_here)


def prepare(opened: socket.socket, settings: Settings, transport: Transport) -> None:
    """Sets what is to hold from the first packet on, and reads it back: buffers decide TCP's window when it begins.

    Raises:
        NotPossible: this host does not give it.
    """
    set_buffers(opened, settings)
    set_priority(opened, settings)
    if transport is Transport.UDP:
        opened.setsockopt(socket.SOL_SOCKET, SO_NO_CHECK, int(not settings.checksum))
        # Routers know a flow by its ports, which only the first fragment has.
        opened.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, PMTUDISC_DO)
    elif transport is Transport.TCP:
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(settings.framed))
        set_pace(opened, settings)


def set_buffers(opened: socket.socket, settings: Settings) -> None:
    """
    Raises:
        NotPossible: the host's limit is lower.
    """
    for option, size, field, limit in (
        (socket.SO_SNDBUF, settings.send_buffer_bytes, "max_data_t", "net.core.wmem_max"),
        (socket.SO_RCVBUF, settings.receive_buffer_bytes, "max_data_r", "net.core.rmem_max"),
    ):
        if not size:
            continue
        opened.setsockopt(socket.SOL_SOCKET, option, min(size, 2**31 - 1))
        # The kernel takes twice what is asked for: the other half is for its own bookkeeping.
        given = opened.getsockopt(socket.SOL_SOCKET, option) // 2
        if given < size:
            raise NotPossible(
                f"max_alloc times {field} is a buffer of {size} bytes, and this host gives {given}: ask for fewer messages,"
                f" or have {limit} raised"
            )


def set_priority(opened: socket.socket, settings: Settings) -> None:
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, settings.priority)


def set_pace(opened: socket.socket, settings: Settings) -> None:
    """The kernel paces TCP by itself (Linux 4.13 and later)."""
    rate = 2**64 - 1 if settings.pace_bytes_ps is None else settings.pace_bytes_ps
    opened.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, struct.pack("Q", rate))


def reached(
    vector: Vector, to: Address, settings_of: dict[Transport, Settings], theirs: Iterable[Transport] | None
) -> tuple[Transport, socket.socket]:
    """The first transport of the vector's that both ends have, connected with its settings.

    Args:
        theirs: what the other end has, where that is known; else it is tried.

    Raises:
        NotPossible: none; says why for each.
    """
    those = None if theirs is None else frozenset(theirs)
    ours = available(one for one in transports(vector) if those is None or one in those)
    choose(vector, ours, ours if those is None else those)
    reasons = []
    for transport in transports(vector):
        if transport not in ours:
            other = those is not None and transport not in those
            reasons.append(f"{transport.value}: {'the other' if other else 'this'} host has it not")
            continue
        opened = unbound(transport)
        try:
            prepare(opened, settings_of[transport], transport)
            _connect(opened, to, transport)
            return transport, opened
        except OSError as error:
            opened.close()
            reasons.append(f"{transport.value}: {_reason(error)}")
            if error.errno not in _NOT_THERE:
                break
        except NotPossible:
            opened.close()
            raise
    raise NotPossible(f"{to[0]}:{to[1]} is not reached: {'; '.join(reasons)}")


def _connect(opened: socket.socket, to: Address, transport: Transport) -> None:
    opened.settimeout(CONNECT_S)
    opened.connect(to)
    if transport is Transport.UDP:
        _greet(opened)
    opened.settimeout(None)


def _greet(opened: socket.socket) -> None:
    """
    Raises:
        OSError: nobody answers.
    """
    for wait_s in HELLO_S:
        opened.send(HELLO)
        ends_s = time.monotonic() + wait_s
        while (left_s := ends_s - time.monotonic()) > 0:
            opened.settimeout(left_s)
            with suppress(TimeoutError):
                if opened.recv(len(WELCOME) + 1, socket.MSG_PEEK)[: len(WELCOME)] == WELCOME:
                    opened.recv(len(WELCOME))
                    return
                # It sends already: its welcome was lost, or comes later.
                return
    raise TimeoutError(errno.ETIMEDOUT, "nobody answers there")


def _reason(error: OSError) -> str:
    return error.strerror or str(error) or "no answer in time"
