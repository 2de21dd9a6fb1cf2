"""Events as rows and as lines for people: what, of whom, at which boundary; revisions only where they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from slotcar.cli.tables import Column
from slotcar.cli.zones import in_readers_zone
from slotcar_client.wire.events import (
    Kind,
    OfBoundary,
    OfPush,
    PushArmed,
    PushRolledBack,
    PushStarted,
    PushSuperseded,
    PushVerified,
    read,
)

Event = Mapping[str, Any]
COLUMNS = (Column("event"), Column("at"), Column("what"), Column("of", wraps=True), Column("details", wraps=True))
NARROW = (Column("event", leave_out=2), Column("at", leave_out=1), Column("what"), Column("details", wraps=True))
#: A line names so many reservations.
MOST_SHOWN = 10
#: What a push ended with; the first that one of its devices has counts.
_OUTCOMES: Mapping[type, str] = {PushRolledBack: "rolled back", PushSuperseded: "superseded", PushVerified: "pushed"}


def cells(event: Event, *, long: bool = False) -> tuple[str, str, str, str, str]:
    """An event as a row; `long`: with its revision, and its time to the microsecond."""
    details = event["details"]  # by their keys: a newer controller has kinds that have no class here
    named = f"{details.get('owner', '')}/{details.get('name', '')}".strip("/")
    devices = " ".join(details.get("devices") or ())
    of = event["device"] or named or (event["handle"] if details.get("message") else devices) or event["handle"] or ""
    words = [str(details.get("message") or _what_for(details) or details.get("actor") or "")]
    if long and details.get("revision"):
        words.append(str(details["revision"]))
    return (
        str(event["sequence"]), event["at"] if long else to_seconds(event["at"]), event["kind"], of,
        "  ".join(filter(None, words)),
    )  # fmt: skip


def narrow_cells(event: Event) -> tuple[str, ...]:
    """An event as a row of `NARROW`: whom it is of stands before its details."""
    number, at, kind, of, words = map(in_readers_zone, cells(event))
    same_day = words.replace(f"for {at[:11]}", "for ")
    return (number, at, kind, ": ".join(filter(None, (of, same_day))))


def to_seconds(text: str) -> str:
    """`2027-03-01T13:00:00Z` of an ISO 8601 text in UTC."""
    return f"{text[:19]}Z"


def _what_for(details: Mapping[str, Any]) -> str:
    boundary = details.get("at") or details.get("activate_at")
    words = f"for {to_seconds(boundary)}" if isinstance(boundary, str) else ""
    return " ".join(filter(None, (words, _in_brackets(names_of(details.get("reservations"))))))


def names_of(*reservations: Mapping[str, Any] | None) -> str:
    """`+hep/cms, ~hep/lhcb, -hep/atlas`: what pushes change, of their events' details; `hep/cms` where they only put in
    place again what is active."""
    some = [one for one in reservations if one]
    signs = (("+", "starting"), ("~", "changing"), ("-", "ending"))
    listed = _each_once(f"{sign}{name}" for sign, kind in signs for one in some for name in one.get(kind, ()))
    listed = listed or _each_once(name for one in some for name in one.get("active", ()))
    more = len(listed[MOST_SHOWN:]) + max((one.get("not_named", 0) for one in some), default=0)
    return ", ".join([*listed[:MOST_SHOWN], *([f"and {more} more"] if more else [])])


def _each_once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def _in_brackets(names: str) -> str:
    return f"({names})" if names else ""


@dataclass(slots=True)
class PushLines:
    """One line for all events of a push, and a line for each other event.

    Attributes:
        names_at: what starts and ends at a boundary, such as `+hep/cms`; empty where nobody knows.
    """

    names_at: Callable[[str], str]
    _revision: str = ""
    _of_push: list[tuple[Event, OfPush | PushRolledBack]] = field(default_factory=list)

    def add(self, event: Event) -> list[str]:
        """The lines that can be said now: an event of a push waits for those of its other devices."""
        says = read(event["kind"], event["details"])
        if not isinstance(says, OfPush | PushRolledBack) or not says.revision or says.words:
            return [*self.flush(), self._line(event, says)]
        lines = [] if says.revision == self._revision else self.flush()
        if says.revision != self._revision:
            self._revision, self._of_push = says.revision, []
        self._of_push.append((event, says))
        return lines

    def flush(self) -> list[str]:
        """The line of the push that waits; none while it has only begun."""
        kinds = {type(says) for _, says in self._of_push}
        outcome = next((words for kind, words in _OUTCOMES.items() if kind in kinds), None)
        if outcome is None:
            return []
        (last, _), concerning = self._of_push[-1], self._of_all()
        self._of_push = []
        return ["  ".join((str(last["sequence"]), to_seconds(last["at"]), outcome, concerning))]

    def _of_all(self) -> str:
        """Boundary, reservations and devices of the push: what it changes at once comes before what it arms."""
        devices = _each_once(event["device"] for event, _ in self._of_push if event["device"])
        steps = [says for _, says in self._of_push]
        started = [one for one in steps if isinstance(one, PushStarted | PushVerified | PushRolledBack)]
        reservations = [one.reservations for one in started if one.reservations is not None]
        if reservations:
            changes = [one for one in reservations if one.keys() & {"starting", "changing", "ending"}]
            boundary = max((one["boundary"] for one in changes if "boundary" in one), default="")
            return _sentence(boundary, names_of(*(changes or reservations)), devices, repairs=not changes)
        at = next((one.at for one in steps if isinstance(one, PushArmed)), None)
        first = steps[0]
        if at is None and isinstance(first, PushStarted | PushVerified):
            at = first.activate_at
        return self._concerning(at, devices)

    def _line(self, event: Event, says: Kind | None) -> str:
        number, at, kind, of, words = cells(event)
        if isinstance(says, OfBoundary) and says.at and says.devices:
            return "  ".join((number, at, kind, self._concerning(says.at, says.devices)))
        return "  ".join(filter(None, (number, at, kind, of, words)))

    def _concerning(self, at: datetime | None, devices: Iterable[str]) -> str:
        boundary = at.isoformat() if at else ""
        return _sentence(boundary, self.names_at(boundary) if boundary else "", devices)


def _sentence(boundary: str, names: str, devices: Iterable[str], *, repairs: bool = False) -> str:
    what = "what is wanted" if repairs else f"for {to_seconds(boundary)}" if boundary else ""
    where = " ".join(devices)
    return " ".join(filter(None, (what, _in_brackets(names), f"on {where}" if where else "")))
