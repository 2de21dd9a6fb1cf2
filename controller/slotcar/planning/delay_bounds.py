"""Whether the worst delays that are promised hold, beside everything else that is reserved at the same time. Pure.

What may come: of every premium reservation on the way its whole policer's burst, as its platform was told it, all at
the same instant, those that end then beside those that begin. What is given: the queues of a way with a bound have all of
their service's share while it is open (`platforms/intent/egress.py`), so nobody's end makes them slower; of others'
queues only what those who go on together were admitted for. So both sides err towards the promise, and a bound that holds
with all bursts holds with fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TypeAlias

from slotcar.admission.arithmetic import scaled_up
from slotcar.admission.delays import Bundle, HopDelay, NoBound, QueuedLine, WorstDelay, worst_delays
from slotcar.admission.model import DelayRefused, Refused
from slotcar.admission.resource_id import ResourceId
from slotcar.admission.resources import parts_of
from slotcar.admission.service_curves import (
    BIT_NS,
    ServiceCurve,
    TokenBucket,
    sending_ns,
    sent_bytes,
)
from slotcar.base.assured import class_key
from slotcar.base.units import format_bytes_about, format_latency, format_rate_about
from slotcar.base.vocabulary import LONGEST_PACKET_BYTES, RESERVED_SERVICES, Direction, Service
from slotcar.book.model import Entry
from slotcar.network.model import Interface, InterfaceId, Network
from slotcar.network.path.model import Path, ends_of
from slotcar.network.shaping import Shaper, shapers_at
from slotcar.planning.errors import RefusedByAdmission
from slotcar.planning.routing import highest_slots
from slotcar.platforms import Unrenderable, renderer_of, service_curve
from slotcar.platforms.intent.egress import Load, egress_of, outbound, shapers_of
from slotcar.platforms.intent.flows import first_ingress, flows_of
from slotcar.platforms.intent.model import Egress, Queue
from slotcar.reservation.model import Reservation, constant_slots, joined_slots

NS_PER_US = 1_000
#: Of more different sets of reservations that are open together only the one that is refused is asked what would fit.
FEW_SETS = 20
#: A service, and of the assured rate its class on an interface; without a name where there is none.
_Part: TypeAlias = tuple[Service, str]
_PREMIUM: _Part = (Service.IP_PREMIUM, "")


@dataclass(frozen=True, slots=True)
class _BoundFlow:
    """One direction of a reservation while one of its slots is open.

    Attributes:
        way: the interfaces in whose queues it waits, from the device that polices it on.
        burst_bytes, rate_bps: of its policer, as its platform is told them; IP.
        open_from, open_until: both are in it, as what ends and what begins at an instant may wait together.
    """

    entry: Entry
    reservation: Reservation
    direction: Direction
    path: Path
    way: tuple[InterfaceId, ...]
    burst_bytes: int
    rate_bps: int
    open_from: datetime
    open_until: datetime

    @property
    def packet_bytes(self) -> int:
        return self.reservation.packet_size_bytes


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The worst delay of one direction of a reservation. `least_ns`: no packet takes less in the queues."""

    direction: Direction
    delay: WorstDelay
    least_ns: int

    @property
    def jitter_ns(self) -> int:
        return self.delay.queueing_ns - self.least_ns


