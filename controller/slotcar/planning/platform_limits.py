"""Whether the platforms on a path can express a reservation: asked at admission, so that no push is the first to find out.

The queues follow from the inventory, and at a boundary the guarantees in them change within their shares. What
reservations themselves ask of a platform they ask where they enter: each flow its policer, and all flows of an instant
their lists, classes and policers. So three things are asked, the first two of the network alone:

1. Does each router of the path render as it stands? Known after the first time.
2. Does the flow's first router render the flow by itself?
3. Does it render it beside those that are open at the same time? Only where flows share something that runs out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from slotcar.base.registry import facts_of
from slotcar.base.units import format_rate_about, parse_rate_bps
from slotcar.book.model import Condition, Entry, State
from slotcar.book.timeline import Active, active_at
from slotcar.network.model import Device, Network
from slotcar.network.path.model import crossed, ends_of
from slotcar.network.shaping import devices_of
from slotcar.planning.errors import CannotExpress
from slotcar.planning.routing import RoutedReservation, highest_slots
from slotcar.platforms import Unrenderable, renderer_of
from slotcar.platforms.intent import EdgeFlow, QosIntent, intents_at
from slotcar.platforms.intent.flows import first_ingress, flows_of
from slotcar.platforms.model import BeyondLimit
from slotcar.reservation.model import Slot, constant_slots

#: So many different flows at once fit on every platform, if each fits by itself: the tables' smallest number of classes
#: is 64, with those that are always there. It spares the rendering; `tests/unit/planning/test_platform_limits.py` holds
#: every platform to it.
FEW_FLOWS = 50
#: One that is open beside the entry: its number, the entry's own rates meanwhile, and its rates.
_Open = tuple[int, tuple[int, int], tuple[int, int]]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def after_admission(
    condition_of: Callable[[RoutedReservation], Condition | None], routed: RoutedReservation
) -> Condition | None:
    """As `condition_of`, but what a platform cannot express at all is told under the lock, after admission's answer."""
    try:
        return condition_of(routed)
    except CannotExpress as error:
        cannot = error

    def tell(_entry: Entry, _others: Sequence[Entry]) -> None:
        raise cannot

    return Condition(frozenset(), tell, few=-1)


