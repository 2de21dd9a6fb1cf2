"""Strategies for reserving several things together: GARA's co-reservation (§3), as functions over a `Slotcar`.

A request is what `Slotcar.create` takes. Holds are given back where a strategy does not succeed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from slotcar_client.calls import LIVE
from slotcar_client.client import Slotcar
from slotcar_client.wire.documents import Entry
from slotcar_client.wire.errors import Conflict, Problem, Refused, SlotcarError

Request = Mapping[str, Any]
#: How long a part is held while the others are asked for.
HOLD = "2 min"
#: Shifts of a common window that are tried: each is to where the part that did not fit would.
MOST_SHIFTS = 20


def all_or_none(slotcar: Slotcar, requests: Iterable[Request], hold: str = HOLD) -> list[Entry]:
    """Every request, or none of them: each is held, and all are committed once the last one is.

    Raises:
        Conflict: one is refused (`Refused` with its numbers), or could not be committed in time; none is kept.
    """
    held: list[Entry] = []
    try:
        for request in requests:
            held.append(slotcar.create(request, hold=hold))
        return [slotcar.commit(entry["handle"]) for entry in held]
    except SlotcarError:
        give_back(slotcar, held)
        raise


def first_that_fits(slotcar: Slotcar, alternatives: Sequence[Request]) -> Entry:
    """The first of the alternatives that is admitted: other endpoints, other rates, other times.

    Raises:
        Refused: none is; of the last one.
    """
    for request in alternatives[:-1]:
        with suppress(Refused):
            return slotcar.create(request)
    return slotcar.create(alternatives[-1])


def at_a_common_time(
    slotcar: Slotcar, requests: Sequence[Request], start: datetime, duration: str, latest: datetime, hold: str = HOLD
) -> list[Entry]:
    """All requests over one window, the earliest that is found from `start` on and begins by `latest`.

    Where a part does not fit, all are tried again at the nearest window in which that part does.

    Raises:
        Refused: no such window; of the part that has none.
    """
    for _ in range(MOST_SHIFTS):
        window = {"start": _text(start), "duration": duration}
        try:
            return all_or_none(slotcar, ({**request, **window} for request in requests), hold)
        except Refused as refused:
            nearest = refused.refusal["nearest_window"]
            later = datetime.fromisoformat(nearest["start"]) if nearest else None
            if later is None or not start < later <= latest:
                raise
            start = later
            last = refused
    raise last


def recovered(slotcar: Slotcar, parts: Sequence[Entry], alternatives: Mapping[str, Sequence[Request]]) -> list[Entry]:
    """The parts as they are now; for each that is over before its end, an alternative for its name is reserved.

    Raises:
        Refused: a part is lost, and no alternative for it fits. All others are given back then: a program that needs
            them all has no use for them.
    """
    now = [slotcar.reservation(part["handle"]) for part in parts]
    kept = [part for part in now if part["state"] in LIVE]
    try:
        for part in now:
            if part not in kept:
                name = part["reservation"]["name"]
                kept.append(first_that_fits(slotcar, alternatives.get(name) or [_again(part)]))
    except Conflict:
        give_back(slotcar, kept)
        raise
    return kept


def give_back(slotcar: Slotcar, entries: Iterable[Entry]) -> None:
    """Cancels them all; what is over already stays as it is."""
    for entry in entries:
        with suppress(Problem):
            slotcar.cancel(entry["handle"], "a part of it was refused")


def _again(part: Entry) -> Request:
    """What was asked for, for the rest of its last window."""
    reservation = part["reservation"]
    ends = {
        key: f"{end['host']}:{end['port']}" if end["port"] else end["host"]
        for key, end in (("source", reservation["source"]), ("destination", reservation["destination"]))
    }
    same = {key: reservation[key] for key in ("name", "owner", "protocol", "service", "direction")}
    rate = {} if reservation["rate_bps"] is None else {"rate": f"{reservation['rate_bps']} bit/s"}
    return {**same, **ends, **rate, "start": "now", "end": reservation["windows"][-1]["end"]}


def _text(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
