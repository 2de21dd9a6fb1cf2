"""One entry of a reservation file to a `Reservation`, or to everything that is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

from pydantic import ValidationError

from slotcar.base import lengths
from slotcar.base.vocabulary import Direction, IfUnready, Protocol
from slotcar.reservation.checks import (
    LARGEST_PACKET_BYTES,
    group_problems,
    headers_bytes,
    least_packet_bytes,
    problems_of,
)
from slotcar.reservation.keys import Keys
from slotcar.reservation.model import DEFAULT_RTT_US, TCP_RTT_US, Endpoint, Reservation
from slotcar.reservation.need_reader import NeedReader
from slotcar.reservation.profiles import refused_keys, with_profile
from slotcar.reservation.slots import SlotReader
from slotcar.reservation.written import FIELDS, SLOT_KEYS, VOLUME_KEYS

KEYS = tuple(FIELDS)
#: Synonyms that people try first.
_MEANT = {
    "bandwidth": "rate", "from": "source", "src": "source", "to": "destination", "dst": "destination", "mtu": "packet_size",
    "id": "name", "user": "owner", "class": "service", "rrule": "recurrence", "repeat": "recurrence", "tz": "timezone",
    "path": "via", "until": "end", "deadline": "by", "size": "volume", "length": "duration", "latency": "delay",
    "tags": "labels", "destinations": "receivers", "group": "receivers", "members": "receivers",
}  # fmt: skip
#: More keys that are none are counted, not told one by one: what is meant by each takes a search.
MOST_UNKNOWN_KEYS = 50


class Ends(NamedTuple):
    """Where a flow goes, of a reservation that may be wrong otherwise."""

    source: Endpoint | None = None
    destination: Endpoint | None = None
    receivers: tuple[str, ...] = ()
    via: tuple[str, ...] = ()


NOWHERE = Ends()


@dataclass(slots=True)
class EntryReader(Keys):
    """Reads the keys of one entry.

    Attributes:
        slot_count: how many slots its times and its recurrence gave, also where anything else is wrong.
        relative: whether one of its times is written relative to now.
        ends: source, destination and via, as far as they could be read, also where anything else is wrong.
    """

    slot_count: int = 0
    relative: bool = False
    ends: Ends = NOWHERE

    def reservation(self) -> Reservation | None:
        """The reservation, or None where anything is wrong."""
        self._unknown_keys()
        long_keys = self._too_long()
        if not long_keys:
            for one in refused_keys(self.data):
                self.wrong(*one)
        self.data = with_profile(self.data)
        read_together = SLOT_KEYS | VOLUME_KEYS
        fields = {
            key: None if key in long_keys else self.field(key, field)
            for key, field in FIELDS.items()
            if key not in read_together
        }
        ends = (fields["source"], fields["destination"], tuple(fields["receivers"] or ()), tuple(fields["via"] or ()))
        self.ends = Ends(*ends)
        service = fields["service"]
        protocol = fields["protocol"]
        fields["packet_size_bytes"] = self._packet_size(fields.pop("packet_size"), protocol)
        fields["rtt_us"] = fields.pop("rtt") or (TCP_RTT_US if protocol and protocol.has_window else DEFAULT_RTT_US)
        self._refusal_with_recurrence(fields["if_unready"])
        if long_keys & read_together:
            return None
        by_volume = any(self.data.get(key) is not None for key in VOLUME_KEYS)
        kind = NeedReader if by_volume else SlotReader
        reader = kind(self.data, self.complain, self.now, self.failed, fields["share"])
        amounts = reader.amounts(service)
        self.slot_count, self.relative = reader.slot_count, reader.relative
        if self.failed or amounts is None:
            return None
        if self._group_problems(amounts.direction, fields):
            return None
        recurrence = self.data.get("recurrence")
        try:
            reservation = Reservation.model_validate(
                {
                    **fields,
                    "direction": amounts.direction,
                    "slots": amounts.slots,
                    "recurrence": recurrence if recurrence is None else str(recurrence).strip(),
                    "timezone": amounts.timezone,
                    "need": amounts.need,
                }
            )
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                self.wrong(str(detail["loc"][0]) if detail["loc"] else "", str(detail["msg"]), detail["input"])
            return None
        for one in problems_of(reservation):
            self.wrong(*one)
        return None if self.failed else reservation

    def _unknown_keys(self) -> None:
        unknown = [key for key in self.data if key not in KEYS]
        for key in unknown[:MOST_UNKNOWN_KEYS]:
            self.wrong(key, *unknown_key(key))
        if (rest := len(unknown) - MOST_UNKNOWN_KEYS) > 0:
            self.wrong("", f"has {rest} more keys that are not known here", "", f"the keys are {', '.join(KEYS)}")

    def _too_long(self) -> set[str]:
        """The keys with a text that is longer than it may be: nothing else looks at them."""
        long_texts = list(lengths.too_long({key: value for key, value in self.data.items() if key in FIELDS}))
        for one in long_texts:
            self.wrong(one.path, "is too long", one.text, one.hint)
        return {re.split(r"[.\[]", one.path, maxsplit=1)[0] for one in long_texts}

    # -- keys with rules of their own ----------------------------------------------------------------------------

    def _packet_size(self, size: int | None, protocol: Protocol | None) -> int | None:
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

    def _group_problems(self, direction: Direction, fields: Mapping[str, Any]) -> bool:
        problems = list(group_problems(*self.ends, direction, fields["protocol"], fields["share"] is not None))
        for one in problems:
            self.wrong(*one)
        return bool(problems)

    def _refusal_with_recurrence(self, value: IfUnready | None) -> None:
        if value is IfUnready.REFUSE and self.data.get("recurrence") is not None:
            hint = "a refusal would cancel the later slots too; say `delay`, `degrade` or `alarm`"
            self.wrong("if_unready", "does not go with a recurrence", value.value, hint)


def unknown_key(key: str) -> tuple[str, str, str]:
    """The message, value and hint for an unknown key."""
    near = next(iter(get_close_matches(key.lower()[:64], (*KEYS, *_MEANT), n=1, cutoff=0.7)), "")
    close = _MEANT.get(near, near)
    hint = f"did you mean `{close}`?" if close else f"the keys are {', '.join(KEYS)}"
    return "is no key that is known here" if key.strip() else "has a key without a name", "", hint
