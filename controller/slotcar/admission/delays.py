"""The worst delay of each flow of a set, from the bursts of all of them and what the queues on their ways are given.

All flows of a service wait in one queue of each interface, first come, first served. What arrives there in a time t is at
most sum of b + r t, of each flow its token bucket at the edge; from an interface that the analysis knows never more at once
than its line carries. The delay is the greatest horizontal distance between that and the queue's service curve
(Le Boudec and Thiran, Network Calculus, §1.4.1, theorem 1.4.2). Behind a queue a flow's burst has grown by its rate times
the delay so far (theorem 1.4.3, with the delay's bound for the latency). Where the very same flows cross several
queues in a row, these count as one: the burst is paid only once (§1.4.3).

Delays depend on bursts, and bursts on the delays before: the answer is the least solution, found from below. It holds also
where ways form a circle: at any time t the delays until then are finite, and at most what they make of each other; that
is a concave function, above 0 where all is 0, so they are at most any solution that there is (§6.3.2, time stopping).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from slotcar.admission.service_curves import BIT_NS, ServiceCurve, in_a_row, sending_ns, sent_bytes

#: Where delays still grow after so many rounds, they depend on each other in a circle that is too full.
MOST_ROUNDS = 200

Place = Hashable


class NoBound(ValueError):
    """No bound follows for a queue; the message says why, and `place` which it is."""

    def __init__(self, place: Place, words: str) -> None:
        super().__init__(words)
        self.place = place


@dataclass(frozen=True, slots=True)
class QueuedLine:
    """An interface's queue of one service, and the line behind it.

    Attributes:
        overhead_bytes: of each packet on the line; a line's rate bounds what comes to the next only where it is the same
            there.
        propagation_ns: from here to the next.
        admitted_bps: the rates of those who wait in it are never more than this together, whatever each may become; None
            where nobody sees to that.
    """

    curve: ServiceCurve
    line_bps: int
    overhead_bytes: int = 0
    propagation_ns: int = 0
    admitted_bps: int | None = None


@dataclass(frozen=True, slots=True)
class Bundle:
    """Flows that take the same way, or one alone.

    Attributes:
        way: the queues that they wait in, in order.
        bursts_bytes, rates_bps: of all of them together, at each queue as the line there counts it.
        packet_bytes: their longest packet, likewise, on the line where that is the most.
    """

    way: tuple[Place, ...]
    bursts_bytes: tuple[int, ...]
    rates_bps: tuple[int, ...]
    packet_bytes: int = 0


@dataclass(frozen=True, slots=True)
class HopDelay:
    """A queue's part of the worst delay.

    Attributes:
        delay_ns: the part; of queues in a row that count as one, the first has all but the others' latencies.
        burst_bytes: what may wait there together. service: what it waits for.
        propagation_ns: to the next, not in `delay_ns`.
        paid_before: it is one of queues in a row that count as one, and not the first: its bursts wait there.
    """

    place: Any
    delay_ns: int
    burst_bytes: int
    service: ServiceCurve
    propagation_ns: int
    paid_before: bool = False


@dataclass(frozen=True, slots=True)
class WorstDelay:
    """The worst delay of a bundle's packets, from the first queue to the end of the last line."""

    hops: tuple[HopDelay, ...]

    @property
    def queueing_ns(self) -> int:
        return sum(hop.delay_ns for hop in self.hops)

    @property
    def total_ns(self) -> int:
        return self.queueing_ns + sum(hop.propagation_ns for hop in self.hops)


#: A bundle's number, and how many queues it has crossed before.
Visit = tuple[int, int]


