"""Connections whose other end is not known yet: bounded in all and of each address, so that idle ones keep nobody out.

Where there are too many the one that has waited longest is ended: a handshake takes a few round trips, and who has not
finished one in all that time is not about to. So nobody is turned away, and nobody waits for others' time to run out.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import threading
from collections import Counter
from contextlib import suppress

#: Of all addresses, and of each.
MOST, MOST_EACH = 256, 64
#: One host has at least such a network of IPv6 to itself (RFC 6177).
_IPV6_PREFIX = 64


class Handshakes:
    """The handshakes that are under way. For several threads."""

    def __init__(self, most: int = MOST, most_each: int = MOST_EACH) -> None:
        self._most, self._most_each = most, most_each
        self._lock = threading.Lock()
        #: By number, in the order of their beginning: whose, and the connection once more, by which it can be ended.
        self._open: dict[int, tuple[str, socket.socket]] = {}
        self._last = 0

    def __len__(self) -> int:
        return len(self._open)

    def begin(self, connection: socket.socket, address: str) -> int:
        """The number of a handshake that begins; ends another one where there are too many.

        Raises:
            OSError: this process has no descriptor left.
        """
        # TLS takes the connection's own descriptor for itself.
        again = socket.socket(fileno=os.dup(connection.fileno()))
        source = source_of(address)
        with self._lock:
            self._last += 1
            self._open[self._last] = (source, again)
            ended = [self._open.pop(number)[1] for number in self._excess(source)]
            number = self._last
        for one in ended:
            _end(one)
        return number

    def over(self, number: int) -> None:
        """It came to its end, good or bad."""
        with self._lock:
            _, again = self._open.pop(number, ("", None))
        if again is not None:
            again.close()

    def end_oldest(self) -> None:
        """Ends the one that has waited longest of the address with the most, so that its descriptors are free again."""
        with self._lock:
            ended = [self._open.pop(number)[1] for number in self._oldest_of_most()]
        for one in ended:
            _end(one)

    def _excess(self, source: str) -> list[int]:
        own = [number for number, (other, _) in self._open.items() if other == source]
        if len(own) > self._most_each:
            return own[:1]
        return self._oldest_of_most() if len(self._open) > self._most else []

    def _oldest_of_most(self) -> list[int]:
        counts = Counter(source for source, _ in self._open.values())
        most = max(counts.values(), default=0)
        return [number for number, (source, _) in self._open.items() if counts[source] == most][:1]


def source_of(address: str) -> str:
    """Whose connections are counted together: those of an IPv4 address, or of an IPv6 network of 64 bits.

    >>> source_of("192.0.2.7"), source_of("2001:db8::1:2"), source_of("::ffff:192.0.2.7"), source_of("fe80::1%eth0")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7', 'fe80::/64')
    """
    with suppress(ValueError):
        known = ipaddress.ip_address(address.partition("%")[0])
        if isinstance(known, ipaddress.IPv4Address):
            return str(known)
        if known.ipv4_mapped is not None:
            return str(known.ipv4_mapped)
        return str(ipaddress.ip_network((known, _IPV6_PREFIX), strict=False))
    return address


def _end(connection: socket.socket) -> None:
    """Wakes whoever waits in the handshake."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
