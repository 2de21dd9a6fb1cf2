"""How far each device got with each slot boundary, out of the audit log. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from slotcar.base.timebase import iso
from slotcar.book.model import Event
from slotcar.book.slot_now import SlotState
from slotcar_client.wire.events import (
    BoundaryActive,
    BoundaryFailed,
    BoundarySeen,
    BoundaryStaged,
    Kind,
    OfBoundary,
    OfPush,
    OfSlot,
    PushArmed,
    PushFailure,
    PushNotRolledBack,
    PushStarted,
    PushVerified,
)

#: The events that tell of boundaries.
KINDS = ("boundary.", "push.", "slot.")


class Phase(StrEnum):
    """How far a device is with a boundary: `planned` is to come, `unrecorded` is past and has no record. `withheld`: what
    was to begin there was kept from it, because of itself or another. `nothing to do`: none of its lines change there, and
    it was read and has what is wanted."""

    PLANNED = "planned"
    STAGED = "staged"
    ARMED = "armed"
    ACTIVE = "active"
    FAILED = "failed"
    WITHHELD = "withheld"
    UNRECORDED = "unrecorded"
    UNCHANGED = "nothing to do"


@dataclass(frozen=True, slots=True)
class Record:
    """What the log says of one device at one boundary.

    Attributes:
        lag_us: how long after the boundary the device acted; None where nobody measured it.
        message: why it failed, or what else there is to say.
        sequence: of the event that said it.
    """

    phase: Phase
    lag_us: int | None = None
    message: str = ""
    sequence: int = field(default=0, compare=False)


#: It has not what the boundary was to bring, and why is said.
NOT_GIVEN = frozenset({Phase.FAILED, Phase.WITHHELD})
Records = Mapping[tuple[datetime, str], Record]


@dataclass(frozen=True, slots=True)
class Sighting:
    """At `at` a device was seen to have all that was wanted of it until `until`."""

    until: datetime
    at: datetime


_ORDER = (Phase.STAGED, Phase.ARMED, Phase.ACTIVE)


def records_of(events: Iterable[Event]) -> Records:
    """By boundary and device. `events` in the order of their numbers; others than `KINDS` are passed over."""
    records: dict[tuple[datetime, str], Record] = {}
    revisions: dict[str, datetime] = {}
    failures: dict[str, set[datetime]] = defaultdict(set)
    withheld: set[datetime] = set()
    for event in events:
        says = event.says
        at = _boundary(says, revisions)
        phase = _phase(says, event.at, at)
        if phase is None and not isinstance(says, BoundarySeen):
            continue
        if at is not None and isinstance(says, BoundaryFailed) and says.withheld:
            withheld.add(at)
        lags = lags_us(event)
        for device in devices_of(event):
            if at is not None and phase is not None:
                new = Record(phase, lags.get(device), _message(says, phase), event.sequence)
                records[at, device] = _later(records.get((at, device)), new)
                (failures[device].add if phase in NOT_GIVEN else failures[device].discard)(at)
            if isinstance(says, PushVerified | BoundarySeen):
                # What failed at a boundary, and is verified after it, carries what that boundary wanted, late. Only a push
                # gives a device what was withheld from it.
                made_good = failures[device] - withheld if isinstance(says, BoundarySeen) else failures[device]
                for boundary in [one for one in made_good if one <= event.at]:
                    words = f"late, at {iso(event.at)}: {records[boundary, device].message}"
                    records[boundary, device] = Record(Phase.ACTIVE, None, words)
                    failures[device].discard(boundary)
    return records


def seen_of(events: Iterable[Event]) -> Mapping[str, tuple[Sighting, ...]]:
    """By device, in the order of the events: when it was seen to have all that was wanted."""
    by_device: dict[str, list[Sighting]] = defaultdict(list)
    for event in events:
        if sighting := _sighting(event):
            unchanged = event.says.unchanged if isinstance(event.says, PushVerified) else ()
            for device in (*devices_of(event), *unchanged):
                by_device[device].append(sighting)
        elif isinstance(says := event.says, BoundaryActive) and says.at is not None:
            for device in says.unchanged:
                by_device[device].append(Sighting(says.at, event.at))
    return {device: tuple(listed) for device, listed in by_device.items()}


def _sighting(event: Event) -> Sighting | None:
    says = event.says
    until = says.activate_at if isinstance(says, PushVerified) else None
    until = says.until if isinstance(says, BoundarySeen) else until
    # Sighting before its instant, it is what the device holds ready.
    return Sighting(until, event.at) if until is not None and until <= event.at else None


def with_seen(record: Record | None, sightings: Iterable[Sighting], boundary: datetime) -> Record | None:
    """A boundary that nobody saw the device act at (no controller ran, or it came late) is in place when the device is
    first seen to have what is wanted after it; how late the device acted nobody knows."""
    if record is not None and record.phase in (Phase.ACTIVE, *NOT_GIVEN):
        return record
    first = next((one for one in sightings if one.until >= boundary), None)
    return Record(Phase.ACTIVE, None, f"in place by {iso(first.at)}") if first else record


def slot_events_of(events: Iterable[Event]) -> Mapping[tuple[datetime, str], Event]:
    """By boundary and device: the last event of a slot that says that it is in place there since its start, kept from it at
    its start, or gone since its end."""
    last: dict[tuple[datetime, str], Event] = {}
    for event in events:
        says = event.says
        if not isinstance(says, OfSlot):
            continue
        edge: Mapping[str, datetime | None] = {
            SlotState.IN_PLACE: says.start, SlotState.WITHHELD: says.start, SlotState.ENDED: says.end
        }  # fmt: skip
        for device, state in says.devices.items():
            if at := edge.get(state):
                last[at, device] = event
    return last


def with_slot_event(record: Record | None, slot_event: Event | None, device: str) -> Record | None:
    """A device that had nothing to do at a boundary and was read is not unrecorded; nor has it failed for ever where what
    was withheld then is in place since. One from which a slot is kept is not only planned or armed."""
    says = slot_event.says if slot_event else None
    if slot_event is None or not isinstance(says, OfSlot):
        return record
    if says.devices[device] == SlotState.WITHHELD:
        stands = record is not None and (record.phase is Phase.ACTIVE or record.phase in NOT_GIVEN)
        return record if stands else Record(Phase.WITHHELD, None, says.message, slot_event.sequence)
    if record is not None and record.phase not in NOT_GIVEN:
        return record
    if record is None:
        return Record(Phase.UNCHANGED)
    if record.sequence < slot_event.sequence:
        return Record(Phase.ACTIVE, None, f"late, at {iso(slot_event.at)}: {record.message}", slot_event.sequence)
    return record


def devices_of(event: Event) -> tuple[str, ...]:
    says = event.says
    return (event.device,) if event.device else says.devices if isinstance(says, OfBoundary | BoundarySeen) else ()


def lags_us(event: Event) -> dict[str, int]:
    """Microseconds after the boundary, by device: one number for all of them, or one each."""
    lag = event.says.lag_us if isinstance(event.says, BoundaryActive) else None
    if isinstance(lag, Mapping):
        return {str(device): one for device, one in lag.items() if isinstance(one, int)}
    return dict.fromkeys(devices_of(event), lag) if isinstance(lag, int) else {}


def _boundary(says: Kind | None, revisions: dict[str, datetime]) -> datetime | None:
    """The boundary that an event is about, told by itself or by an earlier event of its revision."""
    at = says.activate_at if isinstance(says, PushStarted | PushVerified) else None
    at = says.at if isinstance(says, OfBoundary | PushArmed) else at
    revision = says.revision if isinstance(says, OfPush | BoundaryStaged | BoundaryActive) else None
    if at is not None and revision:
        revisions[revision] = at
    return at or revisions.get(revision or "")


_SIMPLY: Mapping[type, Phase] = {
    PushStarted: Phase.STAGED,
    PushArmed: Phase.ARMED,
    BoundaryActive: Phase.ACTIVE,
    PushFailure: Phase.FAILED,
    PushNotRolledBack: Phase.FAILED,
}


def _phase(says: Kind | None, recorded_at: datetime, boundary: datetime | None) -> Phase | None:
    if isinstance(says, BoundaryStaged):
        # It names the revision that armed the devices; without one a play waits for the boundary.
        return Phase.ARMED if says.revision else Phase.STAGED
    if isinstance(says, PushVerified):
        # Read back before the boundary, it is the program that was found, not yet its effect.
        return Phase.ARMED if boundary is not None and recorded_at < boundary else Phase.ACTIVE
    if isinstance(says, BoundaryFailed):
        return Phase.WITHHELD if says.withheld else Phase.FAILED
    return _SIMPLY.get(type(says))


def _message(says: Kind | None, phase: Phase) -> str:
    if phase not in NOT_GIVEN:
        return ""
    words = (says.words if says else "") or "no reason was recorded"
    return f"not rolled back: {words}" if isinstance(says, PushNotRolledBack) else words


def _later(old: Record | None, new: Record) -> Record:
    """A failure counts until something is tried again; else the furthest phase, with the lag that was told."""
    if old is None or not NOT_GIVEN.isdisjoint((old.phase, new.phase)):
        return new
    if _ORDER.index(new.phase) < _ORDER.index(old.phase):
        return old
    return new if new.lag_us is not None or new.phase is not old.phase else old