@dataclass(slots=True)
class _Analysis:
    """`so_far_ns`: of each visit, the delay up to and with it."""

    bundles: Sequence[Bundle]
    lines: Mapping[Any, QueuedLine]
    visits: dict[Place, list[Visit]] = field(default_factory=dict)
    so_far_ns: dict[Visit, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, bundle in enumerate(self.bundles):
            for hop, place in enumerate(bundle.way):
                self.visits.setdefault(place, []).append((number, hop))
                self.so_far_ns[number, hop] = 0

    def solve(self) -> None:
        for _ in range(MOST_ROUNDS):
            before = dict(self.so_far_ns)
            for number in range(len(self.bundles)):
                self._raise_delays(number)
            if self.so_far_ns == before:
                return
        place = self.bundles[0].way[0]
        raise NoBound(place, "the delays of its queues depend on each other in a circle, and have no bound")

    def _raise_delays(self, number: int) -> None:
        total_ns = 0
        for stretch in self.stretches(number):
            delays_ns = self.delays_of(number, stretch)
            for hop, delay_ns in zip(stretch, delays_ns, strict=True):
                total_ns += delay_ns
                self.so_far_ns[number, hop] = max(self.so_far_ns[number, hop], total_ns)

    def stretches(self, number: int) -> list[list[int]]:
        """The bundle's queues in order, those together that the very same flows cross one after another."""
        way = self.bundles[number].way
        stretches: list[list[int]] = []
        for hop, place in enumerate(way):
            if hop and self._goes_on(way[hop - 1], place):
                stretches[-1].append(hop)
            else:
                stretches.append([hop])
        return stretches

    def _goes_on(self, before: Place, place: Place) -> bool:
        curves = self.lines[before].curve, self.lines[place].curve
        if any(one.grows or one.full_bytes is not None for one in curves):
            return False
        if self.lines[before].overhead_bytes != self.lines[place].overhead_bytes:
            return False
        return {(number, hop + 1) for number, hop in self.visits[before]} == set(self.visits[place])

    def delays_of(self, number: int, stretch: Sequence[int]) -> list[int]:
        """The delay of each queue of a stretch; of several, the first has what is not the others' latency."""
        places = [self.bundles[number].way[hop] for hop in stretch]
        curves = [self.lines[place].curve for place in places]
        first, place = curves[0], places[0]
        if first.full_bytes is not None:
            return [first.latency_ns + sending_ns(first.full_bytes, first.rate_bps)]
        if first.grows:
            return [first.latency_ns + sending_ns(self.burst_bytes(place), self._own_rate_bps(number, stretch[0]))]
        packet_bytes = max(self.bundles[one].packet_bytes for one, _ in self.visits[place])
        whole = [_in_whole_packets(one, packet_bytes) for one in curves[:-1]]
        curve = in_a_row([*whole, curves[-1]])
        latencies_ns = [
            here.latency_ns + before.latency_ns - fluid.latency_ns
            for before, fluid, here in zip(whole, curves, curves[1:], strict=False)
        ]
        return [self._distance_ns(place, curve) - sum(latencies_ns), *latencies_ns]

    def burst_bytes(self, place: Place) -> int:
        """All that may come to a queue at once."""
        return sum(burst for burst, _, _ in self._arrivals(place))

    def _own_rate_bps(self, number: int, hop: int) -> int:
        """The rate of those in a queue that go on to the same next one as this bundle: what stays admitted with it."""
        following = self._next(number, hop)
        place = self.bundles[number].way[hop]
        together = (one for one in self.visits[place] if self._next(*one) == following)
        return max(1, sum(self.bundles[one].rates_bps[at] for one, at in together))

    def _next(self, number: int, hop: int) -> Place:
        way = self.bundles[number].way
        return way[hop + 1] if hop + 1 < len(way) else None

    def _arrivals(self, place: Place) -> list[tuple[int, int, QueuedLine | None]]:
        """What comes to a queue: bursts and rates of those that come over one line, and that line; None: from outside,
        where nothing is known but each flow's own token bucket."""
        sums: dict[Place, tuple[int, int]] = {}
        for number, hop in self.visits[place]:
            bundle = self.bundles[number]
            before = bundle.way[hop - 1] if hop else None
            grown = sent_bytes(bundle.rates_bps[hop], self.so_far_ns[number, hop - 1]) if hop else 0
            burst, rate = sums.get(before, (0, 0))
            sums[before] = burst + bundle.bursts_bytes[hop] + grown, rate + bundle.rates_bps[hop]
        overhead = self.lines[place].overhead_bytes
        lines = {
            before: line
            for before in sums
            if before is not None and (line := self.lines[before]).overhead_bytes == overhead
        }
        return [(burst, rate, lines.get(before)) for before, (burst, rate) in sums.items()]

    def _distance_ns(self, place: Place, curve: ServiceCurve) -> int:
        """The greatest horizontal distance: a concave sum of pieces has it where one of them bends."""
        arrivals = self._arrivals(place)
        if sum(rate for _, rate, _ in arrivals) > curve.rate_bps:
            admitted_bps = self.lines[place].admitted_bps
            if admitted_bps is None or admitted_bps > curve.rate_bps:
                raise NoBound(place, f"more comes to its queue than the {curve.rate_bps} bit/s that it is given")
            return curve.latency_ns + sending_ns(sum(burst for burst, _, _ in arrivals), curve.rate_bps)
        bends_ns = {(0, 0)}
        for burst, rate, line in arrivals:
            if line is not None and burst > line.curve.output_bytes and line.line_bps > rate:
                bits_ns = (burst - line.curve.output_bytes) * BIT_NS
                faster_bps = line.line_bps - rate
                bends_ns.add((bits_ns // faster_bps, -(-bits_ns // faster_bps)))
        worst_ns = 0
        for earliest_ns, latest_ns in bends_ns:
            waiting = sum(_arrived_bytes(*one, latest_ns) for one in arrivals)
            worst_ns = max(worst_ns, sending_ns(waiting, curve.rate_bps) - earliest_ns)
        return curve.latency_ns + worst_ns


def _in_whole_packets(curve: ServiceCurve, packet_bytes: int) -> ServiceCurve:
    """A curve whose packets go on only when they are whole (Le Boudec and Thiran, §1.7.1)."""
    return replace(curve, latency_ns=curve.latency_ns + sending_ns(packet_bytes, curve.rate_bps))


def _arrived_bytes(burst_bytes: int, rate_bps: int, line: QueuedLine | None, time_ns: int) -> int:
    own = burst_bytes + sent_bytes(rate_bps, time_ns)
    if line is None:
        return own
    return min(own, line.curve.output_bytes + sent_bytes(line.line_bps, time_ns))


def worst_delays(bundles: Sequence[Bundle], lines: Mapping[Any, QueuedLine]) -> tuple[WorstDelay, ...]:
    """The worst delay of each bundle beside the others.

    Raises:
        NoBound: more comes to a queue than it is given, or delays have no bound. KeyError: `lines` lacks a queue.
    """
    analysis = _Analysis(bundles, lines)
    analysis.solve()
    answers = []
    for number, bundle in enumerate(bundles):
        hops: list[HopDelay] = []
        for stretch in analysis.stretches(number):
            for hop, delay_ns in zip(stretch, analysis.delays_of(number, stretch), strict=True):
                place = bundle.way[hop]
                line = lines[place]
                waiting = analysis.burst_bytes(place)
                paid = hop != stretch[0]
                hops.append(HopDelay(place, delay_ns, waiting, line.curve, line.propagation_ns, paid))
        answers.append(WorstDelay(tuple(hops)))
    return tuple(answers)
