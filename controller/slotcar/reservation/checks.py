"""What every reservation must keep to, whichever way it comes in: file, request, plan document, change, command line.

The model (`model.py`) says what the ledger can hold and reads back; these are the limits for what is to be written there.
The reader of files (`entry.py`) uses the same predicates while it reads, for the sake of its hints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv4Network, ip_address
from typing import NamedTuple

from slotcar.base import lengths
from slotcar.base.names import is_owner
from slotcar.base.problems import InvalidInput, Problem, is_line
from slotcar.base.timebase import iso
from slotcar.base.units import MAX_DURATION, UnitError, format_duration
from slotcar.base.vocabulary import Direction, IfUnready, Protocol
from slotcar.reservation.model import Endpoint, Reservation
from slotcar.reservation.recurrence import LONGEST_RECURRENCE, MOST_OCCURRENCES, check_rule
from slotcar.reservation.times import FIRST_YEAR, LAST_YEAR, parse_zone

HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?")
#: Digits and points are meant as an address, never as a host's name.
NUMBERS = re.compile(r"[0-9]+(\.[0-9]+)+")
_HEADERS_BYTES = {Protocol.UDP: 28, Protocol.TCP: 40, Protocol.SCTP: 48}
MOST_VIA = 64
MOST_RECEIVERS = 64
MOST_LABELS = 64
#: Routers keep what is sent to these groups on its link (RFC 5771).
_ON_THE_LINK = IPv4Network("224.0.0.0/24")
#: How the labels begin that Slotcar gives to segments of connections: by them policies know who asked for one.
OWN_LABELS = "slotcar."
LARGEST_PACKET_BYTES = 65535
NO_REFUSAL_HINT = (
    "a profile may have pauses, and a refusal would cancel what follows; say `delay`, `degrade` or `alarm`"
)


class Wrong(NamedTuple):
    """One thing that is wrong with a reservation, at a key of its document."""

    key: str
    message: str
    value: object = ""
    hint: str = ""


def require_valid(reservation: Reservation, file: str = "request") -> Reservation:
    """The reservation itself.

    Raises:
        InvalidInput: all that is wrong with it; `file` is what the problems call its source.
    """
    problems = [Problem(file, 0, one.key, one.message, str(one.value), one.hint) for one in problems_of(reservation)]
    if problems:
        raise InvalidInput(problems)
    return reservation


def problems_of(reservation: Reservation) -> Iterator[Wrong]:
    """Everything that is wrong with the reservation."""
    if not is_owner(reservation.owner):  # such as another domain's, whose name is added to it
        hint = f"say letters, digits, `@`, `.`, `_` and `-`, at most {lengths.OWNER}"
        yield Wrong("owner", "is no owner", reservation.owner, hint)
    for key, end in (("source", reservation.source), ("destination", reservation.destination)):
        yield from _endpoint(key, end)
    least = least_packet_bytes(reservation.protocol)
    if reservation.packet_size_bytes < least:
        hint = f"say {least} to {LARGEST_PACKET_BYTES} bytes; the headers count"
        yield Wrong("packet_size_bytes", "is no size of an IP packet", reservation.packet_size_bytes, hint)
    if len(reservation.receivers) > MOST_RECEIVERS or not all(map(is_host, reservation.receivers)):
        hint = f"say at most {MOST_RECEIVERS} hosts of the inventory or addresses"
        yield Wrong("receivers", "is no list of receivers", ", ".join(reservation.receivers), hint)
    ends = (reservation.source, reservation.destination, reservation.receivers, reservation.via)
    yield from group_problems(*ends, reservation.direction, reservation.protocol, reservation.share is not None)
    if len(reservation.via) > MOST_VIA or not all(HOST.fullmatch(one) for one in reservation.via):
        yield Wrong("via", "is no list of routers", ", ".join(reservation.via), f"say at most {MOST_VIA} names")
    yield from _labels(reservation)
    yield from _recurrence(reservation)
    yield from _slots(reservation)


def group_problems(
    source: Endpoint | None,
    destination: Endpoint | None,
    receivers: Sequence[str],
    via: Sequence[str],
    direction: Direction,
    protocol: Protocol | None,
    is_share: bool,
) -> Iterator[Wrong]:
    """What does not go with a multicast group, and a group and receivers that lack each other."""
    group = destination.address if destination is not None and destination.is_group else None
    if destination is None or (group is None and not receivers):
        return
    if group is None:
        hint = "say a group of your site as the destination, such as 239.1.2.3:1044"
        yield Wrong("receivers", "are of a multicast group, and the destination is none", destination.host, hint)
        return
    if not isinstance(group, IPv4Address) or group in _ON_THE_LINK:
        why = "is on one link only" if isinstance(group, IPv4Address) else "is an IPv6 group, and this network is IPv4"
        yield Wrong("destination", why, destination.host, "say a group of your site, such as 239.1.2.3")
    if not receivers:
        yield Wrong("receivers", "are not said", destination.host, "say who gets it: `[lbnl-premium, anl-data]`")
    yield from _receivers(source, receivers)
    if direction is not Direction.FORWARD:
        hint = "say `forward`; what receivers ask for again goes as best effort"
        yield Wrong("direction", "does not go with a multicast group", direction.value, hint)
    if protocol is not None and protocol is not Protocol.UDP:
        yield Wrong("protocol", "does not go with a multicast group", protocol.value, "say `udp`")
    if via:
        hint = "leave it out: multicast routing takes each router's best way to the source"
        yield Wrong("via", "does not go with a multicast group", ", ".join(via), hint)
    if is_share:
        yield Wrong("share", "does not go with a multicast group", "", "say a rate")


def _receivers(source: Endpoint | None, receivers: Sequence[str]) -> Iterator[Wrong]:
    if twice := sorted({one for one in receivers if list(receivers).count(one) > 1}):
        yield Wrong("receivers", "are there twice", ", ".join(twice), "say each once")
    if source is not None and source.host in receivers:
        yield Wrong("receivers", "have the source among them", source.host, "say the others")


def is_host(text: str) -> bool:
    """A host's name or an address. Names that look like an address and are none are mistakes."""
    return is_address(text) or bool(HOST.fullmatch(text) and not NUMBERS.fullmatch(text))