@dataclass(frozen=True, slots=True)
class PlatformLimits:
    """What a network's platforms can express. Pure, but for its memory of what it has rendered."""

    network: Network
    _queue_problems: dict[tuple[str, frozenset[str]], str] = field(default_factory=dict)

    def condition(self, routed: RoutedReservation) -> Condition | None:
        """The condition to check under the ledger's lock, as it depends on the flows beside the reservation's; None for no
        condition.

        Raises:
            CannotExpress: a platform cannot, whoever else there is.
        """
        entry = routed.entry("", 1, _EPOCH)  # as if it were the only one
        if not self._knows(entry):  # bound before the inventory changed: nothing of it can be asked
            return None
        for name in sorted(crossed(routed.paths)):
            self._check_queues(name, entry.reservation.start)
        return self._condition_of(entry)

    def condition_of_flows(self, routed: RoutedReservation) -> Condition | None:
        """As `condition`, of routers that render as they stand.

        Raises:
            CannotExpress: a platform cannot, whoever else there is.
        """
        entry = routed.entry("", 1, _EPOCH)
        return self._condition_of(entry) if self._knows(entry) else None

    def _condition_of(self, entry: Entry) -> Condition | None:
        entry = self._at_most(entry)
        rates = {slot.rates: slot for slot in entry.reservation.slots}
        flows = tuple(flow for slot in rates.values() for flow in flows_of(entry, slot, self.network))
        try:
            self._render_alone(flows)
        except CannotExpress as error:
            raise CannotExpress(f"{error}{self._what_fits(error, entry)}") from error
        counted = frozenset(name for name in _ingresses(flows) if _shares(self.network.devices[name]))
        if not counted:
            return None
        # What a device classified when its domain was not over-provisioned yet, one further on classifies now.
        passed = {one.name for one in self.network.devices.values() if self.network.domains[one.domain].is_unreserved}
        return Condition(counted | passed, self.check_beside, FEW_FLOWS)

    def _render_alone(self, flows: Iterable[EdgeFlow]) -> None:
        for flow in flows:
            device = self.network.devices[flow.interface.device]
            _render(QosIntent(device.name, device.platform, (flow,), (), (), ()), device)

    def _what_fits(self, error: CannotExpress, entry: Entry) -> str:
        """In words, the highest rate that the platform takes, where it is the rate that is too high for it."""
        reservation, cause = entry.reservation, error.__cause__
        rates = {rate_bps for slot in reservation.slots for rate_bps in slot.rates if rate_bps}
        if not isinstance(cause, BeyondLimit) or len(rates) != 1:
            return ""
        # Both grow with the rate alone, headers included.
        words = format_rate_about(rates.pop() * cause.most // cause.wanted)
        slots = constant_slots(reservation.windows, parse_rate_bps(words), reservation.direction)
        fitting = replace(entry, reservation=reservation.model_copy(update={"slots": slots}))
        try:
            self._render_alone(flows_of(fitting, slots[0], self.network))
        except CannotExpress:
            return ""
        return f"; {words} is the highest rate that fits"

    def check_beside(self, entry: Entry, others: Sequence[Entry]) -> None:
        """
        Raises:
            CannotExpress: at some instant a platform cannot express the entry's flows together with the others'.
        """
        entry = self._at_most(entry)
        for name in sorted(self._devices_entered(entry)):
            device = self.network.devices[name]
            if not _shares(device):
                continue
            entries_by_number = {
                one.number: self._at_most(one) for one in others if name in self._devices_entered(one)
            }
            for at, numbers in busiest(entry, tuple(entries_by_number.values())):
                active = [_active(one, at) for one in (entry, *(entries_by_number[number] for number in numbers))]
                flows = [flow for one in active for flow in flows_of(one.entry, one.slot, self.network)]
                if not _surely_fit([flow for flow in flows if flow.interface.device == name]):
                    _render(intents_at(active, self.network, at, {name})[name], device)

    def _at_most(self, entry: Entry) -> Entry:
        """A background reservation with the highest rates that it may get: they ask the most of a platform."""
        reservation = entry.reservation
        if reservation.share is None or not self._knows(entry):
            return entry
        slots = highest_slots(reservation, entry.paths, self.network)
        return replace(entry, reservation=reservation.model_copy(update={"slots": slots}))

    def _check_queues(self, name: str, at: datetime) -> None:
        device = self.network.devices.get(name)
        if device is None or not self.network.is_configured(device):
            return
        valid = frozenset(
            sls.name
            for sls in self.network.sls.values()
            if (sls.validity is None or sls.validity.contains(at)) and name in devices_of(sls, self.network)
        )
        if (name, valid) not in self._queue_problems:
            try:
                _render(intents_at((), self.network, at, {name})[name], device)
                self._queue_problems[name, valid] = ""
            except CannotExpress as error:
                self._queue_problems[name, valid] = str(error)
        if problem := self._queue_problems[name, valid]:
            raise CannotExpress(problem)

    def _devices_entered(self, entry: Entry) -> set[str]:
        """The devices on which a flow of the entry is classified."""
        entered = [first_ingress(path, self.network) for path in entry.paths] if self._knows(entry) else []
        return {ingress.device for ingress in entered if ingress is not None}

    def _knows(self, entry: Entry) -> bool:
        """Whether the inventory still has all of the entry's path."""
        return self.network.has(ends_of(entry.paths))


def busiest(entry: Entry, others: Sequence[Entry]) -> list[tuple[datetime, frozenset[int]]]:
    """Instants of the entry's slots at which the most others are open, with their numbers: of two sets with the same
    rates of which one holds the other, the larger. Fewer flows never ask more of a platform than more.
    """
    steps: list[tuple[datetime, int, _Open]] = []
    for one in others:
        for start, end, mine, theirs in _common(entry.reservation.slots, one.reservation.slots):
            opened = (one.number, mine.rates, theirs.rates)
            steps += [(start, 1, opened), (end, -1, opened)]
    risen: dict[frozenset[_Open], datetime] = {}
    open_now: set[_Open] = set()
    risen_at: datetime | None = None
    for at, step, opened in sorted(steps):  # ends come before starts: slots are half-open
        if step == 1:
            open_now.add(opened)
            risen_at = at
            continue
        if risen_at is not None:
            risen.setdefault(frozenset(open_now), risen_at)
            risen_at = None
        open_now.discard(opened)
    largest: list[frozenset[_Open]] = []
    for together in sorted(risen, key=len, reverse=True):
        if not any(together <= other for other in largest):
            largest.append(together)
    return [(risen[together], frozenset(number for number, _, _ in together)) for together in largest]


def _common(some: Sequence[Slot], others: Sequence[Slot]) -> Iterator[tuple[datetime, datetime, Slot, Slot]]:
    """The time that slots in order have in common with others in order: start, end and the two."""
    ends = [slot.end for slot in others]
    for slot in some:
        for index in range(bisect_left(ends, slot.start), len(others)):
            other = others[index]
            if other.start >= slot.end:
                break
            start, end = max(slot.start, other.start), min(slot.end, other.end)
            if start < end:
                yield start, end, slot, other


def _shares(device: Device) -> bool:
    """Whether the flows of a device share something that runs out."""
    return facts_of(device.platform).flows_share


def _surely_fit(flows: Sequence[EdgeFlow]) -> bool:
    """Few enough, and none for the same packets: those would share one policer with the sum of their rates."""
    different = {(flow.interface.name, flow.match) for flow in flows}
    return len(flows) <= FEW_FLOWS and len(different) == len(flows)


def _render(intent: QosIntent, device: Device) -> None:
    """
    Raises:
        CannotExpress: with the renderer's own sentence, as a plan would say it.
    """
    try:
        renderer_of(device).configuration(intent, device)
    except Unrenderable as error:
        raise CannotExpress(str(error)) from error


def _ingresses(flows: Sequence[EdgeFlow]) -> set[str]:
    return {flow.interface.device for flow in flows}


def _active(entry: Entry, at: datetime) -> Active:
    reservation = entry.reservation.model_copy(update={"released": False})  # it may be provisioned at any time
    return active_at((replace(entry, state=State.COMMITTED, reservation=reservation),), at)[0]
