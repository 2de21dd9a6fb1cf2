"""The UDP port at which routers' syslog is received."""

from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from slotcar.network.model import Network
from slotcar.watching.syslog import LONGEST_DATAGRAM, Addresses

_LOOK_S = 0.5
#: A kernel keeps fewer for one socket.
_MOST_WAITING = 100_000


def addresses_of(network: Network, connections: Mapping[str, Mapping[str, Any]]) -> Addresses:
    """A device sends from where it is logged in to, or from one of its interfaces. Names are looked up once."""
    device_of: dict[str, str | None] = {}
    for name, device in network.devices.items():
        variables = connections.get(name, {})
        host = variables.get("ansible_host") or variables.get("ansible_ssh_host") or name
        own = {str(one.address.ip) for one in device.interfaces.values() if one.address is not None}
        for address in own | _looked_up(str(host)):
            device_of[address] = name if device_of.get(address, name) == name else None
    return Addresses(device_of, frozenset(network.devices))


def _looked_up(host: str) -> set[str]:
    with suppress(OSError, UnicodeError):
        return {str(answer[4][0]) for answer in socket.getaddrinfo(host, None, type=socket.SOCK_DGRAM)}
    return set()


def receive(sock: socket.socket, take: Callable[[bytes, str], None], ended: threading.Event) -> None:
    """Hands every datagram on with its source's address, until nobody listens any more. What came before is for nobody: a
    controller that takes the lead reads all devices."""
    sock.setblocking(False)
    with suppress(BlockingIOError):
        for _ in range(_MOST_WAITING):
            sock.recv(1)
    sock.settimeout(_LOOK_S)
    while not ended.is_set():
        with suppress(TimeoutError):
            datagram, (source, *_) = sock.recvfrom(LONGEST_DATAGRAM)
            take(datagram, _plain(source))


def _plain(source: str) -> str:
    """An IPv4 address as such, also where a socket of IPv6 received from it."""
    address = ipaddress.ip_address(source.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
