"""GARA's background reservations: one flow that gets what foreground reservations leave, and is told before it changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from slotcar.admission.arithmetic import BURST_FLOOR_BYTES, burst_bytes
from slotcar.vocabulary import Protocol
from slotcar_lab.experiments import figures, pacing
from slotcar_lab.experiments.bench import SLOT_SETTLE_S, START_S, Bench, Slot, Udp
from slotcar_lab.experiments.experiment import Findings
from slotcar_lab.experiments.figures import Phase, during
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule
from slotcar_lab.experiments.pacing import Policed
from slotcar_lab.metrics.model import Delay
from slotcar_lab.traffic import UdpFlow

EIGHTH = (
    "The paper's rates are divided by eight: the lab's routers may be emulated on two cores, where about 60 Mb/s of"
    " datagrams is all that passes. Times are the paper's."
)
PAYLOAD_BYTES, PACKET_BYTES = 1_400, 1_428
#: What the reservations say; a policer's bucket is a quarter of it at its rate (GARA §5.1).
RTT_US = 400_000
#: The background sends so much of the rate that it is told: a sender's timer is not the policer's.
USED = 0.97
#: It slows down so long before its rate falls, and goes on so long after it has risen: a busy emulated router is late.
BEFORE_S, AFTER_S = 1.0, SLOT_SETTLE_S
#: Around a planned reduction no packet may be lost in this time.
REDUCTION_S = (-3.0, 6.0)
#: Of a phase, left out at its beginning and its end.
SETTLE_S, END_S = SLOT_SETTLE_S + 1.0, 1.5
BACKGROUND = "background"


@dataclass(frozen=True, slots=True)
class Foreground:
    """One of the paper's foreground flows: the name and rate of its reservation, and what it sends, Mb/s of the paper."""

    name: str
    reserved_mbps: int
    sends_mbps: int


@dataclass(frozen=True, slots=True)
class Course:
    """What of an experiment differs from the other.

    Attributes:
        premium_mbps: the paper's premium bandwidth, of which background gets nine tenths of what is left.
        competing: everybody else's traffic, in the way of both.
        smoke_until: a short run ends when this foreground does.
    """

    file: Path
    premium_mbps: int
    foregrounds: tuple[Foreground, ...]
    competing: Udp
    smoke_until: str


@dataclass(slots=True)
class Follower:
    """The program that owns the background reservation: it reads its events, and sends at the rate that they say.

    Attributes:
        rates_bps: by the instant from which it holds, each payload rate that an event named.
    """

    bench: Bench
    flow: UdpFlow
    rates_bps: dict[float, int] = field(default_factory=dict)
    notices_s: list[float] = field(default_factory=list)
    _last_sequence: int = 0
    _rate_bps: int = 0

    def ask(self) -> None:
        """Takes in what is new."""
        path = f"/v1/events?limit=1000&after={self._last_sequence}&kind=reservation.rate"
        for event in self.bench.controller.get(path)["items"]:
            self._last_sequence = event["sequence"]
            at = datetime.fromisoformat(event["details"]["at"]).timestamp()
            rate_bps = int(event["details"]["forward_bps"])
            falls, self._rate_bps = rate_bps < self._rate_bps, rate_bps
            if falls:
                self.notices_s.append(at - datetime.fromisoformat(event["at"]).timestamp())
            self.rates_bps[at] = rate_bps
            self.flow.steer(at - BEFORE_S if falls else at + AFTER_S, int(USED * rate_bps))


def measure(bench: Bench, course: Course) -> Findings:
    slots = bench.reserve(course.file)
    whole = slots[BACKGROUND]
    shown = [
        one for one in course.foregrounds if not bench.smoke or slots[one.name].end <= slots[course.smoke_until].end
    ]
    end = whole.end if not bench.smoke else slots[course.smoke_until].end + 3 * SETTLE_S
    bench.arm(whole, whole.start - 2 * START_S)
    highest_bps = course.premium_mbps * 1_000_000 // 8
    configuration = bench.configuration(slots[shown[0].name].start + 5.0)
    background = _paced("anl-premium", 5001, highest_bps)
    flows = {one.name: _flow(one, 5003 + 2 * number) for number, one in enumerate(shown)}
    with bench.captured(("anl-premium",), ("lbnl-premium",), "udp portrange 5001-5019") as captured:
        bench.wait_until(whole.start - START_S)
        first = bench.udp(background, end)
        first.steer(bench.clock.now(), 8 * PAYLOAD_BYTES)  # until it is told its rate
        follower = Follower(bench, first)
        with bench.following(follower.ask):
            competing = bench.udp(course.competing, end)
            others = [_foreground(bench, flow, slots[name]) for name, flow in flows.items()]
            bench.wait_until(end + 0.5)
        totals = [flow.wait(15.0) for flow in (first, *others)]
        competing.wait(15.0)
    streams = {BACKGROUND: captured.stream(background.port)} | {
        name: captured.stream(one.port) for name, one in flows.items()
    }
    phases = _phases(whole, [(one, slots[one.name]) for one in shown], end)
    if not follower.rates_bps:
        bench.doubts.append("the background was told of no rate")
    fit = not bench.doubts
    unsent = [one.skipped_packets for one in totals]
    senders = _Senders(
        follower.rates_bps,
        {one.name: slots[one.name].rate_bps for one in shown},
        {name: one.packets_ps for name, one in flows.items()},
        unsent,
    )
    rows = (
        *_rate_rows(course, streams, phases, senders, fit=fit),
        *_loss_rows(streams, follower, phases, senders, fit=fit),
    )
    return Findings(rows, _plots(course, streams, slots, Phase("whole", whole.start, end)), configuration)