def is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return "%" not in text  # a zone (fe80::1%eth0) means something on one machine only


def is_label(key: str, value: str) -> bool:
    """Whether key and value are one line each, which the ledger can keep and a terminal can show."""
    return is_line(key, lengths.LABEL_KEY) and is_line(value, lengths.LABEL)


def own_labels_in(labels: Mapping[str, str]) -> Iterator[Wrong]:
    """The labels that nobody may ask for, in a file, a request or a plan document."""
    hint = f"call it otherwise: what begins with {OWN_LABELS} says for whom a segment of a connection was asked"
    for key, value in labels.items():
        if key.startswith(OWN_LABELS):
            yield Wrong(f"labels.{key}", "is Slotcar's own", value, hint)


def least_packet_bytes(protocol: Protocol) -> int:
    return max(64, headers_bytes(protocol) + 1)


def headers_bytes(protocol: Protocol) -> int:
    """The bytes of the headers of IP and the transport protocol."""
    return _HEADERS_BYTES[protocol]


def _endpoint(key: str, end: Endpoint) -> Iterator[Wrong]:
    if not is_host(end.host):
        yield Wrong(f"{key}.host", "is no host and no address", end.host, "say a host of the inventory or an address")


def _labels(reservation: Reservation) -> Iterator[Wrong]:
    hint = f"say at most {MOST_LABELS}, of one line and {lengths.LABEL_KEY} and {lengths.LABEL} characters at most"
    if len(reservation.labels) > MOST_LABELS:
        yield Wrong("labels", "are too many", len(reservation.labels), hint)
        return
    for key, value in reservation.labels.items():
        if not is_label(key, value):
            yield Wrong(f"labels.{key[: lengths.LABEL_KEY]}", "is no label", value, hint)


def _recurrence(reservation: Reservation) -> Iterator[Wrong]:
    rule = reservation.recurrence
    try:
        if reservation.timezone is not None:
            parse_zone(reservation.timezone)
    except UnitError as error:
        yield Wrong("timezone", error.message, error.value, error.hint)
    if reservation.if_unready is IfUnready.REFUSE and reservation.need is not None:
        yield Wrong("if_unready", "does not go with a volume", IfUnready.REFUSE.value, NO_REFUSAL_HINT)
    elif reservation.if_unready is IfUnready.REFUSE and len(reservation.windows) > 1:
        hint = "a refusal would cancel the later ones too; say `delay`, `degrade` or `alarm`"
        yield Wrong("if_unready", "does not go with several windows", IfUnready.REFUSE.value, hint)
    if rule is None:
        return
    if not is_line(rule, lengths.RECURRENCE):
        hint = f"say one line of at most {lengths.RECURRENCE} characters"
        yield Wrong("recurrence", "is no recurrence", rule, hint)
        return
    try:
        check_rule(rule)
    except UnitError as error:
        yield Wrong("recurrence", error.message, error.value, error.hint)


def _slots(reservation: Reservation) -> Iterator[Wrong]:
    if len(reservation.slots) > MOST_OCCURRENCES:
        yield Wrong("slots", "are too many", len(reservation.slots), f"at most {MOST_OCCURRENCES}")
        return
    windows = reservation.windows
    first, last = windows[0], windows[-1]
    if not FIRST_YEAR - 1 <= first.start.year <= LAST_YEAR + 1:  # as far as a zone moves what was written
        hint = f"say years from {FIRST_YEAR} to {LAST_YEAR}"
        yield Wrong("slots", "lie beyond the calendar", f"{iso(first.start)} to {iso(last.end)}", hint)
    longest = max(window.duration for window in windows)
    if longest > MAX_DURATION:
        yield Wrong("slots", "are too long", format_duration(longest), f"at most {MAX_DURATION.days} d each")
    if last.start - first.start > LONGEST_RECURRENCE:
        hint = f"at most {LONGEST_RECURRENCE.days} d from the first start to the last"
        yield Wrong("slots", "reach too far", format_duration(last.start - first.start), hint)
