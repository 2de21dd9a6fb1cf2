"""Background reservations: their rates at every moment, derived from what all others leave (GARA §4.1).

A background reservation's slots in the ledger hold its `at_least` alone. What it gets beyond that is a pure function of the
ledger, the inventory and the time (docs/design.md rule 13): here its slots are replaced by slots with the rates that it
gets, and everything after this (boundaries, intent, programs) treats a change of its rate as any other boundary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from slotcar.admission.resource_id import SLS, ResourceId
from slotcar.admission.resources import background_factors, capacities, demands
from slotcar.base.timebase import MICROSECOND, Window, from_us
from slotcar.base.vocabulary import Direction
from slotcar.book.model import Entry, EntryChange, State
from slotcar.network.model import Network
from slotcar.reservation.model import Reservation, Slot, joined_slots

if TYPE_CHECKING:  # the kernels' compiler takes a second, which a ledger without background reservations does not need
    from slotcar.admission.background import AmountSteps
    from slotcar.admission.rates import Crossing, Profile

#: A derived rate is a multiple of this, rounded down: platforms count no finer, and less changes at boundaries.
STEP_BPS = 1_000
#: A derived rate below this is none, unless `at_least` says so: no platform polices much less, and no transfer uses it.
LEAST_BPS = 64_000


@dataclass(frozen=True)
class BackgroundShares:
    """Derives the rates of background reservations over one network. Pure, but for what it computes once.

    An entry that crosses what an open background reservation uses, and would begin sooner than its interfaces' notice
    after it was made, begins that long after it: whoever has to give way is told first.
    """

    network: Network

    def __call__(self, entries: Iterable[Entry], window: Window) -> tuple[Entry, ...]:
        """The entries in their order, in place of each background one that is open in the window one with its rates.

        Outside the window a background reservation has its `at_least`.

        Args:
            entries: all that are live in the window: what is left depends on every one.
        """
        listed = tuple(entries)
        paths = {
            entry.number: crossings
            for entry in listed
            if entry.reservation.share
            and _is_open(entry, window)
            and (crossings := self._crossings(entry)) is not None
        }
        if not paths:
            return listed
        shared = {crossing.resource for ways in paths.values() for way in ways for crossing in way}
        listed = tuple(self._after_notice(entry, listed, paths.keys(), shared) for entry in listed)
        related = [
            entry
            for entry in listed
            if _is_open(entry, window) and any(demand.resource in shared for demand in entry.demands)
        ]
        span = _span(window, [*self._validity_of(shared), *_borders(related)])
        background = [entry for entry in related if entry.number in paths]
        rates = self._rates(background, paths, related, shared, span)
        derived = {entry.number: self._with_rates(entry, rates, span) for entry in background}
        return tuple(derived.get(entry.number, entry) for entry in listed)

    def _crossings(self, entry: Entry) -> tuple[tuple[Crossing, ...], ...] | None:
        """The resources that each reserved direction crosses; None where the inventory no longer has all of its path."""
        from slotcar.admission.rates import crossings

        try:
            return tuple(crossings(entry.reservation, path, self.network) for path in entry.paths)
        except KeyError:
            return None

    def _after_notice(
        self, entry: Entry, others: Sequence[Entry], background: Iterable[int], shared: set[ResourceId]
    ) -> Entry:
        """The entry with no more than it had before, from its making or change until all background reservations have had
        their notice."""
        if entry.reservation.need is not None:  # its slots move a volume that was promised
            return entry
        change = entry.change or EntryChange(entry.created_at)
        notice = max(
            (self._notices.get(demand.resource, 0) for demand in entry.demands if demand.resource in shared), default=0
        )
        announced_at = change.at + notice * MICROSECOND
        slots = tuple(_until_announced(entry.reservation.slots, change, announced_at))
        if slots == entry.reservation.slots or not slots or self._crossings(entry) is None:
            return entry
        meanwhile = Window(change.at, announced_at)
        if not any(
            one.number in background and one.created_at < change.at and _is_open(one, meanwhile)
            and (one.number != entry.number if entry.change else one.number < entry.number) for one in others
        ):  # fmt: skip
            return entry
        changed = entry.reservation.model_copy(update={"slots": slots})
        return replace(entry, reservation=changed, demands=demands(changed, entry.paths, self.network))

    def _rates(
        self,
        background: Sequence[Entry],
        paths: Mapping[int, Sequence[Sequence[Crossing]]],
        related: Sequence[Entry],
        shared: set[ResourceId],
        span: Window,
    ) -> dict[str, Profile]:
        """By number and direction, see `_name`."""
        from slotcar.admission.background import Share, shares_over

        shares = [
            Share(
                name=_name(entry, way),
                crossings=tuple(crossed),
                windows=tuple(Window(slot.start, slot.end) for slot in entry.reservation.slots),
                weight=entry.reservation.share.weight,
                at_least_bps=entry.reservation.share.at_least_bps,
                at_most_bps=entry.reservation.share.at_most_bps,
            )
            for entry in background
            for way, crossed in zip(entry.reservation.direction.ways, paths[entry.number], strict=True)
            if entry.reservation.share
        ]
        free = self._free(related, shared, span)
        return shares_over(shares, free, span, background_factors(self.network, shared))

    def _free(self, related: Sequence[Entry], shared: set[ResourceId], span: Window) -> dict[ResourceId, AmountSteps]:
        """What the entries leave of each resource over the span; nothing of an SLS that does not hold."""
        import numpy as np

        from slotcar.admission.background import free_amounts
        from slotcar.admission.tables import SlotTables

        names = sorted(shared)
        places = {name: place for place, name in enumerate(names)}
        rows = [
            (places[demand.resource], slot.start_us, slot.end_us, demand.amount(number))
            for entry in related
            for number, slot in enumerate(entry.reservation.slots)
            if slot.overlaps(span)
            for demand in entry.demands
            if demand.resource in places
        ]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        tables = SlotTables.build({name: self._capacities.get(name, 0) for name in names}, names, *columns)
        return {name: self._while_valid(name, free_amounts(tables, name, span), span) for name in names}

    def _while_valid(self, resource: ResourceId, steps: AmountSteps, span: Window) -> AmountSteps:
        agreement = self.network.sls.get(resource.place) if resource.kind == SLS else None
        if agreement is None or agreement.validity is None:
            return steps
        validity = agreement.validity
        inside = [one for one in (validity.start_us, validity.end_us) if span.start_us < one < span.end_us]
        times = sorted({time_us for time_us, _ in steps} | set(inside))
        amounts = dict(steps)
        result: list[tuple[int, int]] = []
        amount = 0
        for time_us in times:
            amount = amounts.get(time_us, amount)
            result.append((time_us, amount if validity.contains(from_us(time_us)) else 0))
        return result

    def _validity_of(self, shared: set[ResourceId]) -> Iterator[datetime]:
        for name in sorted(shared):
            agreement = self.network.sls.get(name.place) if name.kind == SLS else None
            if agreement is not None and agreement.validity is not None:
                yield from (agreement.validity.start, agreement.validity.end)

    def _with_rates(self, entry: Entry, rates: Mapping[str, Profile], span: Window) -> Entry:
        reservation = entry.reservation
        ways = {way: rates.get(_name(entry, way), ()) for way in reservation.direction.ways}
        slots = tuple(part for slot in reservation.slots for part in _slots_of(reservation, slot, ways, span))
        changed = reservation.model_copy(update={"slots": slots})
        return replace(entry, reservation=changed, demands=demands(changed, entry.paths, self.network))

    @cached_property
    def _notices(self) -> dict[ResourceId, int]:
        """The notice of every interface's resources, in microseconds."""
        places = {name: name.interface for name in self._capacities}
        return {name: self.network.interface(place).notice_us for name, place in places.items() if place is not None}

    @cached_property
    def _capacities(self) -> dict[ResourceId, int]:
        return capacities(self.network)