def _flow(one: Foreground, port: int) -> Udp:
    """Payload, of a rate that the paper counts with headers."""
    return _paced("anl-premium", port, one.sends_mbps * 1_000_000 // 8 * PAYLOAD_BYTES // PACKET_BYTES)


def _paced(source: str, port: int, rate_bps: int) -> Udp:
    """A sender that is late with no more than three quarters of what its policer's bucket holds (GARA §5.1)."""
    least_bytes, of_rate_s = 3 * BURST_FLOOR_BYTES // 4, 3 * RTT_US / 4e6 / 4
    return Udp(source, "lbnl-premium", port, rate_bps, PAYLOAD_BYTES, burst_bytes=least_bytes, burst_s=of_rate_s)


def _foreground(bench: Bench, flow: Udp, slot: Slot) -> UdpFlow:
    bench.wait_until(slot.start + AFTER_S - START_S)
    started = bench.udp(flow, slot.end - 0.2)
    bench.watch([slot])
    return started


@dataclass(frozen=True, slots=True)
class _Part:
    """A phase with the foreground that is reserved in it, if one is."""

    phase: Phase
    foreground: Foreground | None


def _phases(whole: Slot, slots: Sequence[tuple[Foreground, Slot]], end: float) -> tuple[_Part, ...]:
    parts, since = [], whole.start
    for foreground, slot in slots:
        parts.append(_Part(Phase("alone", since + SETTLE_S, slot.start - END_S), None))
        parts.append(_Part(Phase(foreground.name, slot.start + SETTLE_S, slot.end - END_S), foreground))
        since = slot.end
    return (*parts, _Part(Phase("alone", since + SETTLE_S, end - END_S), None))


@dataclass(frozen=True, slots=True)
class _Senders:
    """What the senders were asked for, and what they did not send.

    Attributes:
        rates_bps: the background's payload rates, by the instant from which each holds.
        reserved_bps, packets_ps: of the foregrounds by name, the payload rates that are reserved and what they send.
        unsent: datagrams that were late beyond the bucket, of the background and then of each foreground.
    """

    rates_bps: Mapping[float, int]
    reserved_bps: Mapping[str, int]
    packets_ps: Mapping[str, float]
    unsent: Sequence[int]

    def starved(self, name: str, stream: Sequence[Delay], phase: Phase) -> str:
        """Why a sender did not do what it was told in a phase, in words; empty where it did."""
        rate_bps = next((rate for at, rate in sorted(self.rates_bps.items(), reverse=True) if at <= phase.start), 0)
        asked_ps = self.packets_ps.get(name, USED * rate_bps / 8 / PAYLOAD_BYTES)
        part = pacing.part_sent(stream, phase, asked_ps)
        words = f"the sender of {name} was starved: it sent {100 * part:.0f} % of what it was to"
        return "" if part >= pacing.LEAST_PART else words

    def policed(self, name: str) -> list[Policed]:
        """What the policer of a flow lets pass, at the least: a router may take a step late."""
        if name != BACKGROUND:
            return [_policed(0.0, self.reserved_bps[name])]
        steps, before = [], 0
        for at, rate_bps in sorted(self.rates_bps.items()):
            steps.append(_policed(at if rate_bps < before else at + AFTER_S, rate_bps))
            before = rate_bps
        return steps

    def above(self, name: str, stream: Sequence[Delay], phases: Sequence[Phase]) -> str:
        """How many packets of these phases left the sender so that no policer lets them pass; empty where none did."""
        dropped = pacing.above(stream, PACKET_BYTES, self.policed(name))
        count = len({packet.sequence for phase in phases for packet in during(dropped, phase)})
        words = f"the sender of {name} was starved: {count} packets left it above its rate and its bucket"
        return words if count else ""


def _policed(since: float, payload_bps: int) -> Policed:
    rate_bps = payload_bps * PACKET_BYTES // PAYLOAD_BYTES
    return Policed(since, rate_bps, burst_bytes(rate_bps, RTT_US, Protocol.UDP))


def _rate_rows(
    course: Course, streams: dict[str, tuple[Delay, ...]], parts: Sequence[_Part], senders: _Senders, *, fit: bool
) -> Iterator[Row]:
    for number, part in enumerate(parts):
        reserved_mbps = part.foreground.reserved_mbps if part.foreground else 0
        paper_mbps = 0.9 * (course.premium_mbps - reserved_mbps)
        beside = f"beside {reserved_mbps} Mb/s" if part.foreground else "alone" if not number else "again alone"
        rule = Rule(
            f"bandwidth of the background, {beside} ({number + 1} of {len(parts)})",
            f"{paper_mbps:.1f} Mb/s" if part.foreground or not number else "comes back to its allocation",
            "Mb/s, packets with their headers",
            f"an eighth of it, {paper_mbps / 8:.2f} Mb/s, less at most 6 %",
            lambda ours, wanted: 0.94 * wanted <= ours <= 1.005 * wanted,
        )
        ours = figures.rate_mbps(streams[BACKGROUND], PAYLOAD_BYTES, part.phase) * PACKET_BYTES / PAYLOAD_BYTES
        starved = senders.starved(BACKGROUND, streams[BACKGROUND], part.phase)
        yield rule.judge(ours, paper_mbps / 8, fit=fit and not starved, note=starved)


NO_LOSS = Rule(
    "packets of the background lost at planned reductions",
    "not told; TCP's dips are seen in Figures 4 and 5",
    "packets",
    "none",
    lambda ours, _: ours == 0,
    promise=True,
)
NOTICE = Rule(
    "least time between the announcement of a reduction and the reduction",
    "the program is called when it changes",
    "s",
    "at least 5 s",
    lambda ours, _: ours >= 5,
    promise=True,
)
FOREGROUND_LOSS = Rule(
    "packets of the foregrounds lost while they are reserved",
    "not told",
    "%",
    "at most 0.1 %",
    lambda ours, _: ours <= 0.1,
)


def _loss_rows(
    streams: dict[str, tuple[Delay, ...]], follower: Follower, parts: Sequence[_Part], senders: _Senders, *, fit: bool
) -> Iterator[Row]:
    rates = sorted(follower.rates_bps.items())
    reductions = [at for (_, before), (at, after) in pairwise(rates) if after < before]
    around = [Phase("reduction", at + REDUCTION_S[0], at + REDUCTION_S[1]) for at in reductions]
    packets = [packet for phase in around for packet in during(streams[BACKGROUND], phase)]
    lost = sum(one.lost for one in packets)
    notes = [f"{len(reductions)} reductions, {len(packets)} packets", _unsent_words(senders.unsent[:1])]
    starved = senders.above(BACKGROUND, streams[BACKGROUND], around) if lost else ""
    yield NO_LOSS.judge(lost if packets else None, fit=fit and not starved, note=_noted(*notes, starved))
    yield NOTICE.judge(min(follower.notices_s, default=None), fit=fit)
    foregrounds = [(part.foreground.name, part.phase) for part in parts if part.foreground]
    inside = [packet for name, phase in foregrounds for packet in during(streams[name], phase)]
    lost = sum(one.lost for one in inside)
    starved = _noted(*(senders.starved(name, streams[name], phase) for name, phase in foregrounds))
    if lost:
        starved = _noted(starved, *(senders.above(name, streams[name], [phase]) for name, phase in foregrounds))
    notes = [f"{lost} of {len(inside)} packets", _unsent_words(senders.unsent[1:])]
    loss = figures.loss_percent(tuple(inside))
    yield FOREGROUND_LOSS.judge(loss, fit=fit and not starved, note=_noted(*notes, starved))


def _unsent_words(unsent: Sequence[int]) -> str:
    return f"{sum(unsent)} in the whole run not sent, for the sender was late" if sum(unsent) else ""


def _noted(*notes: str) -> str:
    return "; ".join(filter(None, notes))


def _plots(
    course: Course, streams: dict[str, tuple[Delay, ...]], slots: dict[str, Slot], whole: Phase
) -> tuple[Plot, ...]:
    curves = tuple(
        Curve(name, *figures.rate_series(stream, PAYLOAD_BYTES, whole, interval_s=1.0))
        for name, stream in streams.items()
    )
    marks = tuple(
        (at - whole.start, word)
        for name in streams
        if name != BACKGROUND
        for at, word in ((slots[name].start, f"{name} starts"), (slots[name].end, f"{name} ends"))
    )
    lost = Curve(BACKGROUND, *figures.loss_series(streams[BACKGROUND], whole, interval_s=1.0))
    seconds = "seconds since the background began"
    return (
        Plot("bandwidth", "Bandwidth", seconds, "payload received, Mb/s", curves, marks),
        Plot("loss", "Packet loss of the background", seconds, "per cent of those sent", (lost,), marks),
    )
