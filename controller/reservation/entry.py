"""One entry of a reservation file to a `Reservation`, or to everything that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from pydantic import ValidationError

from controller.reservation.checks import (
    HOST,
    LARGEST_PACKET_BYTES,
    LONGEST_LABEL,
    LONGEST_LABEL_KEY,
    MOST_LABELS,
    MOST_VIA,
    NAME,
    NUMBERS,
    OWNER,
    headers_bytes,
    is_address,
    is_label,
    least_packet_bytes,
    problems_of,
)
from controller.reservation.keys import Keys, with_unit
from controller.reservation.model import DEFAULT_PACKET_SIZE_BYTES, DEFAULT_RTT_US, TCP_RTT_US, Endpoint, Reservation
from controller.reservation.slots import SlotReader
from controller.units import parse_latency_us, parse_size_bytes
from controller.vocabulary import IfUnready, Protocol, Service

KEYS = (
    "name", "owner", "source", "destination", "protocol", "direction", "service", "rate", "packet_size", "rtt", "start",
    "end", "duration", "schedule", "hours", "recurrence", "timezone", "via", "if_unready", "labels",
)  # fmt: skip
#: Synonyms that people try first.
_MEANT = {
    "bandwidth": "rate", "from": "source", "src": "source", "to": "destination", "dst": "destination", "mtu": "packet_size",
    "id": "name", "user": "owner", "class": "service", "rrule": "recurrence", "repeat": "recurrence", "tz": "timezone",
    "path": "via", "until": "end", "length": "duration", "delay": "rtt", "tags": "labels",
}  # fmt: skip
_PORT = re.compile(r"[0-9]{1,5}")
#: More keys that are none are counted, not told one by one: what is meant by each takes a search.
MOST_UNKNOWN_KEYS = 50


@dataclass(slots=True)
class Reader(Keys):
    """Reads the keys of one entry.

    Attributes:
        slot_count: how many slots its times and its recurrence gave, also where anything else is wrong.
    """

    slot_count: int = 0

    def reservation(self) -> Reservation | None:
        """The reservation, or None where anything is wrong."""
        self._unknown_keys()
        service = self.enum("service", Service, None)
        protocol = self.enum("protocol", Protocol, None)
        fields = {
            "name": self.text(
                "name", NAME, "say 1 to 63 of a-z, 0-9, `.`, `_`, `-`, beginning and ending with a letter or digit"
            ),
            "owner": self.text("owner", OWNER, "say letters, digits, `@`, `.`, `_` and `-`, at most 128"),
            "source": self._endpoint("source"),
            "destination": self._endpoint("destination"),
            "protocol": protocol,
            "service": service,
            "packet_size_bytes": self._packet_size(protocol),
            "rtt_us": self.unit(
                "rtt", with_unit(parse_latency_us, "ms"), TCP_RTT_US if protocol is Protocol.TCP else DEFAULT_RTT_US
            ),
            "via": self._via(),
            "if_unready": self._if_unready(),
            "labels": self._labels(),
        }
        reader = SlotReader(self.data, self.complain, self.now, self.failed)
        amounts = reader.amounts(service)
        self.slot_count = reader.slot_count
        if self.failed or amounts is None:
            return None
        recurrence = self.data.get("recurrence")
        try:
            found = Reservation.model_validate(
                {
                    **fields,
                    "direction": amounts.direction,
                    "slots": amounts.slots,
                    "recurrence": recurrence if recurrence is None else str(recurrence).strip(),
                    "timezone": amounts.timezone,
                }
            )
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                self.wrong(str(detail["loc"][0]) if detail["loc"] else "", str(detail["msg"]), detail["input"])
            return None
        for one in problems_of(found):
            self.wrong(*one)
        return None if self.failed else found

    def _unknown_keys(self) -> None:
        unknown = [key for key in self.data if key not in KEYS]
        for key in unknown[:MOST_UNKNOWN_KEYS]:
            self.wrong(key, *unknown_key(key))
        if (rest := len(unknown) - MOST_UNKNOWN_KEYS) > 0:
            self.wrong("", f"has {rest} more keys that are not known here", "", f"the keys are {', '.join(KEYS)}")

    # -- keys with rules of their own ----------------------------------------------------------------------------

    def _endpoint(self, key: str) -> Endpoint | None:
        hint = "say a host of the inventory or an address, with a port if it is known: `lbnl-premium:5001`"
        value = self.required(key, hint)
        if value is None:
            return None
        if isinstance(value, Mapping):
            host, port, extra = value.get("host"), value.get("port"), set(value) - {"host", "port"}
            for one in sorted(extra):
                self.wrong(f"{key}.{one}", "is no key that is known here", "", "the keys are host, port")
        elif isinstance(value, str):
            host, port = _split(value)
        else:
            host, port = None, None
        if not isinstance(host, str) or not (HOST.fullmatch(host) or is_address(host)):
            self.wrong(key, "is no endpoint", value, hint)
            return None
        if NUMBERS.fullmatch(host) and not is_address(host):
            self.wrong(key, "is no address", value, "an address has four numbers from 0 to 255: `10.10.21.2`")
            return None
        if port is not None and not (isinstance(port, int) and not isinstance(port, bool) and 1 <= port <= 65535):
            bare = isinstance(value, Mapping) and isinstance(port, str) and _PORT.fullmatch(port)
            hint = "write the number without quotes" if bare else "leave the port out to bind it later"
            self.wrong(key, "has no port from 1 to 65535", value if port == "" else port, hint)
            return None
        return Endpoint(host=host, port=port)

    def _packet_size(self, protocol: Protocol | None) -> int | None:
        size = self.unit("packet_size", with_unit(parse_size_bytes, "B"), DEFAULT_PACKET_SIZE_BYTES)
        if size is None or protocol is None:
            return size
        least = least_packet_bytes(protocol)
        if not least <= size <= LARGEST_PACKET_BYTES:
            self.wrong(
                "packet_size", "is no size of an IP packet", self.data.get("packet_size"),
                f"say {least} B to {LARGEST_PACKET_BYTES} B; the headers count ({headers_bytes(protocol)} B of IP and "
                f"{protocol.upper()})",
            )  # fmt: skip
        return size

    def _via(self) -> tuple[str, ...]:
        value = self.data.get("via")
        if value is None:
            return ()
        if (
            not isinstance(value, list | tuple)
            or len(value) > MOST_VIA
            or not all(isinstance(one, str) and HOST.fullmatch(one) for one in value)
        ):
            self.wrong("via", "is no list of routers", value, "say for example `[anl-border, esnet-hub]`")
            return ()
        return tuple(value)

    def _if_unready(self) -> IfUnready | None:
        value = self.enum("if_unready", IfUnready, IfUnready.DELAY)
        if value is IfUnready.REFUSE and self.data.get("recurrence") is not None:
            hint = "a refusal would cancel the later slots too; say `delay`, `degrade` or `alarm`"
            self.wrong("if_unready", "does not go with a recurrence", value.value, hint)
        return value

    def _labels(self) -> dict[str, str]:
        value = self.data.get("labels")
        if value is None:
            return {}
        hint = (
            f"say at most {MOST_LABELS} `KEY: VALUE` pairs of one line each, "
            f"{LONGEST_LABEL_KEY} and {LONGEST_LABEL} characters at most"
        )
        if not isinstance(value, Mapping) or len(value) > MOST_LABELS:
            self.wrong("labels", "is no mapping of labels", value, hint)
            return {}
        for key, one in value.items():
            if not isinstance(one, str | int | float) or isinstance(one, bool) or not is_label(str(key), str(one)):
                self.wrong(f"labels.{key}", "is no label", one, hint)
        return {str(key): str(one) for key, one in value.items()}


def _split(text: str) -> tuple[str | None, int | str | None]:
    """`host`, `host:port`, `[v6]:port` or a bare IPv6 address; the port stays a text where it is no number."""
    stripped = text.strip()
    if is_address(stripped):
        return stripped, None
    if stripped.startswith("["):
        host, bracket, rest = stripped[1:].partition("]")
        colon, port = rest[:1], rest[1:]
        if not bracket or not is_address(host):
            return None, None
        if colon not in ("", ":"):
            return host, ""
    else:
        host, colon, port = stripped.rpartition(":") if ":" in stripped else (stripped, "", "")
    if not colon:
        return host, None
    return host, int(port) if _PORT.fullmatch(port) else port


def unknown_key(key: str) -> tuple[str, str, str]:
    """What is said of a key that is none: message, value, hint."""
    near = next(iter(get_close_matches(key.lower()[:64], (*KEYS, *_MEANT), n=1, cutoff=0.7)), "")
    close = _MEANT.get(near, near)
    hint = f"did you mean `{close}`?" if close else f"the keys are {', '.join(KEYS)}"
    return "is no key that is known here" if key.strip() else "has a key without a name", "", hint