def _name(entry: Entry, way: Direction) -> str:
    return f"{entry.number:012d} {way.value}"


def _until_announced(slots: Sequence[Slot], change: EntryChange, announced_at: datetime) -> Iterator[Slot]:
    """The slots with at most the rates of the form before, until `announced_at`; nothing where that was closed."""
    for slot in slots:
        yield from (
            joined_slots(_parts(slot, change, announced_at))
            if change.at < slot.end and slot.start < announced_at
            else (slot,)
        )


def _parts(slot: Slot, change: EntryChange, announced_at: datetime) -> Iterator[Slot]:
    """The parts of one slot that the time until `announced_at` overlaps."""
    first, last = max(slot.start, change.at), min(slot.end, announced_at)
    if slot.start < first and change.before:
        yield replace(slot, end=first)
    inside = {instant for one in change.before for instant in one if first < instant < last}
    for start, end in pairwise(sorted({first, *inside, last})):
        was = next((one.rates for one in change.before if one.contains(start)), (0, 0))
        forward_bps, reverse_bps = map(min, slot.rates, was)
        if forward_bps or reverse_bps:
            yield Slot(start, end, forward_bps, reverse_bps)
    if last < slot.end:
        yield replace(slot, start=last)


def _is_open(entry: Entry, window: Window) -> bool:
    return entry.state is State.COMMITTED and any(slot.overlaps(window) for slot in entry.reservation.slots)


def _borders(entries: Iterable[Entry]) -> Iterator[datetime]:
    return (instant for entry in entries for slot in entry.reservation.slots for instant in slot)


def _span(window: Window, instants: Iterable[datetime]) -> Window:
    """The window from the last instant before it at which anything changed: so it gives the same slots at every moment
    until something changes again.
    """
    before = [instant for instant in instants if instant <= window.start]
    return Window(max(before, default=window.start), window.end)


def _slots_of(reservation: Reservation, slot: Slot, ways: Mapping[Direction, Profile], span: Window) -> Iterator[Slot]:
    """One slot of the ledger, in parts of one rate each way."""
    borders = {slot.start, slot.end, span.start, span.end}
    borders |= {from_us(time_us) for profile in ways.values() for step in profile for time_us in step[:2]}
    inside = sorted(instant for instant in borders if slot.start <= instant <= slot.end)
    last: Slot | None = None
    for start, end in pairwise(inside):
        rates = {way: _rate_at(profile, start, reservation) for way, profile in ways.items()}
        if not span.contains(start):
            rates = {way: slot.rate_bps(way) for way in ways}
        part = Slot(start, end, *(rates.get(way, 0) for way in Direction.BOTH.ways))
        if last is not None and last.rates == part.rates:
            last = replace(last, end=end)
            continue
        if last is not None:
            yield last
        last = part
    if last is not None:
        yield last


def _rate_at(profile: Profile, at: datetime, reservation: Reservation) -> int:
    """The rate that is policed: a multiple of `STEP_BPS`, or the share's least rate."""
    share = reservation.share
    floor_bps = share.at_least_bps if share else 0
    rate_bps = next((step.rate_bps for step in profile if from_us(step.start_us) <= at < from_us(step.end_us)), 0)
    rounded = rate_bps // STEP_BPS * STEP_BPS
    return max(floor_bps, rounded if rounded >= LEAST_BPS else 0)
