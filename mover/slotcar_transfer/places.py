"""Where something comes from or goes to, and until when: what a user writes, read. Pure."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address

from slotcar_transfer.errors import TransferError

#: Where uftp's receivers listen.
GROUP_PORT = 1044
MARGIN = timedelta(minutes=1)
_SECONDS = {"s": 1, "sec": 1, "min": 60, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(?:now\s*\+\s*)?(\d+(?:\.\d+)?)\s*(s|sec|min|m|h|d)")


@dataclass(frozen=True, slots=True)
class Location:
    """`peer` is empty for this host, and `http` for an address of a server with ranges."""

    path: str
    peer: str = ""

    @property
    def is_http(self) -> bool:
        return self.peer == "http"


def location_of(text: str) -> Location:
    """`HOST:PATH`, `https://…`, or a path of this host. What has a slash before its first colon is a path.

    Raises:
        TransferError: it is nothing of these.
    """
    if text.startswith(("http://", "https://")):
        return Location(text, "http")
    host, colon, path = text.partition(":")
    if colon and "/" not in host:
        if not host:
            raise TransferError(f"{text} has no host before its colon; a path of this host with a colon is ./{text}")
        return Location(path, host)
    if not text:
        raise TransferError("an empty path names nothing")
    return Location(text)


def host_and_port(text: str, port: int) -> tuple[str, int]:
    """`HOST`, which has the port `port`, or `HOST:PORT`; an IPv6 address with a port is in brackets.

    Raises:
        TransferError: it is nothing of these.
    """
    with suppress(ValueError):
        return str(IPv6Address(text)), port
    match = re.fullmatch(r"(?:\[([^]\s]+)]|([^]:\s]+))(?::(\d{1,5}))?", text)
    if not match or (match[3] and not 0 < int(match[3]) < 65536):
        raise TransferError(f"{text} is not HOST[:PORT]; an IPv6 address with a port is in brackets")
    return match[1] or match[2], int(match[3] or port)


def group_of(text: str) -> tuple[str, int]:
    """`ADDRESS` or `ADDRESS:PORT` of an IPv4 multicast group; uftp's own port where none is said.

    Raises:
        TransferError: it is none.
    """
    host, port = host_and_port(text, GROUP_PORT)
    try:
        if IPv4Address(host).is_multicast:
            return host, port
    except ValueError:
        pass
    raise TransferError(f"--group {text} is no multicast group; say one of your site, such as 239.1.2.3")


def address_of(text: str) -> str:
    """An IPv4 address.

    Raises:
        TransferError: it is none.
    """
    try:
        return str(IPv4Address(text))
    except ValueError:
        raise TransferError(f"{text} is no IPv4 address") from None


def deadline_of(text: str, now: datetime) -> datetime:
    """`now + 3 h`, `90 min`, or a time with its zone.

    Raises:
        TransferError: it is nothing of these, or has passed.
    """
    if match := _DURATION.fullmatch(text.strip()):
        at = now + timedelta(seconds=float(match[1]) * _SECONDS[match[2]])
        return at.replace(microsecond=0) + timedelta(seconds=1)
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise TransferError(f"--by {text} is not a time; say now + 3 h, or 2027-03-02T06:00:00+01:00") from None
    if at.tzinfo is None:
        raise TransferError(f"--by {text} has no time zone; say {text}Z or {text}+01:00")
    if at <= now:
        raise TransferError(f"--by {text} has passed")
    return at


def reserved_until(by: datetime, now: datetime) -> datetime:
    """The deadline that is asked for: a twentieth of the time earlier, and at most a minute.

    A steady profile ends at its deadline exactly. What a host is late by, at the beginning and for its disk, fits between.
    """
    return (by - min(MARGIN, (by - now) / 20)).replace(microsecond=0)


def rate_of(text: str) -> int:
    """`400 Mbit/s` in bits per second; decimal.

    Raises:
        TransferError: it is no rate.
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kMG]?)bit/s", text.strip())
    if not match:
        raise TransferError(f"{text} is not a rate; say 400 Mbit/s")
    return round(float(match[1]) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[match[2]])
