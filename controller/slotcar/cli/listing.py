"""The rows of `status` and `timeline`: what stands in which column, and which is left out first on a narrow terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from slotcar.base.problems import printable
from slotcar.cli.tables import Column

#: At 80 columns a slot's start has its place beside it, also in a zone, whose times are two letters longer than UTC's.
_STATE = Column("state", wraps=True, narrowest=len("committed,"))
#: docs/howto/operate.md states the order in which columns are left out.
RESERVATIONS = (
    Column("reservation"), Column("handle"), _STATE, Column("rate", leave_out=4),
    Column("service", leave_out=2), Column("flow", leave_out=1), Column("start", leave_out=5), Column("end", leave_out=3),
    Column("slot"),
)  # fmt: skip
GROUPS = (
    Column("group"), Column("handle"), _STATE, Column("start", leave_out=2),
    Column("end", leave_out=1), Column("members", wraps=True),
)  # fmt: skip
BOUNDARIES = (
    Column("at"), Column("when", leave_out=3), Column("starts +, ends -", wraps=True),
    Column("open then", leave_out=1), Column("devices", wraps=True), Column("lag", leave_out=2),
)  # fmt: skip


def reservation_row(entry: Mapping[str, Any], now: datetime) -> tuple[str, ...]:
    """The row of an entry's document. Start and end are those of the slot that is open or comes next; of one of several,
    `slot` says which."""
    from slotcar.base.timebase import iso
    from slotcar.book.slot_states import present_slot
    from slotcar.views.documents import reservation_of
    from slotcar.views.explain import rate_words

    reservation = reservation_of(entry["reservation"])
    times = len(reservation.windows)
    number, window = present_slot(reservation.windows, now)
    return (
        "/".join(reservation.key),
        entry["handle"],
        state_words(entry),
        rate_words(reservation),
        reservation.claim.kind if reservation.claim else reservation.service_class,
        reservation.claim.place if reservation.claim else f"{reservation.source} > {reservation.destination}",
        iso(window.start),
        iso(window.end),
        f"{number} of {times}" if times > 1 else "",
    )


def group_row(document: Mapping[str, Any]) -> tuple[str, ...]:
    """The row of a `group_document`: each member is named by its kind, a flow by its service."""
    claims = (
        (one["member"], one["reservation"].get("claim"), one["reservation"]["service"]) for one in document["members"]
    )
    members = ", ".join(f"{name} ({claim['kind'] if claim else service})" for name, claim, service in claims)
    name = f"{document['owner']}/{document['name']}"
    slot = document["slot_state"]
    state = (
        f"{document['state']}, {slot.replace('-', ' ')}" if slot and slot != document["state"] else document["state"]
    )
    return (name, document["handle"], state, document["start"], document["end"], members)


def state_words(entry: Mapping[str, Any]) -> str:
    """The ledger's word; of what is in force, or was, beside it what was verified on its routers: `committed, in place`."""
    state, slot = entry["state"], slot_of(entry)
    on_routers = f", {slot['state'].replace('-', ' ')}" if slot and slot["state"] != state else ""
    return f"{state}{on_routers}{', change waits' if entry['proposed'] else ''}"


def slot_of(entry: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What is on the devices of an entry's slot; older controllers say nothing of it."""
    slot: Mapping[str, Any] | None = entry.get("slot")
    return slot


def boundary_row(item: Mapping[str, Any], now: datetime, *, narrow: bool = False) -> tuple[str, ...]:
    """A boundary of `timeline_document`; `narrow`: devices are counted, and named where they have not what was to begin."""
    devices = _counts(item["devices"]) if narrow else _phases(item["devices"])
    return (item["at"], relative(item["at"], now), names(item), str(item["active"]), devices, lag(item))


def _phases(devices: Iterable[Mapping[str, str]]) -> str:
    """`armed: r1 r2; failed: r3 (why)`."""
    listed: dict[str, list[str]] = {}
    for one in devices:
        words = f" ({one['message']})" if one["message"] else ""
        listed.setdefault(one["phase"], []).append(one["device"] + words)
    return "; ".join(f"{phase}: {' '.join(those)}" for phase, those in listed.items())


def _counts(devices: Iterable[Mapping[str, str]]) -> str:
    """`2 armed, 1 failed: r3`."""
    from slotcar.views.phases import NOT_GIVEN

    listed = list(devices)
    not_given = [one["device"] for one in listed if one["phase"] in NOT_GIVEN]
    counted = ", ".join(f"{count} {phase}" for phase, count in sorted(Counter(one["phase"] for one in listed).items()))
    return f"{counted}: {' '.join(not_given)}" if not_given else counted


def names(item: Mapping[str, Any]) -> str:
    """`+hep/cms in place, -hep/atlas (1 of 3)`: what starts, changes and ends, and what of it is on its routers."""
    signs = (("+", "starting"), ("~", "changing"), ("-", "ending"))
    slots = {(one["what"], one["name"]): f" ({one['number']} of {one['of']})" for one in item.get("slots", ())}
    states = {(one["what"], one["name"]): f" {one['state'].replace('-', ' ')}" for one in item.get("states", ())}
    listed = (
        f"{sign}{name}{slots.get((key, name), '')}{states.get((key, name), '')}"
        for sign, key in signs
        for name in item[key]
    )
    return printable(", ".join(listed))


def lag(item: Mapping[str, Any]) -> str:
    return "" if item["lag_us"] is None else f"{item['lag_us'] / 1000:g} ms"


def relative(at: str, now: datetime) -> str:
    """`in 1 min 5 s`, `12 s ago`: a countdown."""
    from slotcar.base.units import format_duration

    distance = datetime.fromisoformat(at) - now
    whole = timedelta(seconds=round(abs(distance.total_seconds())))
    return f"in {format_duration(whole)}" if distance > timedelta() else f"{format_duration(whole)} ago"
