"""EMERGE 4 with both of its legs: avatars from Laurel by the server on Tundra to Clark, and back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from slotcar.measuring.metrics import ipdv
from slotcar.measuring.metrics.model import Delay
from slotcar_lab.client import LabProcess
from slotcar_lab.errors import LabError
from slotcar_lab.experiments import added, figures
from slotcar_lab.experiments.added import Figure, Pair
from slotcar_lab.experiments.bench import SLOT_SETTLE_S, START_S, Bench, Slot, Udp
from slotcar_lab.experiments.emerge import RESIDUE
from slotcar_lab.experiments.experiment import QUARTER, Experiment, Findings
from slotcar_lab.experiments.figures import Phase, during
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule
from slotcar_lab.patience import HANG_S

HERE = Path(__file__).parent
SCRIPT = HERE / "ends.py"
SERVER = "tundra"
#: 1 kb/s in messages of 36 bytes: head, body and hand.
MESSAGE_BYTES, PERIOD_S = 36, 36 * 8 / 1_000
#: "45 Mbps of background traffic", a quarter of it, on each of the two legs.
BACKGROUND = (Udp("cubs", SERVER, 5_012, 11_250_000), Udp(SERVER, "cubs", 5_013, 11_250_000))
#: Nearly the same number of packets where the pipes, of 10.5 Mb/s, have room for them.
FITS = tuple(replace(flow, port=flow.port + 10, rate_bps=8_000_000) for flow in BACKGROUND)
ALONE_S, CONGESTED_S, UNLOADED_S = 16.0, 18.0, 12.0
SMOKE_ALONE_S, SMOKE_CONGESTED_S, SMOKE_SLOT_S = 4.0, 5.0, 16.0
SETTLE_S = 1.0
#: Of a round trip (Park, Leigh): where performance noticeably degrades, and the level that experiment 2 came back to.
DEGRADES_MS, INTOLERABLE_MS = 200, 150
#: What hurts as much as those 200 ms.
BOUND_MS, BOUND_JITTER_MS = 10, 7


@dataclass(frozen=True, slots=True)
class Way:
    """An avatar's way by the server, to a client's port."""

    name: str
    source: str
    sink: str
    port: int


WAYS = (Way("Laurel to Clark", "laurel", "clark", 5_001), Way("Clark to Laurel", "clark", "laurel", 5_004))


@dataclass(frozen=True, slots=True)
class Ran:
    """Each way's stream and the run's phases; in `unloaded`, also in the slot, the pipes have room for all that is sent."""

    streams: Mapping[Way, tuple[Delay, ...]]
    alone: Phase
    congested: Phase
    reserved: Phase
    unloaded: Phase

    def round_trip_ms(self, phase: Phase, figure: Figure) -> float | None:
        """Both ways' figure together; None where nothing arrived on one of them."""
        each = [figure.of(during(self.streams[way], phase)) for way in WAYS]
        return sum(one for one in each if one is not None) if None not in each else None

    def added_ms(self, figure: Figure) -> float | None:
        """What full pipes add to it in the slot."""
        each = [
            added.added(Pair(during(stream, self.reserved), during(stream, self.unloaded)), figure)
            for stream in self.streams.values()
        ]
        return sum(one for one in each if one is not None) if None not in each else None

    def worst_ms(self, phase: Phase, figure: Figure) -> float | None:
        """The figure of the worse way."""
        each = [figure.of(during(stream, phase)) for stream in self.streams.values()]
        return max((one for one in each if one is not None), default=None) if None not in each else None


CONGESTED = Rule(
    "round trip of the avatars by the server, congested",
    "rises as in experiment 2",
    "ms, medians of both ways",
    "at least 10 ms for each of the four full queues above what it was alone",
    lambda ours, alone: ours >= alone + 40,
)
TOLERABLE = Rule(
    "round trip, reserved",
    f"about {INTOLERABLE_MS} ms in experiment 2, an intolerable level; from {DEGRADES_MS} ms on performance degrades",
    "ms, 95th percentiles of both ways",
    f"below {INTOLERABLE_MS} ms, and at most half of what it is congested",
    lambda ours, congested: ours < INTOLERABLE_MS and ours <= congested / 2,
    promise=True,
)
RESTORED = Rule(
    "round trip, reserved: what the full pipes add",
    f"original levels are not restored; {BOUND_MS} ms with {BOUND_JITTER_MS} ms of jitter hurt as {DEGRADES_MS} ms do",
    "ms, 95th percentiles of both ways",
    f"below {BOUND_MS} ms more than in the same slot where the pipes are not full",
    lambda ours, _: ours < BOUND_MS,
    promise=True,
)
STEADY = Rule(
    "jitter of the worse way by the server, reserved",
    f"the bound it quotes is {BOUND_JITTER_MS} ms",
    "ms, 95th percentile of |IPDV|",
    f"below {BOUND_JITTER_MS} ms, both legs together",
    lambda ours, _: ours < BOUND_JITTER_MS,
    promise=True,
)
LOSS = Rule("loss of the avatars, reserved", "not told", "%", "none", lambda ours, _: ours == 0, promise=True)


