"""Slot boundaries, past and coming: what starts and ends there, and how far each device got with it. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from slotcar.base.timebase import MICROSECOND
from slotcar.book.model import Entry, Event, State
from slotcar.book.slot_now import SlotState
from slotcar.book.slot_states import configured_devices
from slotcar.views.phases import Phase, records_of, seen_of, slot_events_of, with_seen, with_slot_event
from slotcar_client.wire.events import BoundaryFailed, PushWithheld

#: How far back one looks who does not say.
LOOK_BACK = timedelta(hours=1)
#: What makes a boundary active as a whole only when it is so on every device; the first that is found counts.
_WORST_FIRST = (
    Phase.FAILED, Phase.WITHHELD, Phase.UNRECORDED, Phase.PLANNED, Phase.STAGED, Phase.ARMED, Phase.ACTIVE, Phase.UNCHANGED
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class TimelineQuery:
    """Boundaries in `[since, until]`, the first `limit`.

    Attributes:
        devices: only boundaries that concern one of these; None for all.
        handle: only boundaries at which this reservation starts or ends.
        owner, name, label: only boundaries of reservations with these; a label is `(key, value)`, any value where that
            is empty.
        own_only: nothing is said of devices that the reservations do not cross, nor in a device's words, which may be
            about anybody's configuration.
    """

    since: datetime
    until: datetime
    limit: int = 100
    devices: Collection[str] | None = None
    handle: str | None = None
    owner: str | None = None
    name: str | None = None
    label: tuple[str, str] | None = None
    own_only: bool = False

    def concerns(self, entry: Entry) -> bool:
        reservation = entry.reservation
        key, value = self.label or ("", "")
        return (
            self.handle in (None, entry.handle)
            and self.owner in (None, reservation.owner)
            and self.name in (None, reservation.name)
            and (not key or (key in reservation.labels and value in ("", reservation.labels[key])))
        )


@dataclass(frozen=True, slots=True)
class DeviceAtBoundary:
    device: str
    phase: Phase
    lag_us: int | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class SlotAtBoundary:
    """Which slot of a reservation that has several, counted from 1."""

    name: str
    what: Literal["starting", "ending", "changing"]
    number: int
    of: int


@dataclass(frozen=True, slots=True)
class StateAtBoundary:
    """What is on the devices of a slot that starts or ends at a boundary, where it is the reservation's present one."""

    name: str
    what: Literal["starting", "ending"]
    state: SlotState
    since: datetime | None
    why: str


@dataclass(frozen=True, slots=True)
class TimelineItem:
    """One slot boundary: `owner/name` of what starts, ends and changes its rate there, and how many are open then, by the
    ledger: `states` says which of them are on their devices.

    `slots` are of those of them that have more than one."""

    at: datetime
    starting: tuple[str, ...]
    ending: tuple[str, ...]
    active: int
    devices: tuple[DeviceAtBoundary, ...] = ()
    changing: tuple[str, ...] = ()
    slots: tuple[SlotAtBoundary, ...] = ()
    states: tuple[StateAtBoundary, ...] = ()

    @property
    def phase(self) -> Phase:
        """The boundary's as a whole: of the device that is furthest behind."""
        phases = {one.phase for one in self.devices}
        return next((phase for phase in _WORST_FIRST if phase in phases), Phase.ACTIVE)

    @property
    def lags_us(self) -> tuple[int, ...]:
        return tuple(one.lag_us for one in self.devices if one.lag_us is not None)

    @property
    def lag_us(self) -> int | None:
        """The latest device's, as far as lags are known."""
        return max(self.lags_us, default=None)

    @property
    def skew_us(self) -> int | None:
        """Between the first device and the last one; None where fewer than two lags are known."""
        return max(self.lags_us) - min(self.lags_us) if len(self.lags_us) > 1 else None


@dataclass(slots=True)
class _Gathered:
    starting: list[Entry] = field(default_factory=list)
    ending: list[Entry] = field(default_factory=list)
    changing: list[Entry] = field(default_factory=list)


