"""GARA's background reservations: one flow that gets what foreground reservations leave, and is told before it changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path

from slotcar.admission.arithmetic import BURST_FLOOR_BYTES
from slotcar.measuring.metrics.model import Delay
from slotcar_client.wire.events import ReservationRate, read
from slotcar_lab.experiments import figures
from slotcar_lab.experiments.bench import SLOT_SETTLE_S, START_S, Bench, Slot, Udp
from slotcar_lab.experiments.experiment import Findings
from slotcar_lab.experiments.figures import Phase, during
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule
from slotcar_lab.experiments.scale import Scale
from slotcar_lab.traffic import UdpFlow

EIGHTH = "Rates and bursts are written as an eighth of the paper's. Times are the paper's."
PAYLOAD_BYTES, PACKET_BYTES = 1_400, 1_428
#: What the reservations say; a policer's bucket is a quarter of it at its rate (GARA §5.1).
RTT_US = 400_000
#: The background sends so much of the rate that it is told: a sender's timer is not the policer's.
USED = 0.97
#: It slows down so long before its rate falls, and goes on so long after it has risen: routers are late by some of it.
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
        path = f"/v1/events?limit=1000&after={self._last_sequence}&kind={ReservationRate.kind}"
        for event in self.bench.controller.get(path)["items"]:
            self._last_sequence = event["sequence"]
            says = read(event["kind"], event["details"])
            assert isinstance(says, ReservationRate)
            assert says.at
            at, rate_bps = says.at.timestamp(), says.forward_bps
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
        for flow in (first, *others, competing):
            flow.wait(15.0)
    streams = {BACKGROUND: captured.stream(background.port)} | {
        name: captured.stream(one.port) for name, one in flows.items()
    }
    phases = _phases(whole, [(one, slots[one.name]) for one in shown], end)
    for flow, one in zip(others, shown, strict=True):
        bench.demand_sent([flow], flow.started_at, slots[one.name].end - END_S)
    rows = (*_rate_rows(course, streams, phases, bench.scale), *_loss_rows(streams, follower, phases))
    return Findings(rows, _plots(streams, slots, Phase("whole", whole.start, end), bench.scale), configuration)


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


def _rate_rows(
    course: Course, streams: dict[str, tuple[Delay, ...]], parts: Sequence[_Part], scale: Scale
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
        payload_mbps = figures.rate_mbps(streams[BACKGROUND], PAYLOAD_BYTES, part.phase, scale)
        ours = payload_mbps * PACKET_BYTES / PAYLOAD_BYTES
        yield rule.judge(ours, paper_mbps / 8)


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


def _loss_rows(streams: dict[str, tuple[Delay, ...]], follower: Follower, parts: Sequence[_Part]) -> Iterator[Row]:
    rates = sorted(follower.rates_bps.items())
    reductions = [at for (_, before), (at, after) in pairwise(rates) if after < before]
    around = [Phase("reduction", at + REDUCTION_S[0], at + REDUCTION_S[1]) for at in reductions]
    packets = [packet for phase in around for packet in during(streams[BACKGROUND], phase)]
    lost = sum(one.lost for one in packets)
    yield NO_LOSS.judge(lost if packets else None, note=f"{len(reductions)} reductions, {len(packets)} packets")
    yield NOTICE.judge(min(follower.notices_s, default=None))
    foregrounds = [(part.foreground.name, part.phase) for part in parts if part.foreground]
    inside = [packet for name, phase in foregrounds for packet in during(streams[name], phase)]
    lost = sum(one.lost for one in inside)
    loss = figures.loss_percent(tuple(inside))
    yield FOREGROUND_LOSS.judge(loss, note=f"{lost} of {len(inside)} packets")


def _plots(
    streams: dict[str, tuple[Delay, ...]], slots: dict[str, Slot], whole: Phase, scale: Scale
) -> tuple[Plot, ...]:
    curves = tuple(
        Curve(name, *figures.rate_series(stream, PAYLOAD_BYTES, whole, scale, interval_s=1.0))
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
