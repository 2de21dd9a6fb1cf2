"""One entry of a reservation file to a `Reservation`, or to everything that is wrong with it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, TypeVar

from pydantic import ValidationError

from controller.reservation import times
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
    RATED,
    headers_bytes,
    is_address,
    is_label,
    least_packet_bytes,
    problems_of,
)
from controller.reservation.model import DEFAULT_PACKET_SIZE_BYTES, DEFAULT_RTT_US, TCP_RTT_US, Endpoint, Reservation
from controller.reservation.recurrence import check_rule, expand
from controller.timebase import Window, iso
from controller.units import (
    MAX_DURATION,
    UnitError,
    format_duration,
    parse_duration,
    parse_latency_us,
    parse_rate_bps,
    parse_size_bytes,
)
from controller.vocabulary import Direction, IfUnready, Protocol, Service

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)
#: `complain(key, message, value, hint)` notes a problem at a key of the entry.
Complain = Callable[[str, str, str, str], None]

KEYS = (
    "name", "owner", "source", "destination", "protocol", "direction", "service", "rate", "packet_size", "rtt", "start",
    "end", "duration", "recurrence", "timezone", "via", "if_unready", "labels",
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
class Reader:
    """Reads the keys of one entry; every mistake goes to `complain`, and none stops the others from being found.

    Attributes:
        window_count: how many windows its times and its recurrence gave, also where anything else is wrong.
    """

    data: Mapping[str, Any]
    complain: Complain
    now: datetime
    failed: set[str] = field(default_factory=set)
    window_count: int = 0

    def reservation(self) -> Reservation | None:
        """The reservation, or None where anything is wrong."""
        self._unknown_keys()
        service = self._enum("service", Service, None)
        protocol = self._enum("protocol", Protocol, None)
        fields = {
            "name": self._text(
                "name", NAME, "say 1 to 63 of a-z, 0-9, `.`, `_`, `-`, beginning and ending with a letter or digit"
            ),
            "owner": self._text("owner", OWNER, "say letters, digits, `@`, `.`, `_` and `-`, at most 128"),
            "source": self._endpoint("source"),
            "destination": self._endpoint("destination"),
            "protocol": protocol,
            "direction": self._enum("direction", Direction, Direction.FORWARD),
            "service": service,
            "rate_bps": self._rate(service),
            "packet_size_bytes": self._packet_size(protocol),
            "rtt_us": self._unit(
                "rtt", _with_unit(parse_latency_us, "ms"), TCP_RTT_US if protocol is Protocol.TCP else DEFAULT_RTT_US
            ),
            "via": self._via(),
            "if_unready": self._if_unready(),
            "labels": self._labels(),
        }
        windows = self._windows()
        self.window_count = len(windows or ())
        if self.failed or windows is None:
            return None
        recurrence = self.data.get("recurrence")
        recurrence = recurrence if recurrence is None else str(recurrence).strip()
        zone = self._zone_name() if recurrence is not None else None
        try:
            found = Reservation.model_validate(
                {**fields, "windows": windows, "recurrence": recurrence, "timezone": zone}
            )
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                self._wrong(str(detail["loc"][0]) if detail["loc"] else "", str(detail["msg"]), detail["input"])
            return None
        for one in problems_of(found):
            self._wrong(*one)
        return None if self.failed else found

    # -- one key -------------------------------------------------------------------------------------------------

    def _wrong(self, key: str, message: str, value: object = "", hint: str = "") -> None:
        self.failed.add(key)
        self.complain(key, message, shown(value), hint)

    def _unknown_keys(self) -> None:
        unknown = [key for key in self.data if key not in KEYS]
        for key in unknown[:MOST_UNKNOWN_KEYS]:
            self._wrong(key, *unknown_key(key))
        if (rest := len(unknown) - MOST_UNKNOWN_KEYS) > 0:
            self._wrong("", f"has {rest} more keys that are not known here", "", f"the keys are {', '.join(KEYS)}")

    def _required(self, key: str, hint: str) -> Any:
        value = self.data.get(key)
        if value is None:
            self._wrong(key, "is missing", "", hint)
        return value

    def _text(self, key: str, pattern: re.Pattern[str], rule: str) -> str | None:
        value = self._required(key, rule)
        if value is not None and not (isinstance(value, str) and pattern.fullmatch(value)):
            hint = "quote it, so that it is text" if isinstance(value, int | float) else rule
            self._wrong(key, f"is no {key}", value, hint)
        return value if isinstance(value, str) else None

    def _enum(self, key: str, kind: type[E], default: E | None) -> E | None:
        choices = [str(one) for one in kind]
        hint = f"say one of {', '.join(choices)}"
        value = self.data.get(key) if default is not None else self._required(key, hint)
        if value is None:
            return default
        if value in choices:
            return kind(value)
        close = get_close_matches(str(value).lower(), choices, n=1, cutoff=0.7)
        self._wrong(key, f"is no {key}", value, f"did you mean `{close[0]}`? {hint}" if close else hint)
        return None

    def _unit(self, key: str, parse: Callable[[Any], T], default: T | None = None) -> T | None:
        value = self.data.get(key)
        if value is None:
            return default
        try:
            return parse(value)
        except UnitError as error:
            self._wrong(key, error.message, error.value if isinstance(value, str) else value, error.hint)
            return None

    # -- keys with rules of their own ----------------------------------------------------------------------------

    def _endpoint(self, key: str) -> Endpoint | None:
        hint = "say a host of the inventory or an address, with a port if it is known: `lbnl-premium:5001`"
        value = self._required(key, hint)
        if value is None:
            return None
        if isinstance(value, Mapping):
            host, port, extra = value.get("host"), value.get("port"), set(value) - {"host", "port"}
            for one in sorted(extra):
                self._wrong(f"{key}.{one}", "is no key that is known here", "", "the keys are host, port")
        elif isinstance(value, str):
            host, port = _split(value)
        else:
            host, port = None, None
        if not isinstance(host, str) or not (HOST.fullmatch(host) or is_address(host)):
            self._wrong(key, "is no endpoint", value, hint)
            return None
        if NUMBERS.fullmatch(host) and not is_address(host):
            self._wrong(key, "is no address", value, "an address has four numbers from 0 to 255: `10.10.21.2`")
            return None
        if port is not None and not (isinstance(port, int) and not isinstance(port, bool) and 1 <= port <= 65535):
            bare = isinstance(value, Mapping) and isinstance(port, str) and _PORT.fullmatch(port)
            hint = "write the number without quotes" if bare else "leave the port out to bind it later"
            self._wrong(key, "has no port from 1 to 65535", value if port == "" else port, hint)
            return None
        return Endpoint(host=host, port=port)

    def _rate(self, service: Service | None) -> int | None:
        value = self.data.get("rate")
        if service is not None and service not in RATED:
            return self._unit("rate", _with_unit(parse_rate_bps, "Mbit/s"), 0)
        if value is None:
            self._wrong(
                "rate", "is missing", "", "say the payload rate, such as `36 Mbit/s`; best-effort and qbss need none"
            )
            return None
        return self._unit("rate", _with_unit(parse_rate_bps, "Mbit/s"))

    def _packet_size(self, protocol: Protocol | None) -> int | None:
        size = self._unit("packet_size", _with_unit(parse_size_bytes, "B"), DEFAULT_PACKET_SIZE_BYTES)
        if size is None or protocol is None:
            return size
        least = least_packet_bytes(protocol)
        if not least <= size <= LARGEST_PACKET_BYTES:
            self._wrong(
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
            self._wrong("via", "is no list of routers", value, "say for example `[anl-border, esnet-hub]`")
            return ()
        return tuple(value)

    def _if_unready(self) -> IfUnready | None:
        value = self._enum("if_unready", IfUnready, IfUnready.DELAY)
        if value is IfUnready.REFUSE and self.data.get("recurrence") is not None:
            hint = "a refusal would cancel the later slots too; say `delay`, `degrade` or `alarm`"
            self._wrong("if_unready", "does not go with a recurrence", value.value, hint)
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
            self._wrong("labels", "is no mapping of labels", value, hint)
            return {}
        for key, one in value.items():
            if not isinstance(one, str | int | float) or isinstance(one, bool) or not is_label(str(key), str(one)):
                self._wrong(f"labels.{key}", "is no label", one, hint)
        return {str(key): str(one) for key, one in value.items()}

    # -- time ----------------------------------------------------------------------------------------------------

    def _windows(self) -> tuple[Window, ...] | None:
        if self.data.get("start") is None:
            self._wrong("start", "is missing", "", times.TIME_HINT)
        start = self._unit("start", lambda text: times.parse_time(text, self.now))
        duration = self._duration(start)
        zone = self._unit("timezone", times.parse_zone)
        rule = self.data.get("recurrence")
        if start is None or duration is None or "timezone" in self.failed:
            self._unit("recurrence", check_rule)
            return None
        if rule is None:
            if zone is not None:
                self._wrong("timezone", "has no meaning without a recurrence", self.data["timezone"], "leave it out")
            return self._not_past((Window(start, start + duration),))
        if zone is None:
            zone = times.parse_zone(times.zone_name(start))
        expanded = self._unit("recurrence", lambda text: expand(text, start, duration, zone))
        return self._not_past(expanded) if expanded else None

    def _duration(self, start: datetime | None) -> timedelta | None:
        end_given, duration_given = (self.data.get(key) is not None for key in ("end", "duration"))
        if end_given == duration_given:
            message = "is given, and so is duration" if end_given else "is missing, and so is duration"
            self._wrong("end", message, "", "say either `end` or `duration`")
            return None
        if duration_given:
            return self._unit("duration", _with_unit(parse_duration, "min"))
        end = self._unit("end", lambda text: times.parse_time(text, self.now))
        if end is None or start is None:
            return None
        if end <= start:
            self._wrong(
                "end", f"is not after the start at {iso(start)}", self.data["end"], "a slot ends after it starts"
            )
            return None
        if end - start > MAX_DURATION:
            self._wrong("end", "is too late for one slot", self.data["end"], f"at most {MAX_DURATION.days} d long")
            return None
        return end - start

    def _not_past(self, windows: tuple[Window, ...]) -> tuple[Window, ...]:
        last = windows[-1].end
        if last <= self.now:
            key = "recurrence" if len(windows) > 1 else "end" if self.data.get("end") is not None else "start"
            ago = format_duration(timedelta(seconds=max(1, round((self.now - last).total_seconds()))))
            which, hint = "the slot", times.TIME_HINT
            if key == "recurrence":
                which, hint = "its last slot", "start it later, or let it recur for longer"
            self._wrong(key, f"is past: {which} ended at {iso(last)}, {ago} ago", self.data.get(key), hint)
        return windows

    def _zone_name(self) -> str:
        given = self.data.get("timezone")
        return str(given) if given is not None else times.zone_name(times.parse_time(self.data["start"], self.now))


def _with_unit(parse: Callable[[Any], T], unit: str) -> Callable[[Any], T]:
    """A bare number has no unit, and a wrong guess is a wrong router configuration."""

    def parse_text(value: Any) -> T:
        if not isinstance(value, str):
            bare = isinstance(value, int | float) and not isinstance(value, bool)
            hint = f"did you mean `{shown(value)} {unit}`?" if bare else f"say a text such as `36 {unit}`"
            raise UnitError("has no unit" if bare else "is no quantity", value, hint)
        return parse(value)

    return parse_text


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


def shown(value: object) -> str:
    """A value as it may have been written, on one line, not too long."""
    if value is None or value == "":
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."
