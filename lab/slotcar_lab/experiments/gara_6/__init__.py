"""GARA Figure 6: one TCP flow, traffic in its way and load beside its receiver; the network and cores reserved in turn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from slotcar_lab.client import LabProcess
from slotcar_lab.errors import LabError
from slotcar_lab.experiments.bench import START_S, Bench, Slot, Udp
from slotcar_lab.experiments.experiment import Experiment, Findings
from slotcar_lab.experiments.figures import Phase
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule
from slotcar_lab.experiments.scale import Scale
from slotcar_lab.patience import HANG_S
from slotcar_lab.requirements import Backend

HERE = Path(__file__).parent
SCRIPT = HERE / "ends.py"
ADDRESS, PORT = "10.10.21.2", 5001
RESERVED_BPS = 8_000_000
#: What the sender paces TCP's payload at: a policer counts 40 bytes of headers in 1,500, and has to let all of it pass.
PACED_BPS = 7_500_000
#: An eighth of 80 Mb/s.
COMPETING = Udp("udp", "sink", 6001, 10_000_000, 1_400)
#: Time of a core that the receiver works on a byte: 0.6 of a core at the sender's pace.
NS_PER_BYTE = 640
#: Processes that never rest, for each core: what is left of a core is a quarter.
LOAD = 3
#: Of one core, which is all that may be reserved: more than the receiver needs.
CORES = "0.9"
#: A guest under load takes its time to configure itself; TCP takes some to find its rate again.
SETTLE_S = 8.0


@dataclass(frozen=True, slots=True)
class Times:
    """When what happens, seconds after the flow's first; `lead_s` before it, all is reserved."""

    congested: float
    network: float
    load: float
    cores: float
    network_over: float
    cores_over: float
    end: float
    lead_s: float = 120.0


PAPER = Times(10, 40, 60, 80, 120, 160, 200)
#: Short phases, for a test of the machinery.
SMOKE = Times(6, 20, 36, 52, 72, 86, 100, lead_s=60.0)


@dataclass(frozen=True, slots=True)
class Sample:
    """How much the receiver had worked off at an instant, seconds since the epoch, at the rates that are written here."""

    at: float
    bits: int


def measure(bench: Bench) -> Findings:
    if bench.lab.backend is not Backend.GUEST:
        raise LabError(
            "gara-6 loads all cores and gives some away: here the lab has no machine of its own, and these would be this"
            " machine's; it runs where the lab is a guest"
        )
    times = SMOKE if bench.smoke else PAPER
    offset_s = bench.lab.clock_offset().offset_us / 1e6
    receiving = bench.lab.start_python(
        "receiver", SCRIPT, "receive", ADDRESS, str(PORT), str(round(NS_PER_BYTE / bench.scale.factor))
    )
    started = [receiving]
    try:
        pid = json.loads(receiving.wait_reported("\n", HANG_S).splitlines()[0])["pid"]
        since = int(bench.clock.now()) + times.lead_s
        network, cores = _reserve(bench, pid, since, times)
        bench.arm(network, since - 2.0)
        configuration = bench.configuration((cores.start + network.end) / 2)
        sending = ("send", ADDRESS, str(PORT), str(bench.scale.lab(PACED_BPS)), f"{since + offset_s:.6f}")
        loading = ("load", str(LOAD), f"{since + times.load + offset_s:.6f}")
        for node, arguments in (("sender", sending), ("receiver", loading)):
            started.append(bench.lab.start_python(node, SCRIPT, *arguments))
            started[-1].wait_reported("\n", HANG_S)
        bench.wait_until(since + times.congested - START_S)
        competing = bench.udp(COMPETING, since + times.end)
        bench.wait_until(since + times.end)
        competing.wait(30.0)
        samples = _samples(receiving, offset_s, bench.scale)
    finally:
        for process in reversed(started):
            process.close()
    bench.demand_sent([competing], since + times.congested + 1.0, since + times.end - 1.0)
    return Findings(_rows(samples, since, times), (_plot(samples, since, times),), configuration)


def _reserve(bench: Bench, pid: int, since: float, times: Times) -> tuple[Slot, Slot]:
    """The network's reservation, and a group with the cores for the receiver's process."""
    network = Slot("network", since + times.network, since + times.network_over, RESERVED_BPS)
    cores = Slot("cores", since + times.cores, since + times.cores_over, 0)
    document = yaml.safe_load(bench.scale.text((HERE / "reservations.yml").read_text()))
    document["reservations"][0] |= _window(network)
    member = {"name": "receiver", "cpu": {"host": "receiver", "cores": CORES, "bind": {"process": pid}}}
    document["together"] = [{"name": "cores", "owner": "gara", **_window(cores), "members": [member]}]
    file = bench.state_dir / "gara-6.yml"
    file.write_text(yaml.safe_dump(document))
    bench.controller.slotcar("apply", str(file), "--yes")
    return network, cores


