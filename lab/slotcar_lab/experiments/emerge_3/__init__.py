"""EMERGE 3: what a reservation gains its foreground, and what it costs the background, over a grid of mixes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from pathlib import Path

from slotcar.measuring.metrics.model import Delay
from slotcar_lab.errors import LabError
from slotcar_lab.experiments import figures
from slotcar_lab.experiments.bench import SLOT_SETTLE_S, START_S, Bench, Captured, Slot, Udp
from slotcar_lab.experiments.emerge import gain as emerge
from slotcar_lab.experiments.emerge.gain import Stage
from slotcar_lab.experiments.experiment import Experiment, Findings
from slotcar_lab.experiments.figures import Phase, during
from slotcar_lab.experiments.model import Curve, Plot, Rule
from slotcar_lab.experiments.scale import Scale

HERE = Path(__file__).parent
#: Both flows of a mix are there so long before its slot; they end with it.
CONGESTED_S = 5.0
SETTLE_S = 1.0
#: A phase that is no longer shows nothing.
LEAST_S = 1.2
#: Rates are told apart to 1 % of the pipe, and a gain is some 10 % of it.
TOLERANCE = 0.9
PAPER_SCALE = 4
#: Of what is reserved, as in experiment 1: a policer's bucket that one late turn has emptied must fill again.
LITTLE_LESS = 0.976

BANDWIDTH = Rule(
    "least ratio of gain to loss, in bandwidth",
    "at least 1 for a variety of traffic quantities",
    "gain / loss",
    f"at least {TOLERANCE:g} in every mix: of a full pipe what the one gains the other loses, so 1 is the most that can"
    " be had, and rates of 1 % of the pipe are not told apart",
    lambda ours, _: ours >= TOLERANCE,
)
LATENCY = Rule(
    "least ratio of gain to loss, in latency",
    "at least 1 for a variety of traffic quantities",
    "gain / loss",
    "at least 1 in every mix",
    lambda ours, _: ours >= 1,
)
RECOVERED = Rule(
    "least recovery of a foreground",
    "bandwidth is recovered",
    "% of what it sent",
    "at least 97 % in every mix",
    lambda ours, _: ours >= 97,
)
#: The ratio that is given where the background lost nothing.
MOST = 1000.0


@dataclass(frozen=True, slots=True)
class Mix:
    """One mix, in the paper's Mb/s, with gain and loss in Mb/s and in ms of median delay."""

    foreground: int
    background: int
    bandwidth: tuple[float, float]
    latency: tuple[float, float]
    recovered: float

    @property
    def label(self) -> str:
        return f"{self.foreground}+{self.background}"


def measure(bench: Bench) -> Findings:
    slots = sorted(bench.reserve(HERE / "reservations.yml").values(), key=lambda slot: slot.start)
    slots = slots[:1] if bench.smoke else slots
    bench.arm(slots[0], slots[0].start - CONGESTED_S - 2 * START_S)
    configuration = bench.configuration(slots[0].start + 1.0)
    last = 5000 + 2 * len(slots)
    with bench.captured(("laurel", "cubs"), ("tundra",), f"udp portrange 5001-{last}") as captured:
        begins = [_send(bench, slot, 5001 + 2 * number) for number, slot in enumerate(slots)]
        bench.wait_until(slots[-1].end + 1.0)
    mixes = [
        _mix(captured, slot, began, 5001 + 2 * n, bench.scale)
        for n, (slot, began) in enumerate(zip(slots, begins, strict=True))
    ]
    bandwidth, latency = _least(mix.bandwidth for mix in mixes), _least(mix.latency for mix in mixes)
    rows = (
        BANDWIDTH.judge(bandwidth, note=_gains_and_losses((mix.label, mix.bandwidth) for mix in mixes) + " Mb/s"),
        LATENCY.judge(latency, note=_gains_and_losses((mix.label, mix.latency) for mix in mixes) + " ms"),
        RECOVERED.judge(100 * min(mix.recovered for mix in mixes)),
    )
    return Findings(rows, _plots(mixes), configuration)