def measure(bench: Bench) -> Findings:
    slot = next(iter(bench.reserve(HERE / "reservations.yml").values()))
    alone_s, congested_s = (SMOKE_ALONE_S, SMOKE_CONGESTED_S) if bench.smoke else (ALONE_S, CONGESTED_S)
    end = slot.start + SMOKE_SLOT_S if bench.smoke else slot.end
    full_until = end - (SMOKE_SLOT_S / 2 if bench.smoke else UNLOADED_S)
    begin, background_at = slot.start - congested_s - alone_s - START_S, slot.start - congested_s - START_S
    bench.arm(slot, begin - START_S)
    configuration = bench.configuration(slot.start + 1.0)
    clients = tuple(way.source for way in WAYS)
    with bench.captured(clients, clients, "udp port 5001 or udp port 5004") as captured, _avatars(bench, begin, end):
        bench.wait_until(background_at)
        others = [bench.udp(flow, full_until) for flow in BACKGROUND]
        bench.wait_until(full_until)
        less = [bench.udp(flow, end) for flow in FITS]
        bench.watch([replace(slot, end=end)])
        bench.wait_until(end + 0.5)
        for flow in (*others, *less):
            flow.wait(HANG_S)
    began, fits = max(flow.started_at for flow in others), max(flow.started_at for flow in less)
    bench.demand_sent(others, began, full_until)
    bench.demand_sent(less, fits, end)
    ran = Ran(
        {way: captured.stream(way.port) for way in WAYS},
        Phase("alone", begin + SETTLE_S, began - SETTLE_S),
        Phase("congested", began + SETTLE_S, slot.start - 0.2),
        Phase("reserved", slot.start + SLOT_SETTLE_S, full_until - 0.2),
        Phase("not full", fits + SETTLE_S, end - 0.2),
    )
    return Findings(_rows(ran), _plots(ran, begin, began, slot), configuration)


@contextlib.contextmanager
def _avatars(bench: Bench, begin: float, end: float) -> Iterator[None]:
    """The server and both clients, which send from one instant to the other."""
    address = bench.lab.topology.address_of
    to = ",".join(f"{way.port}:{address(way.sink)}" for way in WAYS)
    with contextlib.ExitStack() as stack:
        started: list[LabProcess] = []

        def start(node: str, *arguments: str) -> None:
            started.append(stack.enter_context(bench.lab.start_python(node, SCRIPT, *arguments)))
            started[-1].wait_reported("ready", HANG_S)

        start(SERVER, "server", address(SERVER), to)
        instants = [f"{bench.by_the_nodes(at):.6f}" for at in (begin, end)]
        for way, back in zip(WAYS, reversed(WAYS), strict=True):
            where = (address(SERVER), str(way.port), *instants)
            start(way.source, "client", address(way.source), str(back.port), *where, str(MESSAGE_BYTES), str(PERIOD_S))
        yield
        for process in started[1:]:
            bench.wait_ended(process, HANG_S)


def _rows(ran: Ran) -> tuple[Row, ...]:
    alone = ran.round_trip_ms(ran.alone, added.MEDIAN)
    reserved = [packet for stream in ran.streams.values() for packet in during(stream, ran.reserved)]
    if not reserved:
        raise LabError("no message of an avatar was sent in the slot")
    lost = 100 * sum(packet.delay_us is None for packet in reserved) / len(reserved)
    congested = ran.worst_ms(ran.congested, added.HIGH_IPDV)
    high = ran.round_trip_ms(ran.congested, added.HIGH)
    median = ran.round_trip_ms(ran.reserved, added.MEDIAN)
    return (
        CONGESTED.judge(ran.round_trip_ms(ran.congested, added.MEDIAN), alone, note=f"alone {alone or 0:.1f} ms"),
        TOLERABLE.judge(
            ran.round_trip_ms(ran.reserved, added.HIGH),
            high,
            note=f"congested {high or 0:.1f} ms; reserved, medians {median or 0:.1f} ms of {len(reserved)} messages",
        ),
        RESTORED.judge(ran.added_ms(added.HIGH), note=_than_empty(ran)),
        STEADY.judge(ran.worst_ms(ran.reserved, added.HIGH_IPDV), note=f"congested {congested or 0:.1f} ms"),
        LOSS.judge(lost),
    )


def _than_empty(ran: Ran) -> str:
    """What the reserved round trip is more than that of empty pipes, in words."""
    reserved, alone = (ran.round_trip_ms(phase, added.HIGH) for phase in (ran.reserved, ran.alone))
    return f"than where they are empty, {reserved - alone:.1f} ms more" if reserved and alone else ""


def _plots(ran: Ran, begin: float, began: float, slot: Slot) -> tuple[Plot, ...]:
    whole = Phase("whole", begin, ran.unloaded.end)
    latency = tuple(Curve(way.name, *figures.delay_series(stream, whole)) for way, stream in ran.streams.items())
    marks = ((began - begin, "background begins"), (slot.start - begin, "slot starts"))
    varied = []
    for phase in (ran.alone, ran.congested, ran.reserved):
        parts = [during(stream, phase) for stream in ran.streams.values()]
        jitters = [one / figures.MILLISECOND for part in parts for one in ipdv.absolute(part)]
        if jitters:
            varied.append(Curve(phase.name, *figures.cumulative(jitters)))
    return (
        Plot(
            "latency", "Latency of the avatars by the server", "seconds since they began", "one-way delay, ms", latency,
            marks, style="points",
        ),
        Plot(
            "jitter", "Distribution of |IPDV|", "ms", "per cent of packets within", tuple(varied),
            ((BOUND_JITTER_MS, "bound"),), style="steps",
        ),
    )  # fmt: skip


EXPERIMENT = Experiment(
    name="emerge-4-legs",
    title="EMERGE 4: avatars by the server to the other client, and back",
    source="Leigh et al., EMERGE DiffServ experiments, experiment 4, Figure 5, with the thresholds of experiment 2",
    shown=(
        "Where both legs are full, from a client to the server and on to the other client, the round trip rises by the"
        " queues of both; with a reservation of each leg it stays below 10 ms with 7 ms of jitter more."
    ),
    inventory=HERE / "inventory",
    measure=measure,
    least=Fraction(1, 4),
    explain=RESIDUE,
    scale=QUARTER + " The avatars' 1 kb/s is their own: it is no load at any scale.",
)
