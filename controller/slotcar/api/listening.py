"""The sockets that the API listens on, bound before anything else is begun: a port that is used is found at once."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from slotcar.base.problems import SlotcarError


class CannotListen(SlotcarError):
    """The address cannot be listened on."""


class PortInUse(CannotListen):
    """Another program listens there."""


@contextmanager
def bound(host: str, port: int, instead: str = "another --port") -> Iterator[list[socket.socket]]:
    """A socket for each address of `host` (`localhost` has two), as long as the `with` lasts.

    Raises:
        CannotListen, PortInUse.
    """
    with ExitStack() as stack:
        with _refused(host, port, instead):
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            sockets = [stack.enter_context(_bound(family, address)) for family, *_, address in dict.fromkeys(infos)]
        yield sockets


@contextmanager
def bound_for_datagrams(host: str, port: int) -> Iterator[socket.socket]:
    """A UDP socket, as long as the `with` lasts.

    Raises:
        CannotListen, PortInUse.
    """
    with ExitStack() as stack:
        with _refused(host, port, "another SLOTCAR_SYSLOG_LISTEN"):
            family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM, flags=socket.AI_PASSIVE)[0]
            listener = stack.enter_context(socket.socket(family, socket.SOCK_DGRAM))
            listener.bind(address)
        yield listener


def listen(sockets: Sequence[socket.socket], backlog: int) -> None:
    """Connections wait from here on. Two programs that both are bound and do not listen yet find each other here.

    Raises:
        PortInUse.
    """
    for one in sockets:
        host, port = one.getsockname()[:2]
        with _refused(host, port):
            one.listen(backlog)


def _bound(family: int, address: tuple[object, ...]) -> socket.socket:
    # With its protocol said: asyncio sets TCP_NODELAY on connections of such sockets alone. Without it the second part of
    # an answer on a kept connection waits for the acknowledgement of the first, which clients' kernels put off by 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


@contextmanager
def _refused(host: str, port: int, instead: str = "another --port") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if error.errno == errno.EADDRINUSE:
            raise PortInUse(
                f"another program listens on {where} already: another `slotcar serve`? Stop it, or say {instead}"
            ) from error
        words = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise CannotListen(f"cannot listen on {where}: {words}") from error
