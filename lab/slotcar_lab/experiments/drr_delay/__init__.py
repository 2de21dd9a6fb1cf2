"""D7.3 §8.1.1, DRR: delay and IPDV of a premium stream by its weight's over-estimation, and under strict priority."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from slotcar.measuring.metrics import ipdv
from slotcar.measuring.metrics.model import Delay
from slotcar_lab.experiments import added, figures
from slotcar_lab.experiments.added import Pair
from slotcar_lab.experiments.bench import SLOT_SETTLE_S, START_S, Bench, Udp
from slotcar_lab.experiments.datagrid import steps
from slotcar_lab.experiments.experiment import QUARTER, Experiment, Findings
from slotcar_lab.experiments.figures import MILLISECOND, Phase, during
from slotcar_lab.experiments.model import Curve, Plot, Rule

HERE = Path(__file__).parent
WEIGHTED, PRIORITY = (HERE.parent / "datagrid" / name for name in ("weighted", "congested"))
STREAM = Udp("source-a", "sink-a", 5001, 2_000_000)
#: More than the line of 25 Mb/s carries, with what the stream takes of it.
LOAD = Udp("source-b", "sink-b", 5002, 25_000_000)
#: Less than it carries: no queue fills.
FITS = Udp("source-b", "sink-b", 5003, 15_000_000)
FACTORS = ("factor-1", "factor-2", "factor-4")
#: How long the load congests the stream before anything is reserved for it, and from each slot's start on.
CONGESTED_S, LOADED_S = 6.0, 9.0
#: Left out where a queue fills or drains.
SETTLE_S = 1.0

FALLS = Rule(
    "what the load adds to delay at weight x 4, less at the weight itself",
    "falls with the over-estimation factor",
    "ms, 95th percentile",
    "at most 2 ms",
    lambda ours, _: ours <= 2,
)
VARIES = Rule(
    "what the load adds to IPDV at weight x 4, less at the weight itself",
    "falls with the over-estimation factor",
    "ms, mean |IPDV|",
    "at most 1 ms",
    lambda ours, _: ours <= 1,
)
STRICT = Rule(
    "what the load adds to delay under strict priority, less under the best weight",
    "the lower of the two",
    "ms, 95th percentile",
    "at most 2 ms",
    lambda ours, _: ours <= 2,
)
STRICT_IPDV = Rule(
    "what the load adds to IPDV under strict priority, less under the best weight",
    "the lower of the two",
    "ms, mean |IPDV|",
    "at most 1 ms",
    lambda ours, _: ours <= 1,
)
GUARANTEED = Rule(
    "loss at factor 1",
    "bandwidth guarantees even in presence of high traffic loads",
    "%",
    "below 1 %",
    lambda ours, _: ours < 1,
)
NEEDED = Rule(
    "delay with no reservation",
    "the load congests the line",
    "ms, median",
    "at least 10 ms: else nothing here shows anything",
    lambda ours, _: ours >= 10,
)


@dataclass(frozen=True, slots=True)
class Ran:
    """The stream in each slot of a file: with the load and without it. `before` is the load alone, and nothing reserved."""

    pairs: dict[str, Pair]
    before: tuple[Delay, ...]
    configuration: dict[str, tuple[str, ...]]


def measure(bench: Bench) -> Findings:
    weighted = _run(bench, HERE / "reservations.yml")
    bench.switch(PRIORITY)
    priority = _run(bench, HERE / "priority.yml")
    streams = {name: pair.loaded for ran in (weighted, priority) for name, pair in ran.pairs.items()}
    high = {name: figures.percentile_ms(stream, 95) for name, stream in streams.items()}
    jitter = {name: figures.jitter_ms(stream) for name, stream in streams.items()}
    others = ("premium", "priority")
    own = bench.scale.own_ms
    rows = (
        NEEDED.judge(figures.median_ms(weighted.before)),
        GUARANTEED.judge(figures.loss_percent(streams["factor-1"])),
        FALLS.judge(own(_by_weight(weighted, added.HIGH)), note=_note(high, FACTORS)),
        VARIES.judge(own(_by_weight(weighted, added.MEAN_IPDV)), note=_note(jitter, FACTORS)),
        STRICT.judge(own(_by_priority(priority, weighted, added.HIGH)), note=_note(high, others)),
        STRICT_IPDV.judge(own(_by_priority(priority, weighted, added.MEAN_IPDV)), note=_note(jitter, others)),
    )
    strictly = {f"{name} (strict priority)": lines for name, lines in priority.configuration.items()}
    return Findings(rows, _plots(streams), weighted.configuration | strictly)


def _by_weight(ran: Ran, figure: added.Figure) -> float | None:
    """What the load adds at weight x 4, less what it adds at the weight itself."""
    return _less(added.added(ran.pairs["factor-4"], figure), added.added(ran.pairs["factor-1"], figure))


def _by_priority(ran: Ran, weighted: Ran, figure: added.Figure) -> float | None:
    """What the load adds under strict priority, less the least that it adds under a weight."""
    by_weight = [added.added(weighted.pairs[name], figure) for name in FACTORS]
    least = min((one for one in by_weight if one is not None), default=None)
    return _less(added.added(ran.pairs["priority"], figure), least)


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _run(bench: Bench, file: Path) -> Ran:
    slots = sorted(bench.reserve(file).values(), key=lambda slot: slot.start)
    first, end = slots[0].start, slots[-1].end
    bench.arm(slots[0], first - CONGESTED_S - 3 * START_S)
    loaded, unloaded, sent = {}, {}, []
    with bench.captured((STREAM.source,), (STREAM.destination,), f"udp port {STREAM.port}") as captured:
        bench.wait_until(first - CONGESTED_S - 2 * START_S)
        stream, load = bench.udp(STREAM, end), bench.udp(LOAD, first + LOADED_S)
        began = max(stream.started_at, load.started_at)
        configuration = bench.configuration(first + 1.0)
        for slot in slots:
            if slot is not slots[0]:
                load = bench.udp(LOAD, slot.start + LOADED_S)
            loaded_until = slot.start + LOADED_S
            # TransferRequest while the load is there, so that the next slot's load does not wait for the answer.
            bench.watch([replace(slot, end=loaded_until)])
            bench.wait_until(loaded_until)
            less = bench.udp(FITS, slot.end)
            begins = max(slot.start + SLOT_SETTLE_S, load.started_at + SETTLE_S)
            loaded[slot.name] = Phase(slot.name, begins, loaded_until - 0.2)
            unloaded[slot.name] = Phase(slot.name, less.started_at + SETTLE_S, slot.end - steps.BEFORE_END_S)
            bench.wait_until(slot.end - steps.BEFORE_END_S)
            sent.append((load, max(began, load.started_at), loaded_until))
            sent.append((less, less.started_at, slot.end))
        stream.wait(20.0)
    for flow, start, until in (*sent, (stream, began, end)):
        bench.demand_sent([flow], start, until)
    whole = captured.stream(STREAM.port)
    pairs = {name: Pair(during(whole, loaded[name]), during(whole, unloaded[name])) for name in loaded}
    return Ran(pairs, during(whole, Phase("before", began + 1.5, first - 0.2)), configuration)


def _note(values: dict[str, float | None], names: tuple[str, ...]) -> str:
    words = [f"{name} {values[name]:.1f}" for name in names if values.get(name) is not None]
    return f"{', '.join(words)} ms" if words else ""


def _plots(streams: dict[str, tuple[Delay, ...]]) -> tuple[Plot, ...]:
    names = {
        "factor-1": "weight x 1",
        "factor-2": "weight x 2",
        "factor-4": "weight x 4",
        "premium": "real-time curve (HFSC)",
        "priority": "strict priority (HTB)",
    }
    delays, jitters = [], []
    for name, label in names.items():
        values = [packet.delay_us / MILLISECOND for packet in streams[name] if packet.delay_us is not None]
        varied = [value / MILLISECOND for value in ipdv.absolute(streams[name])]
        if values and varied:
            delays.append(Curve(label, *figures.cumulative(values)))
            jitters.append(Curve(label, *figures.cumulative(varied)))
    within = "per cent of packets within"
    return (
        Plot("delay", "One-way delay by what is reserved", "ms", within, tuple(delays), style="steps"),
        Plot("ipdv", "|IPDV| by what is reserved", "ms", within, tuple(jitters), style="steps"),
    )


EXPERIMENT = Experiment(
    name="drr-delay",
    title="D7.3: delay by weight and by strict priority",
    source="DataGRID D7.3 §8.1.1, DRR in the WAN",
    shown=(
        "Delay and IPDV of a premium stream that is served by weight fall, or stay, as its weight is over-estimated; under"
        " strict priority they are at least as low."
    ),
    inventory=WEIGHTED,
    measure=measure,
    least=Fraction(1, 32),
    scale=QUARTER + " The stream has the part of the link that 80 Mb/s has of D7.3's gigabit.",
    explain=(
        "By weight means HFSC's link-sharing curves: ets, our deficit round robin, shapes nothing, and the lab's virtual"
        " wires never push back, so it would queue nothing there."
    ),
)