def timeline(
    entries: Iterable[Entry], events: Iterable[Event], query: TimelineQuery, now: datetime, beside: int = 0
) -> tuple[TimelineItem, ...]:
    """The boundaries that the entries have, with what the events say of them; `now` parts what comes from what was.

    Args:
        beside: so many more are active at each of the boundaries.
    """
    listed = tuple(entries)
    gathered = _boundaries(listed, query)
    placed = tuple(_placed(events, {entry.handle: entry for entry in listed}))
    records, sightings, slot_events = records_of(placed), seen_of(placed), slot_events_of(placed)
    reported: dict[datetime, set[str]] = defaultdict(set)
    for at, device in records:
        reported[at].add(device)
    active_at = _active_at(listed)
    items: list[TimelineItem] = []
    for at in sorted(gathered):
        one = gathered[at]
        concerned = (*one.starting, *one.ending, *one.changing)
        names = {device for entry in concerned for device in configured_devices(entry)}
        names |= set() if query.own_only else reported[at]
        if query.devices is not None and not names & set(query.devices):
            continue
        unheard = Phase.PLANNED if at > now else Phase.UNRECORDED
        recorded = [
            (
                name,
                with_slot_event(
                    with_seen(records.get((at, name)), sightings.get(name, ()), at), slot_events.get((at, name)), name
                ),
            )
            for name in sorted(names)
        ]
        devices = tuple(
            DeviceAtBoundary(name, record.phase, record.lag_us, "" if query.own_only else record.message)
            if record
            else DeviceAtBoundary(name, unheard)
            for name, record in recorded
        )
        starting, ending, changing = (
            tuple(sorted(map(_name, those))) for those in (one.starting, one.ending, one.changing)
        )
        items.append(
            TimelineItem(
                at, starting, ending, active_at(at) + beside, devices, changing, tuple(_slots(one, at)),
                tuple(_states(one, at)),
            )
        )  # fmt: skip
        if len(items) == query.limit:
            break
    return tuple(items)


def _placed(events: Iterable[Event], entries: Mapping[str, Entry]) -> Iterator[Event]:
    """The events, with each reservation that was withheld told of at the boundary at which it was to begin."""
    for event in events:
        says, entry = event.says, entries.get(event.handle or "")
        if entry is None or not isinstance(says, PushWithheld):
            yield event
            continue
        # It is told of while the boundary is prepared, or at any time until the slot ends.
        start = next((window.start for window in entry.reservation.windows if window.end > event.at), None)
        if start is not None:
            message = f"{_name(entry)} was withheld: trouble with {', '.join(says.devices)}"
            devices = tuple(sorted(configured_devices(entry)))
            failed = BoundaryFailed(at=start, devices=devices, message=message, withheld=True)
            yield replace(event, kind=failed.kind, details=failed.details)


def _boundaries(entries: Iterable[Entry], query: TimelineQuery) -> dict[datetime, _Gathered]:
    boundaries: dict[datetime, _Gathered] = defaultdict(_Gathered)
    for entry in entries:
        if not query.concerns(entry):
            continue
        for window in entry.reservation.windows:
            if query.since <= window.start <= query.until and _counts(entry, window.start):
                boundaries[window.start].starting.append(entry)
            if query.since <= window.end <= query.until and _counts(entry, window.end):
                boundaries[window.end].ending.append(entry)
        for instant in entry.reservation.rate_changes:
            if query.since <= instant <= query.until and _counts(entry, instant):
                boundaries[instant].changing.append(entry)
    return boundaries


def _slots(one: _Gathered, at: datetime) -> Iterator[SlotAtBoundary]:
    listed: tuple[tuple[Literal["starting", "ending", "changing"], list[Entry]], ...] = (
        ("starting", one.starting), ("ending", one.ending), ("changing", one.changing),
    )  # fmt: skip
    for what, entry in ((what, entry) for what, those in listed for entry in sorted(those, key=_name)):
        windows = entry.reservation.windows
        number = next(
            number
            for number, window in enumerate(windows, 1)
            if (window.end >= at if what == "ending" else window.end > at)
        )
        if len(windows) > 1:
            yield SlotAtBoundary(_name(entry), what, number, len(windows))


def _states(one: _Gathered, at: datetime) -> Iterator[StateAtBoundary]:
    """A start's state as it is now; an end's once the slot is over."""
    listed: tuple[tuple[Literal["starting", "ending"], list[Entry]], ...] = (
        ("starting", one.starting), ("ending", one.ending)
    )  # fmt: skip
    for what, entry in ((what, entry) for what, those in listed for entry in sorted(those, key=_name)):
        slot = entry.slot
        if slot is None or at != (slot.window.start if what == "starting" else slot.window.end):
            continue
        if what == "starting" or slot.state in (SlotState.ENDING, SlotState.ENDED, SlotState.UNKNOWN):
            yield StateAtBoundary(_name(entry), what, slot.state, slot.since, slot.why)


def _counts(entry: Entry, at: datetime) -> bool:
    """Whether the entry was, or is, to have its rate up to that instant: a cancelled one until it was cancelled."""
    if entry.state is State.CANCELLED:
        return at <= entry.changed_at
    return entry.state in (State.COMMITTED, State.ENDED)


def _active_at(entries: Iterable[Entry]) -> Callable[[datetime], int]:
    """How many are active at an instant: what began by then, less what was over by then."""
    starts, ends = [], []
    for entry in entries:
        for window in entry.reservation.windows:
            if _counts(entry, window.start):
                over = entry.state is State.CANCELLED and entry.changed_at < window.end
                starts.append(window.start)
                ends.append(entry.changed_at + MICROSECOND if over else window.end)
    starts.sort()
    ends.sort()
    return lambda at: bisect_right(starts, at) - bisect_right(ends, at)


def _name(entry: Entry) -> str:
    return "/".join(entry.reservation.key)
