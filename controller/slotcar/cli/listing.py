"""The rows of `status` and `timeline`: what stands in which column, and which is left out first on a narrow terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from slotcar.cli.tables import Column

if TYPE_CHECKING:
    from slotcar.ledger.model import Entry
    from slotcar.timebase import Window

#: docs/howto/operate.md states the order in which columns are left out.
RESERVATIONS = (
    Column("reservation"), Column("handle"), Column("state", wraps=True), Column("rate", leave_out=4),
    Column("service", leave_out=2), Column("flow", leave_out=1), Column("start", leave_out=5), Column("end", leave_out=3),
    Column("slot"),
)  # fmt: skip
GROUPS = (
    Column("group"), Column("handle"), Column("state", wraps=True), Column("start", leave_out=2),
    Column("end", leave_out=1), Column("members", wraps=True),
)  # fmt: skip
BOUNDARIES = (
    Column("at"), Column("when", leave_out=3), Column("starts +, ends -", wraps=True),
    Column("active then", leave_out=1), Column("devices", wraps=True), Column("lag", leave_out=2),
)  # fmt: skip


def reservation_row(entry: Entry, now: datetime) -> tuple[str, ...]:
    """Start and end are those of the slot that is open or comes next; of one of several, `slot` says which."""
    from slotcar.timebase import iso
    from slotcar.views.explain import rate_words

    reservation = entry.reservation
    number, window = present_slot(entry, now)
    times = len(reservation.windows)
    return (
        "/".join(reservation.key),
        entry.handle,
        state_words(entry, now),
        rate_words(reservation),
        reservation.claim.kind if reservation.claim else reservation.service.value,
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
    return (name, document["handle"], document["state"], document["start"], document["end"], members)


def state_words(entry: Entry, now: datetime) -> str:
    """`active` while a slot of a committed reservation is open, else the ledger's word."""
    from slotcar.ledger.model import State

    _, window = present_slot(entry, now)
    is_open = entry.state is State.COMMITTED and window.start <= now < window.end
    return f"{'active' if is_open else entry.state.value}{', change waits' if entry.proposed else ''}"


def present_slot(entry: Entry, now: datetime) -> tuple[int, Window]:
    """Which slot is open, else the next one, else the last; counted from 1."""
    windows = entry.reservation.windows
    return next(((n, one) for n, one in enumerate(windows, 1) if now < one.end), (len(windows), windows[-1]))


def boundary_row(item: Mapping[str, Any], now: datetime, *, narrow: bool = False) -> tuple[str, ...]:
    """A boundary of `timeline_document`; `narrow`: devices are counted, and named only where they failed."""
    from slotcar.cli.watching import lag, names, relative

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
    listed = list(devices)
    failed = [one["device"] for one in listed if one["phase"] == "failed"]
    counted = ", ".join(f"{count} {phase}" for phase, count in sorted(Counter(one["phase"] for one in listed).items()))
    return f"{counted}: {' '.join(failed)}" if failed else counted
