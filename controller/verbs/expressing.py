"""Whether the platforms on a path can express a reservation: asked at admission, so that no push is the first to find out.

Standing queues follow from the inventory, and at a boundary the guarantees in them change within their shares. What
reservations themselves ask of a platform they ask where they enter: each flow its policer, and all flows of an instant
their lists, classes and policers. So three things are asked, the first two of the network alone:

1. Does each router of the path render as it stands? Known after the first time.
2. Does the flow's first router render the flow by itself?
3. Does it render it beside those that are open at the same time? Only where flows share something that runs out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from controller.intent import EdgeFlow, QosIntent, intents_at
from controller.intent.flows import first_ingress, flows_of
from controller.ledger.model import Condition, Entry, State
from controller.network.model import Device, Network
from controller.path.model import crossed
from controller.platforms import Unrenderable, renderer_of
from controller.registry import facts_of
from controller.timebase import common_windows
from controller.timeline import Active
from controller.verbs.asking import Ask
from controller.verbs.errors import CannotExpress

#: So many different flows at once fit on every platform, if each fits by itself: the tables' smallest number of classes
#: is 64, with what stands. It spares the rendering, and `tests/unit/verbs/test_expressing.py` holds every platform to it.
FEW_FLOWS = 50
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Expressions:
    """What a network's platforms can express. Pure, but for its memory of what it has rendered."""

    network: Network
    _standing: dict[tuple[str, frozenset[str]], str] = field(default_factory=dict)

    def condition(self, ask: Ask) -> Condition | None:
        """What is left to ask under the ledger's lock: beside whom the reservation's flows would be; None for nothing.

        Raises:
            CannotExpress: a platform cannot, whoever else there is.
        """
        entry = _alone(ask)
        if not self._knows(entry):  # bound before the inventory changed: nothing of it can be asked
            return None
        for name in sorted(crossed(ask.paths)):
            self._check_standing(name, entry.reservation.start)
        flows = tuple(flows_of(entry, self.network))
        for flow in flows:
            device = self.network.devices[flow.interface.device]
            _render(QosIntent(device.name, device.platform, (flow,), (), (), ()), device)
        counted = frozenset(name for name in _ingresses(flows) if _shares(self.network.devices[name]))
        return Condition(counted, self.check_beside) if counted else None

    def check_beside(self, entry: Entry, others: Sequence[Entry]) -> None:
        """
        Raises:
            CannotExpress: at some instant a platform cannot express the entry's flows together with the others'.
        """
        own = tuple(flows_of(entry, self.network))
        for name in sorted(_ingresses(own)):
            device = self.network.devices[name]
            there = {one.number: one for one in others if self._enters(one, name)}
            flows = {number: tuple(flows_of(one, self.network)) for number, one in there.items()}
            for at, numbers in busiest(entry, tuple(there.values())):
                together = [flow for flow in own if flow.interface.device == name]
                together += [f for number in numbers for f in flows[number] if f.interface.device == name]
                if _shares(device) and not _surely_fit(together):
                    active = [_active(one, at) for one in (entry, *(there[number] for number in numbers))]
                    _render(intents_at(active, self.network, at, {name})[name], device)

    def _check_standing(self, name: str, at: datetime) -> None:
        device = self.network.devices.get(name)
        if device is None or self.network.domains[device.domain].over_provisioned:
            return
        valid = frozenset(
            sls.name
            for sls in self.network.sls.values()
            if sls.ingress.device == name and (sls.validity is None or sls.validity.contains(at))
        )
        if (name, valid) not in self._standing:
            try:
                _render(intents_at((), self.network, at, {name})[name], device)
                self._standing[name, valid] = ""
            except CannotExpress as error:
                self._standing[name, valid] = str(error)
        if problem := self._standing[name, valid]:
            raise CannotExpress(problem)

    def _enters(self, entry: Entry, device: str) -> bool:
        """Whether a flow of the entry is classified on the device."""
        entered = [first_ingress(path, self.network) for path in entry.paths] if self._knows(entry) else []
        return any(ingress is not None and ingress.device == device for ingress in entered)

    def _knows(self, entry: Entry) -> bool:
        """Whether the inventory still has all of the entry's path."""
        ends = [end for path in entry.paths for hop in path.hops for end in (hop.ingress, hop.egress)]
        return all(
            end.device in self.network.devices and end.name in self.network.devices[end.device].interfaces
            for end in ends
        )


def busiest(entry: Entry, others: Sequence[Entry]) -> list[tuple[datetime, frozenset[int]]]:
    """Instants of the entry's windows at which the most others are open, with their numbers: of two sets of which one
    holds the other, the larger. Fewer flows never ask more of a platform than more.
    """
    steps: list[tuple[datetime, int, int]] = []
    for one in others:
        for window in common_windows(entry.reservation.windows, one.reservation.windows):
            steps += [(window.start, 1, one.number), (window.end, -1, one.number)]
    found: dict[frozenset[int], datetime] = {}
    open_now: set[int] = set()
    risen_at: datetime | None = None
    for at, step, number in sorted(steps):  # ends come before starts: windows are half-open
        if step == 1:
            open_now.add(number)
            risen_at = at
            continue
        if risen_at is not None:
            found.setdefault(frozenset(open_now), risen_at)
            risen_at = None
        open_now.discard(number)
    largest: list[frozenset[int]] = []
    for numbers in sorted(found, key=len, reverse=True):
        if not any(numbers <= other for other in largest):
            largest.append(numbers)
    return [(found[numbers], numbers) for numbers in largest]


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
    window = next(window for window in entry.reservation.windows if window.contains(at))
    return Active(entry, window)


def _alone(ask: Ask) -> Entry:
    """The reservation as if it were the only one."""
    return Entry("", 1, State.COMMITTED, 1, ask.reservation, ask.paths, ask.demands, _EPOCH, _EPOCH)
