"""D7.3 §8.1.1, DRR: delay and IPDV of a premium stream by its weight's over-estimation, and under strict priority."""

from __future__ import annotations

from pathlib import Path

from lab.experiments import figures
from lab.experiments.bench import START_S, Bench, Udp, wait_until
from lab.experiments.datagrid import steps
from lab.experiments.experiment import QUARTER, Experiment, Findings
from lab.experiments.figures import MILLISECOND, during
from lab.experiments.model import Curve, Plot, Rule
from lab.metrics import ipdv
from lab.metrics.model import Delay

HERE = Path(__file__).parent
WEIGHTED, PRIORITY = (HERE.parent / "datagrid" / name for name in ("weighted", "congested"))
STREAM = Udp("source-a", "sink-a", 5001, 2_000_000)
#: More than the line of 25 Mb/s carries, with what the stream takes of it.
LOAD = Udp("source-b", "sink-b", 5002, 25_000_000)
FACTORS = ("factor-1", "factor-2", "factor-4")
#: How long the load congests the stream before anything is reserved for it.
CONGESTED_S = 6.0

FALLS = Rule(
    "delay at weight x 4, beside the weight itself",
    "falls with the over-estimation factor",
    "ms, 95th percentile",
    "at most what it is at factor 1, and 2 ms that the machine's timers are late by",
    lambda ours, one: ours <= one + 2,
)
VARIES = Rule(
    "IPDV at weight x 4, beside the weight itself",
    "falls with the over-estimation factor",
    "ms, mean |IPDV|",
    "at most what it is at factor 1, and 1 ms",
    lambda ours, one: ours <= one + 1,
)
STRICT = Rule(
    "delay under strict priority, beside the best weight",
    "the lower of the two",
    "ms, 95th percentile",
    "at most the least that a weight gives, and 2 ms",
    lambda ours, best: ours <= best + 2,
)
STRICT_IPDV = Rule(
    "IPDV under strict priority, beside the best weight",
    "the lower of the two",
    "ms, mean |IPDV|",
    "at most the least that a weight gives, and 1 ms",
    lambda ours, best: ours <= best + 1,
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


def measure(bench: Bench) -> Findings:
    streams, configuration = _run(bench, HERE / "reservations.yml")
    bench.switch(PRIORITY)
    priority, strict = _run(bench, HERE / "priority.yml")
    streams["priority"] = priority["priority"]
    fit = not bench.doubts
    high = {name: figures.percentile_ms(stream, 95) for name, stream in streams.items()}
    jitter = {name: figures.jitter_ms(stream) for name, stream in streams.items()}
    median = {name: figures.median_ms(stream) for name, stream in streams.items()}
    best, least = _least(high), _least(jitter)
    rows = (
        NEEDED.judge(median["none"], fit=fit),
        GUARANTEED.judge(figures.loss_percent(streams["factor-1"]), fit=fit),
        FALLS.judge(high["factor-4"], high["factor-1"], fit=fit, note=_note(high, FACTORS)),
        VARIES.judge(jitter["factor-4"], jitter["factor-1"], fit=fit, note=_note(jitter, FACTORS)),
        STRICT.judge(high["priority"], best, fit=fit, note=_note(high, ("premium",))),
        STRICT_IPDV.judge(jitter["priority"], least, fit=fit, note=_note(jitter, ("premium",))),
    )
    joined = configuration | {f"{name} (strict priority)": lines for name, lines in strict.items()}
    return Findings(rows, _plots(streams), joined)


def _run(bench: Bench, file: Path) -> tuple[dict[str, tuple[Delay, ...]], dict[str, tuple[str, ...]]]:
    """The stream in each slot of the file, and as `none` before the first of them."""
    slots = sorted(bench.reserve(file).values(), key=lambda slot: slot.start)
    first, end = slots[0].start, slots[-1].end
    bench.arm(slots[0], first - CONGESTED_S - 3 * START_S)
    with bench.captured((STREAM.source,), (STREAM.destination,), f"udp port {STREAM.port}") as seen:
        wait_until(first - CONGESTED_S - 2 * START_S)
        flows = [bench.udp(STREAM, end), bench.udp(LOAD, end)]
        began = max(flow.started_at for flow in flows)
        configuration = bench.configuration(first + 1.0)
        bench.watch(slots)
        wait_until(end + 0.5)
        for flow in flows:
            flow.wait(20.0)
    bench.doubt_senders(flows, began, end)
    whole = seen.stream(STREAM.port)
    found = {slot.name: during(whole, steps.phase(slot)) for slot in slots}
    found["none"] = during(whole, figures.Phase("none", began + 1.5, first - 0.2))
    return found, configuration


def _least(values: dict[str, float | None]) -> float | None:
    return min((value for name, value in values.items() if name in FACTORS and value is not None), default=None)


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
    scale=QUARTER + " The stream has the part of the link that 80 Mb/s has of D7.3's gigabit.",
    explain=(
        "By weight means HFSC's link-sharing curves: ets, our deficit round robin, shapes nothing, and the lab's virtual"
        " wires never push back, so it would queue nothing there."
    ),
)