@dataclass(frozen=True, slots=True)
class DelayBounds:
    """The bounds of a network's reservations. Pure, but for its memory of what queues are given."""

    network: Network
    _curves: dict[tuple[InterfaceId, _Part, bool, TokenBucket], ServiceCurve] = field(default_factory=dict)

    def check(self, entry: Entry, others: Sequence[Entry]) -> None:
        """
        Args:
            others: all reservations of the network that may be open while the entry is.

        Raises:
            RefusedByAdmission: a worst delay that is promised, the entry's own or another's, would not hold with it.
        """
        if not any(one.latest.is_bounded or one.reservation.is_bounded for one in (entry, *others)):
            return
        own = self._flows(entry)
        beside = [flow for other in others for flow in self._flows(other)]
        sets = list(_open_together(own, beside))
        for together in sets:
            refused = self._refusal(entry, together)
            if refused is not None:
                tried = sets if len(sets) <= FEW_SETS else [together]
                raise RefusedByAdmission(
                    entry.reservation,
                    Refused(delay=self._with_what_fits(refused, entry, tried), highest_rate_bps=None),
                )

    def worst(self, entry: Entry, others: Sequence[Entry]) -> tuple[WorstCase, ...]:
        """The worst case of each direction of an entry that is promised one, at any time of it.

        Raises:
            NoBound, Unrenderable: none follows.
        """
        own = self._flows(entry)
        beside = [flow for other in others for flow in self._flows(other)]
        worst: dict[Direction, WorstCase] = {}
        for together in _open_together(own, beside):
            for flow, case in self._worst_cases(together):
                before = worst.get(flow.direction)
                if flow.entry is entry and (before is None or before.delay.total_ns < case.delay.total_ns):
                    worst[flow.direction] = case
        return tuple(worst.values())

    def notes(self, entry: Entry, others: Sequence[Entry]) -> tuple[str, ...]:
        """What is promised of an entry's delays, in a sentence each way; none where nothing is."""
        if not entry.reservation.is_bounded:
            return ()
        try:
            return tuple(_sentence(entry.reservation, case) for case in self.worst(entry, others))
        except (NoBound, Unrenderable) as error:
            return (f"no worst delay follows any more: {error}",)

    # -- flows ---------------------------------------------------------------------------------------------------------

    def _flows(self, entry: Entry) -> list[_BoundFlow]:
        """Those of the entry, of the change that waits for it, and of the form that it had a moment ago."""
        forms: list[tuple[Reservation, tuple[Path, ...]]] = [(entry.reservation, entry.paths)]
        if entry.proposed is not None:
            forms.append((entry.proposed.reservation, entry.proposed.paths))
        if entry.change is not None and entry.change.before:
            before = entry.reservation.model_copy(update={"slots": entry.change.before})
            forms.append((before, entry.paths))
        return [flow for form, paths in forms for flow in self._flows_of_form(entry, form, paths)]

    def _flows_of_form(self, entry: Entry, form: Reservation, paths: tuple[Path, ...]) -> Iterator[_BoundFlow]:
        if form.service not in RESERVED_SERVICES or not self._knows(paths):
            return
        form_entry = replace(entry, reservation=form, paths=paths)
        for slot in joined_slots(highest_slots(form, paths, self.network)):
            for flow in flows_of(form_entry, slot, self.network):
                direction = Direction.BOTH.ways[flow.number & 1]
                device = self.network.devices[flow.interface.device]
                rate_bps, burst_bytes = renderer_of(device).policer(flow, device)
                for way, path in zip(form.ways, paths, strict=True):
                    if way is direction and first_ingress(path, self.network) == flow.interface:
                        yield _BoundFlow(
                            entry, form, way, path, self._way(path), burst_bytes, rate_bps, slot.start, slot.end
                        )

    def _way(self, path: Path) -> tuple[InterfaceId, ...]:
        ingress = first_ingress(path, self.network)
        devices = [hop.device for hop in path.hops]
        first = devices.index(ingress.device) if ingress else len(devices)
        return tuple(hop.egress for hop in path.hops[first:] if hop.device not in path.unreserved_devices)

    def _knows(self, paths: Sequence[Path]) -> bool:
        """Whether the inventory still has all of the paths: what it has no more nobody is told to send there."""
        return self.network.has(ends_of(paths))

    # -- worst cases ---------------------------------------------------------------------------------------------------

    def _worst_cases(self, together: Sequence[_BoundFlow]) -> list[tuple[_BoundFlow, WorstCase]]:
        """Of each flow with a bound, beside the others.

        Raises:
            NoBound, Unrenderable: none follows.
        """
        bounded = [flow for flow in together if flow.reservation.is_bounded]
        for flow in bounded:
            self._require_known_links(flow)
        premium = [flow for flow in together if flow.reservation.service is Service.IP_PREMIUM]
        wanted = {place for flow in bounded for place in flow.way}
        waiting = _that_matter(premium, wanted)
        longest = max([LONGEST_PACKET_BYTES, *(flow.packet_bytes for flow in together)])
        promised = {(place, self._part(flow, place)) for flow in bounded for place in flow.way}
        line = partial(self._line, promised=promised, longest_bytes=longest)
        delays = self._solved(waiting, lambda place: line(place, _PREMIUM, TokenBucket()))
        before = self._premium_buckets(waiting, delays)
        cases = []
        for flow in bounded:
            if flow.reservation.service is Service.IP_PREMIUM:
                delay = delays[flow.way]
                self._require_long_queues(delay, premium)
            else:
                lines = {
                    place: line(place, self._part(flow, place), before.get(place, TokenBucket())) for place in flow.way
                }
                delay = self._solved({flow.way: [flow]}, lines.__getitem__)[flow.way]
            cases.append((flow, WorstCase(flow.direction, delay, self._least_ns(flow))))
        return cases

    def _part(self, flow: _BoundFlow, place: InterfaceId) -> _Part:
        name = flow.reservation.assured_class or ""
        return flow.reservation.service, self.network.interface(place).class_of(name)

    def _solved(
        self,
        waiting: Mapping[tuple[InterfaceId, ...], Sequence[_BoundFlow]],
        line_of: Callable[[InterfaceId], QueuedLine],
    ) -> dict[tuple[InterfaceId, ...], WorstDelay]:
        """The worst delay of each way."""
        bundles = [self._bundle(way, flows) for way, flows in waiting.items()]
        lines = {place: line_of(place) for place in dict.fromkeys(place for way in waiting for place in way)}
        return dict(zip(waiting, worst_delays(bundles, lines), strict=True))

    def _premium_buckets(
        self,
        waiting: Mapping[tuple[InterfaceId, ...], Sequence[_BoundFlow]],
        delays: Mapping[tuple[InterfaceId, ...], WorstDelay],
    ) -> dict[InterfaceId, TokenBucket]:
        """What premium may bring to the line of each queue; never more than its share, which admission sees to."""
        buckets: dict[InterfaceId, TokenBucket] = {}
        for way, flows in waiting.items():
            rates = self._bundle(way, flows).rates_bps
            for place, rate_bps, hop in zip(way, rates, delays[way].hops, strict=True):
                most_bps = self.network.interface(place).share_bps(Service.IP_PREMIUM)
                present = buckets.get(place, TokenBucket())
                buckets[place] = TokenBucket(hop.burst_bytes, min(present.rate_bps + rate_bps, most_bps))
        return buckets

    def _bundle(self, way: tuple[InterfaceId, ...], flows: Sequence[_BoundFlow]) -> Bundle:
        overheads = [self.network.interface(place).overhead_bytes for place in way]
        return Bundle(
            way,
            tuple(sum(_on_line(flow.burst_bytes, flow, overhead) for flow in flows) for overhead in overheads),
            tuple(sum(_on_line(flow.rate_bps, flow, overhead) for flow in flows) for overhead in overheads),
            max(flow.packet_bytes for flow in flows) + max(overheads, default=0),
        )

    def _line(
        self,
        place: InterfaceId,
        part: _Part,
        before: TokenBucket,
        *,
        promised: set[tuple[InterfaceId, _Part]],
        longest_bytes: int,
    ) -> QueuedLine:
        interface = self.network.interface(place)
        curve = self._curve(interface, part, (place, part) in promised, before)
        more_bytes = longest_bytes - LONGEST_PACKET_BYTES
        if more_bytes:  # a scheduler lets a packet of each of its queues through first, and one is on the line
            packets = len(Service) + max(1, len(interface.assured_classes))
            late_ns = packets * sending_ns(more_bytes, curve.rate_bps)
            more_bytes *= packets
            curve = replace(curve, latency_ns=curve.latency_ns + late_ns, output_bytes=curve.output_bytes + more_bytes)
        return QueuedLine(
            curve,
            curve.output_bps or interface.capacity_bps,
            interface.overhead_bytes,
            (interface.propagation_us or 0) * NS_PER_US,
            min(interface.share_bps(*part), curve.output_bps or interface.capacity_bps),
        )

    def _curve(self, interface: Interface, part: _Part, promised: bool, before: TokenBucket) -> ServiceCurve:
        """The least that the queue is given, whatever the others are admitted for at the time."""
        key = (interface.id, part, promised, before)
        if key not in self._curves:
            device = self.network.devices[interface.id.device]
            egresses = [
                egress_of(interface, load) for load in _loads(interface, part, promised, self._shapers(interface))
            ]
            given = [service_curve(one, _queue_of(one, part), device, before) for one in egresses]
            self._curves[key] = ServiceCurve(
                min(one.rate_bps for one in given),
                max(one.latency_ns for one in given),
                grows=not promised and len({one.rate_bps for one in given}) > 1,
                full_bytes=given[0].full_bytes,
                output_bytes=max(one.output_bytes for one in given),
                output_bps=given[0].output_bps,
            )
        return self._curves[key]

    def _shapers(self, interface: Interface) -> dict[ResourceId, Shaper]:
        """What its ways out are held to towards SLSs, at any time.

        Raises:
            NoBound: by an SLS that two controllers may change as they run.
        """
        if not interface.shapes_to_sls:
            return {}
        towards = [sls for one, sls, _ in shapers_at(self.network) if one.id == interface.id]
        if agreed := [sls.name for sls in towards if sls.agreed]:
            raise NoBound(interface.id, _AGREED.format(interface.id, agreed[0]))
        return shapers_of(self.network, None)

    def _require_known_links(self, flow: _BoundFlow) -> None:
        """
        Raises:
            NoBound: how long a link of the way takes is not known, or an over-provisioned domain is crossed. What other
                controllers have of the way is theirs to promise.
        """
        if unreserved := {name for name in flow.path.unreserved_devices if not self._is_elsewhere(name)}:
            device = min(unreserved)
            raise NoBound(device, _OVER_PROVISIONED.format(device))
        for place in flow.way:
            interface = self.network.interface(place)
            if interface.neighbour is not None and interface.propagation_us is None:
                raise NoBound(place, _NO_PROPAGATION.format(place))

    def _is_elsewhere(self, device: str) -> bool:
        return self.network.domains[self.network.devices[device].domain].elsewhere

    def _require_long_queues(self, delay: WorstDelay, premium: Sequence[_BoundFlow]) -> None:
        """
        Raises:
            NoBound: a queue of the way is shorter than what may wait in it, so that some would be lost.
        """
        for hop in delay.hops:
            interface = self.network.interface(hop.place)
            here = [flow for flow in premium if hop.place in flow.way]
            bursts = sum(_on_line(flow.burst_bytes, flow, interface.overhead_bytes) for flow in here)
            way_out = outbound(interface, Service.IP_PREMIUM)
            load = Load({}, {interface.id: bursts}, {way_out}, self._shapers(interface))
            queue = _queue_of(egress_of(interface, load), _PREMIUM)
            rates_bps = sum(_on_line(flow.rate_bps, flow, interface.overhead_bytes) for flow in here)
            waiting_bytes = hop.burst_bytes + sent_bytes(rates_bps, hop.service.latency_ns)
            if waiting_bytes > queue.queue_bytes:
                raise NoBound(hop.place, _SHORT_QUEUE.format(format_bytes_about(waiting_bytes, up=True), hop.place))

    def _least_ns(self, flow: _BoundFlow) -> int:
        """A packet alone still takes its own time on each line."""
        sizes = [
            (flow.packet_bytes + one.overhead_bytes, one.capacity_bps) for one in map(self.network.interface, flow.way)
        ]
        return sum(size * BIT_NS // rate_bps for size, rate_bps in sizes)

    # -- refusals ------------------------------------------------------------------------------------------------------

    def _refusal(self, entry: Entry, together: Sequence[_BoundFlow]) -> DelayRefused | None:
        """The bound that does not hold and is exceeded the most; None where all hold."""
        try:
            cases = self._worst_cases(together)
        except (NoBound, Unrenderable) as error:
            return DelayRefused(f"no worst delay can be promised: {error}")
        broken = []
        for flow, case in cases:
            for what, bound, worst_ns in _bounds(flow.reservation, case):
                if worst_ns > bound * NS_PER_US:
                    broken.append((worst_ns / (bound * NS_PER_US), what, bound, worst_ns, flow, case))
        if not broken:
            return None
        _, what, bound_us, worst_ns, flow, case = max(broken, key=lambda one: one[0])
        return self._explained(entry, together, flow, case, what, bound_us, worst_ns)

    def _explained(
        self,
        entry: Entry,
        together: Sequence[_BoundFlow],
        flow: _BoundFlow,
        case: WorstCase,
        what: str,
        bound_us: int,
        worst_ns: int,
    ) -> DelayRefused:
        hop = max((one for one in case.delay.hops if not one.paid_before), key=lambda one: one.delay_ns)
        whose = "this reservation" if flow.entry.handle == entry.handle else _named(flow, entry)
        worst = format_latency(_up_us(worst_ns))
        if hop.service.full_bytes is not None:
            cause = f"excess of its service may fill the queue there with {format_bytes_about(hop.service.full_bytes)}"
        else:
            waiting = [
                one for one in together if hop.place in one.way and one.reservation.service is flow.reservation.service
            ]
            largest = max(waiting, key=lambda one: one.burst_bytes)
            cause = (
                f"bursts of {format_bytes_about(hop.burst_bytes, up=True)} may wait there together, the largest of"
                f" {format_bytes_about(largest.burst_bytes, up=True)} from"
                f" {'this reservation' if largest.entry.handle == entry.handle else _named(largest, entry)}"
            )
        return DelayRefused(
            f"{whose} is promised {what} of at most {format_latency(bound_us)} {flow.direction.value}, and it could become"
            f" {worst}: {format_latency(_up_us(hop.delay_ns))} of that in the queue of {hop.place}, as {cause}, at"
            f" {format_rate_about(hop.service.rate_bps)}",
            place=str(hop.place),
            worst_us=_up_us(worst_ns),
        )

    def _with_what_fits(
        self, refused: DelayRefused, entry: Entry, sets: Sequence[Sequence[_BoundFlow]]
    ) -> DelayRefused:
        """The refusal, with the largest burst and the highest rate that would fit, as far as there are any."""
        wanted, rate_bps = entry.reservation, entry.reservation.constant_rate_bps
        if refused.worst_us is None or rate_bps is None or wanted.share is not None:
            return refused

        def with_rate(rate_kbps: int) -> Reservation:
            slots = constant_slots(wanted.windows, rate_kbps * 1_000, wanted.direction)
            return wanted.model_copy(update={"slots": slots})

        def with_rtt(rtt_us: int) -> Reservation:
            return wanted.model_copy(update={"rtt_us": rtt_us})

        def fits(form: Reservation) -> bool:
            return all(self._refusal(entry, self._as_form(entry, form, together)) is None for together in sets)

        kbps = _greatest(rate_bps // 1_000, lambda number: fits(with_rate(number)))
        rtt_us = _greatest(wanted.rtt_us, lambda number: fits(with_rtt(number)))
        bursts = (
            [flow.burst_bytes for flow in self._flows_of_form(entry, with_rtt(rtt_us), entry.paths)] if rtt_us else []
        )
        return replace(
            refused,
            burst_bytes=max(bursts, default=None),
            rtt_us=rtt_us,
            rate_bps=kbps * 1_000 if kbps else None,
        )

    def _as_form(self, entry: Entry, form: Reservation, together: Sequence[_BoundFlow]) -> list[_BoundFlow]:
        """The set with another form of the entry, which asks for other bursts and rates."""
        forms = {flow.direction: flow for flow in self._flows_of_form(entry, form, entry.paths)}
        return [
            replace(flow, burst_bytes=other.burst_bytes, rate_bps=other.rate_bps)
            if flow.reservation is entry.reservation and (other := forms.get(flow.direction))
            else flow
            for flow in together
        ]


_OVER_PROVISIONED = "{} is of an over-provisioned domain, whose queues nobody bounds"
_SHORT_QUEUE = "{} of premium may wait in the queue of {}, which is shorter, so some would be lost"
_AGREED = "{} shapes towards the SLS {}, which two controllers agreed on as they run and may change"
_NO_PROPAGATION = "how long the link of {} takes is not known; say its `propagation` in the inventory"


def _queue_of(egress: Egress, part: _Part) -> Queue:
    return next(one for one in egress.queues if one.key == class_key(*part))


def _loads(interface: Interface, part: _Part, promised: bool, shapers: dict[ResourceId, Shaper]) -> Iterator[Load]:
    """The extremes of what may be admitted there: the parts of the link follow from it in straight lines between them."""
    way_out = outbound(interface, *part)
    shares = {outbound(interface, *one): interface.share_bps(*one) for one in parts_of(interface)}
    for own in (False, True):
        for other in (False, True):
            rates = {
                resource: share_bps
                for resource, share_bps in shares.items()
                if (own if resource == way_out else other)
            }
            yield Load(rates, bounded={way_out} if promised else set(), shapers=shapers)


def _on_line(amount: int, flow: _BoundFlow, overhead_bytes: int) -> int:
    return scaled_up(amount, flow.packet_bytes + overhead_bytes, flow.packet_bytes)


def _that_matter(
    flows: Sequence[_BoundFlow], wanted: set[InterfaceId]
) -> dict[tuple[InterfaceId, ...], list[_BoundFlow]]:
    """The flows that come to these queues, or to one before where such a flow waits; by their way as far as that."""
    places, before = set(wanted), -1
    while len(places) != before:
        before = len(places)
        for flow in flows:
            places |= set(_until(flow.way, places))
    by_way: dict[tuple[InterfaceId, ...], list[_BoundFlow]] = {}
    for flow in flows:
        if way := _until(flow.way, places):
            by_way.setdefault(way, []).append(flow)
    return by_way


def _until(way: tuple[InterfaceId, ...], places: set[InterfaceId]) -> tuple[InterfaceId, ...]:
    """The way up to the last of these places on it."""
    last = max((number for number, place in enumerate(way, 1) if place in places), default=0)
    return way[:last]


def _open_together(own: Sequence[_BoundFlow], others: Iterable[_BoundFlow]) -> Iterator[list[_BoundFlow]]:
    """The largest sets of flows that are open at one instant, one of `own` among them, each set once."""
    flows = [*own, *others]
    events = [(flow.open_from, 0, number) for number, flow in enumerate(flows)]
    events += [(flow.open_until, 1, number) for number, flow in enumerate(flows)]
    open_now: dict[int, None] = {}
    known: set[frozenset[object]] = set()
    risen = False
    for _, ends, number in sorted(events):  # a start comes before an end of the same time
        if not ends:
            open_now[number], risen = None, True
            continue
        if risen and any(one < len(own) for one in open_now):
            together = [flows[one] for one in sorted(open_now)]
            alike = frozenset(
                (one.entry.handle, one.direction, one.way, one.burst_bytes, one.rate_bps) for one in together
            )
            if alike not in known:
                known.add(alike)
                yield together
        risen = False
        del open_now[number]


def _bounds(reservation: Reservation, case: WorstCase) -> Iterator[tuple[str, int, int]]:
    if reservation.delay is not None:
        yield "a delay", reservation.delay.at_most_us, case.delay.total_ns
    if reservation.jitter is not None:
        yield "a jitter", reservation.jitter.at_most_us, case.jitter_ns


def _greatest(limit: int, fits: Callable[[int], bool]) -> int | None:
    """The greatest number from 1 to the limit that fits, where smaller ones fit too; None where none does."""
    low, high = 0, limit + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low or None


def _named(flow: _BoundFlow, entry: Entry) -> str:
    """Only an owner's own reservations are named to it."""
    reservation = flow.reservation
    if reservation.owner == entry.reservation.owner:
        return f"{reservation.owner}/{reservation.name}"
    return "another owner's reservation"


def _up_us(time_ns: int) -> int:
    return -(-time_ns // NS_PER_US)


def _sentence(reservation: Reservation, case: WorstCase) -> str:
    parts = [f"{hop.place} {format_latency(_up_us(hop.delay_ns))} ({_waits(hop)})" for hop in case.delay.hops]
    links_ns = sum(hop.propagation_ns for hop in case.delay.hops)
    parts.append(f"links {format_latency(_up_us(links_ns))}" if links_ns else "links 0 ms")
    promised = [
        f"{what} {format_latency(_up_us(worst_ns))} of {format_latency(bound_us)}"
        for what, bound_us, worst_ns in (
            (what.removeprefix("a "), bound_us, worst_ns) for what, bound_us, worst_ns in _bounds(reservation, case)
        )
    ]
    return f"{case.direction.value}, in the worst case: {' and '.join(promised)}; {', '.join(parts)}"


def _waits(hop: HopDelay) -> str:
    if hop.paid_before:
        return "its bursts wait before"
    waiting = hop.burst_bytes if hop.service.full_bytes is None else hop.service.full_bytes
    return f"{format_bytes_about(waiting, up=True)} at {format_rate_about(hop.service.rate_bps)}"
