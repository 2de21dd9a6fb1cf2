"""SciTags: a transfer's connections are announced by UDP, so that who carries them knows whose they are.

Format: version 1 of the firefly in the SciTags technical specification, JSON behind a syslog header (RFC 5424). It is sent
when a connection for blocks begins and when it ends, to the other end's address, which routers on the way can copy, and to
collectors that the user names. Nothing depends on it: what cannot be sent is not.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

from slotcar_transfer import tcp
from slotcar_transfer.errors import TransferError
from slotcar_transfer.places import host_and_port

PORT = 10514
#: Facility local0, severity informational; version 1 of the syslog protocol.
PRIORITY = "<134>1"
#: As their packet marking has room for: 9 bits and 6 bits, 0 is nobody.
MOST_EXPERIMENT, MOST_ACTIVITY = 511, 63


@dataclass(frozen=True, slots=True)
class SciTag:
    """Numbers of the registry of SciTags: the experiment, and what it does."""

    experiment: int
    activity: int

    @property
    def header(self) -> str:
        """What an HTTP server is told (`SciTag`), which then marks and announces what it sends."""
        return str(self.experiment << 6 | self.activity)


def scitag_of(text: str) -> SciTag:
    """`2:11`.

    Raises:
        TransferError: it is no such pair.
    """
    match = re.fullmatch(r"(\d{1,3}):(\d{1,2})", text)
    tag = SciTag(int(match[1]), int(match[2])) if match else SciTag(0, 0)
    if not (0 < tag.experiment <= MOST_EXPERIMENT and 0 < tag.activity <= MOST_ACTIVITY):
        raise TransferError(
            f"--scitag {text} is not EXPERIMENT:ACTIVITY; say their numbers, such as 2:11, at most"
            f" {MOST_EXPERIMENT}:{MOST_ACTIVITY}"
        )
    return tag


def collector_of(text: str) -> tuple[str, int]:
    """`HOST`, `HOST:PORT`; an IPv6 address with a port is in brackets.

    Raises:
        TransferError: it is nothing of these, or nobody knows the host.
    """
    try:
        host, port = host_and_port(text, PORT)
    except TransferError as error:
        raise TransferError(f"--firefly-to {error}") from error
    try:
        socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except OSError as error:
        raise TransferError(f"--firefly-to {text}: {error.strerror}") from error
    return host, port


class Fireflies:
    """Announces connections.

    Args:
        application: name and version of the program.
        clock: gives the time now, in UTC.
    """

    def __init__(
        self, tag: SciTag, application: str, collectors: Sequence[tuple[str, int]] = (),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:  # fmt: skip
        self.tag = tag
        # Looked up once: a name server that is slow would hold up each connection that begins or ends.
        self._collectors = [place for one in collectors if (place := _looked_up(*one)) is not None]
        self._application, self._clock = application, clock

    def begin(self, connection: socket.socket, *, sends: bool) -> Callable[[], None]:
        """Says that a connection has begun; gives what says that it ends, once, while it is still open.

        Args:
            sends: whether this end sends the data.
        """
        try:
            flow, peer = _flow(connection, sends), connection.getpeername()[0]
        except OSError:
            return lambda: None
        began, lock, over = self._clock(), threading.Lock(), threading.Event()
        self._say(peer, flow, {"state": "start", "start-time": began.isoformat()})

        def end() -> None:
            with lock:
                if over.is_set():
                    return
                over.set()
            times = {"state": "end", "start-time": began.isoformat(), "end-time": self._clock().isoformat()}
            self._say(peer, flow, times, _usage(connection))

        return end

    def _say(
        self, peer: str, flow: dict[str, object], times: dict[str, str], usage: dict[str, int] | None = None
    ) -> None:
        now = self._clock().isoformat()
        firefly: dict[str, object] = {
            "version": 1,
            "flow-lifecycle": {**times, "current-time": now},
            "flow-id": flow,
            "context": {
                "experiment-id": self.tag.experiment, "activity-id": self.tag.activity, "application": self._application,
            },
        }  # fmt: skip
        if usage is not None:
            firefly["usage"] = usage
        name = self._application.partition(" ")[0]
        packet = f"{PRIORITY} {now} {socket.gethostname()} {name} - firefly-json - {json.dumps(firefly)}".encode()
        for place in (_looked_up(peer, PORT), *self._collectors):
            with suppress(OSError):
                if place is not None:
                    with socket.socket(place[0], socket.SOCK_DGRAM) as out:
                        out.sendto(packet, place[1])


def _looked_up(host: str, port: int) -> tuple[int, Any] | None:
    """The family and the address of a socket; None for a host that nobody knows."""
    try:
        family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    except OSError:
        return None
    return family, place


def _flow(connection: socket.socket, sends: bool) -> dict[str, object]:
    ends = [connection.getsockname(), connection.getpeername()]
    (source, source_port), (destination, destination_port) = (
        (_plain(end[0]), end[1]) for end in (ends if sends else reversed(ends))
    )
    return {
        "afi": f"ipv{ip_address(source).version}", "protocol": "tcp", "src-ip": source, "src-port": source_port,
        "dst-ip": destination, "dst-port": destination_port,
    }  # fmt: skip


def _plain(address: str) -> str:
    """Without a zone; what is an IPv4 address in an IPv6 one, as that."""
    read = ip_address(address.partition("%")[0])
    return str(getattr(read, "ipv4_mapped", None) or read)


def _usage(connection: socket.socket) -> dict[str, int] | None:
    try:
        now = tcp.info(connection)
    except OSError:
        return None
    return {"sent": now.acknowledged_bytes, "received": now.received_bytes}