def _window(slot: Slot) -> dict[str, Any]:
    start = datetime.fromtimestamp(slot.start, UTC).replace(microsecond=0)
    return {"start": start.isoformat(), "duration": f"{int(slot.end - slot.start)} s"}


def _samples(receiving: LabProcess, offset_s: float, scale: Scale) -> tuple[Sample, ...]:
    documents = [json.loads(line) for line in receiving.stdout.splitlines()[1:] if line.endswith("}")]
    return tuple(Sample(one["at"] - offset_s, round(scale.own(8 * one["octets"]))) for one in documents)


def _mean_percent(samples: Sequence[Sample], phase: Phase) -> float | None:
    """Of the sender's pace, over a phase."""
    inside = [one for one in samples if phase.start <= one.at < phase.end]
    if len(inside) < 2:
        return None
    return 100 * (inside[-1].bits - inside[0].bits) / (inside[-1].at - inside[0].at) / PACED_BPS


PERCENT = "% of the sender's pace"
ALONE = Rule(
    "rate of the flow alone", "the first ten seconds of the curve", PERCENT, "at least 80 %", lambda a, _: a >= 80
)
CONGESTED = Rule(
    "beside 80 Mb/s of UDP", "drops precipitously", PERCENT, "at most half of the rate alone", lambda a, b: a <= b / 2
)
RESERVED = Rule("with its network reserved", "increases dramatically", PERCENT, "at least 80 %", lambda a, _: a >= 80)
LOADED = Rule(
    "with load on the receiver's cores as well",
    "is significantly affected",
    PERCENT,
    "at most three quarters of the rate before the load",
    lambda a, b: a <= 0.75 * b,
)
BOTH = Rule(
    "with network and cores reserved",
    "increases at once, with some variation",
    PERCENT,
    "at least nine tenths of the rate before the load",
    lambda a, b: a >= 0.9 * b,
)
NETWORK_OVER = Rule(
    "with its cores reserved, its network no longer",
    "drops precipitously once again",
    PERCENT,
    "at most half of the rate with both",
    lambda a, b: a <= b / 2,
)
BOTH_OVER = Rule(
    "with neither reserved any longer",
    "little further impact",
    PERCENT,
    "at most 20 % of the pace away from the rate before",
    lambda a, b: abs(a - b) <= 20,
)


def _rows(samples: Sequence[Sample], since: float, times: Times) -> tuple[Row, ...]:
    def mean(start: float, end: float, settle_s: float = SETTLE_S) -> float | None:
        return _mean_percent(samples, Phase("", since + start + settle_s, since + end - 1.0))

    alone = mean(0, times.congested, 2.0)
    reserved = mean(times.network, times.load, 4.0)
    both = mean(times.cores, times.network_over)
    network_over = mean(times.network_over, times.cores_over)
    return (
        ALONE.judge(alone),
        CONGESTED.judge(mean(times.congested, times.network, 4.0), alone),
        RESERVED.judge(reserved),
        LOADED.judge(mean(times.load, times.cores, 4.0), reserved),
        BOTH.judge(both, reserved),
        NETWORK_OVER.judge(network_over, both),
        BOTH_OVER.judge(mean(times.cores_over, times.end), network_over),
    )


def _plot(samples: Sequence[Sample], since: float, times: Times) -> Plot:
    spans = list(pairwise(samples))
    rates = tuple((after.bits - before.bits) / (after.at - before.at) / 1e6 for before, after in spans)
    curve = Curve("flow", tuple(after.at - since for _, after in spans), rates)
    marks = (
        (times.congested, "UDP starts"),
        (times.network, "network reserved"),
        (times.load, "load starts"),
        (times.cores, "cores reserved"),
        (times.network_over, "network ends"),
        (times.cores_over, "cores end"),
    )
    return Plot("bandwidth", "Bandwidth", "seconds since the flow began", "payload worked off, Mb/s", (curve,), marks)


EXPERIMENT = Experiment(
    name="gara-6",
    title="GARA Figure 6: network and cores reserved for one flow",
    source="Foster et al., End-to-End Quality of Service for High-End Applications (GARA), §5.4, Figure 6",
    shown=(
        "A flow that is to keep its rate needs both: its network against traffic in its way, and cores against load on its"
        " receiver. Either alone does not help where the other is short."
    ),
    inventory=HERE / "inventory",
    measure=measure,
    written=Fraction(1, 8),
    least=Fraction(1, 32),
    scale=(
        "Rates are written as an eighth of the paper's. Its receiver had a network as fast as its processor; here the"
        " receiver works 0.6 of a core on what arrives, counted in its own time of a core. The paper reserves at once and"
        " cancels; here both are slots that were reserved before, of the same times."
    ),
)
