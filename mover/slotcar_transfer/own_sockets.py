"""This host's connections by inet_diag, which needs no root for reading, and the buffers of one's own while they run."""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path

from slotcar_transfer.errors import TransferError
from slotcar_transfer.tcp_state import TcpState, state_of

#: linux/tcp_states.h: established, and closing with something still to be sent.
_STATES = 1 << 1 | 1 << 4 | 1 << 8
#: All of inet_diag's extensions: memory, TCP_INFO, congestion control, type of service.
_EXTENSIONS = 0xFF
#: asm-generic/unistd.h; the same on every architecture since Linux 5.6.
_PIDFD_GETFD = 438


def connections() -> list[TcpState]:
    """All TCP connections of this network namespace.

    Raises:
        TransferError: the kernel has no inet_diag.
    """
    from pyroute2 import DiagSocket
    from pyroute2.netlink.exceptions import NetlinkError

    states: list[TcpState] = []
    try:
        with DiagSocket() as diag:
            diag.bind()
            for family in (socket.AF_INET, socket.AF_INET6):
                with suppress(NetlinkError):  # a kernel without IPv6
                    messages = diag.get_sock_stats(states=_STATES, family=family, extensions=_EXTENSIONS)
                    states += [one for message in messages if (one := state_of(message)) is not None]
    except OSError as error:
        raise TransferError(f"this kernel tells nothing of its connections: {error}") from error
    return states


class Buffer(Enum):
    """A buffer of a socket, by the option that sets it; and what limits it, of the host."""

    SEND = (socket.SO_SNDBUF, "net.core.wmem_max")
    RECEIVE = (socket.SO_RCVBUF, "net.core.rmem_max")

    @property
    def limit(self) -> str:
        return self.value[1]


def set_buffer(state: TcpState, buffer: Buffer, size_bytes: int) -> int:
    """Gives a running connection another buffer; what it has now, which is at most the host's limit.

    A receive buffer that was set is no longer tuned by the kernel, and its window grows as far as the scale that the ends
    agreed on when they connected (RFC 7323 §2).

    Raises:
        TransferError: no process of this user holds it, or the kernel lets none of its descriptors be taken.
    """
    with _taken(state) as connection:
        option, _ = buffer.value
        connection.setsockopt(socket.SOL_SOCKET, option, size_bytes)
        return connection.getsockopt(socket.SOL_SOCKET, option) // 2


@contextmanager
def _taken(state: TcpState) -> Iterator[socket.socket]:
    """A descriptor of one's own for a socket of another process."""
    place = _holder(state.inode)
    if place is None:
        raise TransferError(f"no process that you may look into holds {state.local}:{state.local_port}")
    process, number = place
    pidfd = os.pidfd_open(process)
    try:
        descriptor = ctypes.CDLL(None, use_errno=True).syscall(_PIDFD_GETFD, pidfd, number, 0)
    finally:
        os.close(pidfd)
    if descriptor < 0:
        reason = os.strerror(ctypes.get_errno())
        raise TransferError(f"the connection of process {process} cannot be set: {reason} (kernel.yama.ptrace_scope)")
    with socket.socket(fileno=descriptor) as connection:
        yield connection


def _holder(inode: int) -> tuple[int, int] | None:
    """A process and its descriptor of a socket, among those that this user may look into."""
    for folder in Path("/proc").glob("[0-9]*/fd"):
        with suppress(OSError):
            for link in folder.iterdir():
                with suppress(OSError):
                    if link.readlink().name == f"socket:[{inode}]":
                        return int(folder.parent.name), int(link.name)
    return None