def _send(bench: Bench, slot: Slot, port: int) -> float:
    """Both flows of a mix, from before its slot to its end; gives when both were there."""
    foreground, background = _rates(slot)
    bench.wait_until(slot.start - CONGESTED_S - START_S)
    flows = [
        bench.udp(Udp("laurel", "tundra", port, int(LITTLE_LESS * foreground * 1_000_000 / PAPER_SCALE)), slot.end),
        bench.udp(Udp("cubs", "tundra", port + 1, background * 1_000_000 // PAPER_SCALE), slot.end),
    ]
    began = max(flow.started_at for flow in flows)
    bench.watch([slot])
    bench.wait_until(slot.end + 0.5)
    for flow in flows:
        flow.wait(15.0)
    bench.demand_sent(flows, began, slot.end)
    if began + SETTLE_S > slot.start - LEAST_S:
        raise LabError(f"the flows of {slot.name} met no sooner than its slot")
    bench.say(f"{slot.name} is measured, {bench.clock.now() - slot.end:.1f} s after its slot")
    return began


def _rates(slot: Slot) -> tuple[int, int]:
    _, foreground, background = slot.name.split("-")
    return int(foreground), int(background)


def _mix(captured: Captured, slot: Slot, began: float, port: int, scale: Scale) -> Mix:
    phases = (
        Phase("congested", began + SETTLE_S, slot.start - 0.2),
        Phase("reserved", slot.start + SLOT_SETTLE_S, slot.end - 0.2),
    )
    streams = captured.stream(port), captured.stream(port + 1)
    payload = Udp("", "", 0, 0).payload_bytes
    rates = [Stage(*(figures.rate_mbps(stream, payload, phase, scale) for stream in streams)) for phase in phases]
    delays = [Stage(*(_median_ms(during(stream, phase)) for stream in streams)) for phase in phases]
    foreground, background = _rates(slot)
    return Mix(
        foreground,
        background,
        (emerge.gain(*rates), emerge.loss(*rates)),
        (emerge.gain(*delays, more_is_better=False), emerge.loss(*delays, more_is_better=False)),
        rates[1].foreground / (figures.sent_mbps(streams[0], payload, phases[1], scale) or inf),
    )


def _median_ms(stream: Sequence[Delay]) -> float:
    """Where nothing arrived, nothing is so late that it would be later: all that a delay can be."""
    measured_ms = figures.median_ms(stream)
    return figures.WAITING_US / figures.MILLISECOND if measured_ms is None else measured_ms


def _ratio(gained: float, lost: float) -> float:
    gain_per_loss = emerge.ratio(gained, lost)
    return -MOST if gain_per_loss is None else min(gain_per_loss, MOST)


def _least(pairs: Iterable[tuple[float, float]]) -> float:
    return min(_ratio(*pair) for pair in pairs)


def _gains_and_losses(pairs: Iterable[tuple[str, tuple[float, float]]]) -> str:
    return ", ".join(f"{label}: {gained:.2f}/{lost:.2f}" for label, (gained, lost) in pairs)


def _plots(mixes: Sequence[Mix]) -> tuple[Plot, ...]:
    plots = []
    for slug, unit in (("bandwidth", "Mb/s"), ("latency", "ms")):
        curves = []
        for foreground in sorted({mix.foreground for mix in mixes}):
            own = [mix for mix in mixes if mix.foreground == foreground]
            values = [getattr(mix, slug) for mix in own]
            across = tuple(float(mix.background) for mix in own)
            curves.append(Curve(f"gain, foreground of {foreground} Mb/s", across, tuple(v[0] for v in values)))
            curves.append(Curve(f"loss, foreground of {foreground} Mb/s", across, tuple(v[1] for v in values)))
        label = "background, Mb/s of the paper"
        plots.append(Plot(slug, f"Gain and loss in {slug}", label, unit, tuple(curves)))
    return tuple(plots)


EXPERIMENT = Experiment(
    name="emerge-3",
    title="EMERGE 3: what is gained, and what it costs others",
    source="Leigh et al., EMERGE DiffServ experiments, experiment 3, Figure 4",
    shown=(
        "Over a grid of foregrounds and backgrounds, what the foreground recovers by its reservation is at least what the"
        " background loses."
    ),
    inventory=HERE / "inventory",
    measure=measure,
    least=Fraction(1, 32),
    explain=(
        "Of latency: the background's queue holds as many bytes as before, and is served at what the foreground leaves of"
        " the pipe: a foreground of 25 of 42 Mb/s makes it more than twice as slow. Of bandwidth: where both offer hardly"
        " more than the pipe has, little can be gained, and HTB loses some of the pipe to an emulator's late timers."
    ),
)
