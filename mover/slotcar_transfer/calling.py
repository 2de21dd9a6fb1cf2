"""Connections to an end that serves: the first one of a session, and those for blocks."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from slotcar_transfer import PROTOCOL
from slotcar_transfer.errors import Broken, OtherVersion, TransferError
from slotcar_transfer.identity import Identity, Peer
from slotcar_transfer.lanes import Steering, wanted_lanes
from slotcar_transfer.tcp import BASE, mark
from slotcar_transfer.threads import Threads
from slotcar_transfer.wire import Channel

CONNECT_S = 20.0
#: A connection that broke is made again after so long, as long as the session lives.
AGAIN_S = 0.5


def program_version() -> str:
    try:
        return version("slotcar-transfer")
    except PackageNotFoundError:
        return "unknown"


def program() -> str:
    """What this end is, for who hears of it: name and version."""
    return f"slotcar-transfer {program_version()}"


def hello(**keys: Any) -> dict[str, Any]:
    return {"protocol": PROTOCOL, "version": program_version(), **keys}


def check_version(message: dict[str, Any], peer: str) -> None:
    """
    Raises:
        OtherVersion: it is not this one.
    """
    if message.get("protocol") != PROTOCOL:
        raise OtherVersion(
            f"{peer} speaks version {message.get('protocol')} of the transfer protocol (slotcar-transfer"
            f" {message.get('version', 'of unknown version')}), this end {PROTOCOL} (slotcar-transfer {program_version()});"
            " install the same at both ends"
        )


@dataclass(frozen=True)
class Caller:
    """Connects to one peer.

    Raises (every method):
        Broken: it does not answer. WrongPeer: somebody else does. TransferError: what it says instead.
    """

    identity: Identity
    peer: Peer

    def call(self, port: int | None = None, dscp: int | None = None, **keys: Any) -> tuple[Channel, dict[str, Any]]:
        """A connection with its greeting said and answered.

        Args:
            port: of this end, where it is bound. dscp: the code point from the first packet on.
        """
        channel = self.identity.connect(self.peer, self._connected(port, dscp))
        try:
            channel.send_message(hello(**keys))
            answer = channel.receive_message()
            check_version(answer, self.peer.name)
        except BaseException:
            channel.close()
            raise
        return channel, answer

    def ask(self, **keys: Any) -> dict[str, Any]:
        channel, answer = self.call(**keys)
        channel.close()
        return answer

    def _connected(self, port: int | None, dscp: int | None) -> socket.socket:
        where = f"{self.peer.name} at {self.peer.address}:{self.peer.port}"
        try:
            family, kind, protocol, _, place = socket.getaddrinfo(
                self.peer.address, self.peer.port, type=socket.SOCK_STREAM
            )[0]
            connection = socket.socket(family, kind, protocol)
        except OSError as error:
            raise Broken(f"{where} is not found: {error.strerror}") from error
        try:
            connection.settimeout(CONNECT_S)
            if dscp is not None:
                mark(connection, dscp)
            if port is not None:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                connection.bind(("", port))
            connection.connect(place)
        except OSError as error:
            connection.close()
            raise Broken(f"{where} does not answer: {error.strerror or error}") from error
        return connection


def free_port() -> int:
    """A port of this host that nobody has now."""
    with socket.socket() as trial:
        trial.bind(("", 0))
        port: int = trial.getsockname()[1]
        return port


class Keeper:
    """Opens the connections for blocks of a session, and opens them again when they break."""

    def __init__(
        self, caller: Caller, session: str, base_port: int | None, steering: Steering,
        attach: Callable[[str, Channel], None], fail: Callable[[BaseException], None],
        announce: Callable[[Channel], None] = lambda _channel: None,
    ) -> None:  # fmt: skip
        self._caller, self._session, self._base_port, self._steering = caller, session, base_port, steering
        self._attach, self._fail, self._announce = attach, fail, announce
        self._over = threading.Event()
        self._threads = Threads()

    def open(self) -> None:
        for lane in wanted_lanes(self._steering):
            self.lost(lane, 0)

    def lost(self, lane: str, after_s: float = AGAIN_S) -> None:
        self._threads.start(lambda: self._make(lane, after_s), f"open-{lane}")

    def close(self) -> None:
        self._over.set()
        self._threads.join()

    def _make(self, lane: str, after_s: float) -> None:
        port = self._base_port if lane == BASE and self._steering.profile is not None else None
        while not self._over.wait(after_s):
            try:
                channel, _ = self._caller.call(
                    port, self._steering.dscps.get(lane), verb="data", session=self._session, lane=lane
                )
            except Broken:
                after_s = AGAIN_S
                continue
            except TransferError as error:
                with suppress(Exception):
                    self._fail(error)
                return
            self._announce(channel)
            self._attach(lane, channel)
            return
