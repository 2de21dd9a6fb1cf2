"""The end of a connection that waits for the other one."""

from __future__ import annotations

import select
import socket
import time
from types import TracebackType
from typing import Self

from slotcar_client.vectors import framing, sockets
from slotcar_client.vectors.connection import Connection
from slotcar_client.vectors.mapping import MTU_BYTES, Transport, choose, settings, transports
from slotcar_client.vectors.vector import Vector


class Listener:
    """Waits for the other end of a vector's connection, on each transport that does and this host has.

    Raises:
        NotPossible: this host has none of them, or does not give what the vector asks for.
    """

    def __init__(self, vector: Vector, at: sockets.Address, *, mtu_bytes: int = MTU_BYTES) -> None:
        ours = sockets.available(transports(vector))
        choose(vector, ours, ours)
        self.vector = vector
        self._mtu_bytes = mtu_bytes
        self._waiting: dict[Transport, socket.socket] = {}
        port = at[1]
        try:
            for transport in [one for one in transports(vector) if one in ours]:
                self._waiting[transport] = opened = sockets.unbound(transport)
                sockets.prepare(opened, settings(vector, transport, mtu_bytes), transport)
                opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                opened.bind((at[0], port))
                port = opened.getsockname()[1]
                if transport is not Transport.UDP:
                    opened.listen()
        except BaseException:
            self.close()
            raise

    @property
    def address(self) -> sockets.Address:
        """Host and port."""
        host, port = next(iter(self._waiting.values())).getsockname()
        return host, port

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def accept(self, timeout_s: float | None = None) -> Connection:
        """The next connection; on UDP there is one for each listener.

        Raises:
            TimeoutError: nobody came.
        """
        ends_s = None if timeout_s is None else time.monotonic() + timeout_s
        while True:
            left_s = None if ends_s is None else max(0.0, ends_s - time.monotonic())
            readable, _, _ = select.select(list(self._waiting.values()), [], [], left_s)
            if not readable:
                raise TimeoutError("nobody came in time")
            transport = next(one for one, opened in self._waiting.items() if opened is readable[0])
            connected = self._accepted(transport, readable[0])
            if connected is not None:
                return Connection(connected, self.vector, transport, mtu_bytes=self._mtu_bytes)

    def _accepted(self, transport: Transport, waiting: socket.socket) -> socket.socket | None:
        chosen = settings(self.vector, transport, self._mtu_bytes)
        if transport is not Transport.UDP:
            connected, _ = waiting.accept()
            sockets.prepare(connected, chosen, transport)
            return connected
        datagram, peer = waiting.recvfrom(65_535)
        if datagram != framing.HELLO:
            return None
        waiting.connect(peer)
        waiting.send(framing.WELCOME)
        del self._waiting[transport]
        return waiting

    def close(self) -> None:
        for opened in self._waiting.values():
            opened.close()
