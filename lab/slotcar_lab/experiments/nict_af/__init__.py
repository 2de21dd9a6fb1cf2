"""NICT: how near the base connection comes to its committed rate, with background of 0 to 100 % of the link."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from slotcar_lab.control import Lab
from slotcar_lab.errors import LabError
from slotcar_lab.experiments.bench import Bench, Udp, wait_until
from slotcar_lab.experiments.experiment import Experiment, Findings
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule

HERE = Path(__file__).parent
ROOT = HERE.parents[3]
SCRIPT = HERE / "ends.py"
SOURCE, SINK, SINK_ADDRESS, PORT = "source-a", "sink-a", "10.30.21.2", 7010
LINK_BPS, COMMITTED_BPS, IN_PROFILE = 8_000_000, 4_000_000, 10
#: Parts of the link. A datagram of 1,400 bytes takes 1,442 of the lab's line.
LOADS, SMOKE_LOADS = (0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 1.0)
PAYLOAD_BYTES, LINE_BYTES = 1_400, 1_442
METHODS = ("proposed", "fixed", "newreno")
RUN_S, SETTLE_S, SMOKE_S = 14.0, 3.0, 8.0
READY_S = 60.0

PROPOSED = Rule(
    "mean rate of the base connection over its committed rate, background of 0 to 100 % of the link",
    "98.6 %",
    "% of the committed rate",
    "at least 98.6 %",
    lambda ours, _: ours >= 98.6,
)
LEAST = Rule(
    "the same at the worst of the loads",
    "not printed; the curve is flat",
    "% of the committed rate",
    "at least 97 %",
    lambda ours, _: ours >= 97,
    promise=True,
)
FIXED = Rule(
    "a fixed greatest window without pacing, background of 100 % of the link",
    "94.8 %, the mean of all loads",
    "% of the committed rate",
    "less than the proposed one at that load: with less background it takes what is free",
    lambda ours, proposed: ours < proposed,
)
NEWRENO = Rule(
    "NewReno alone, background of 100 % of the link",
    "79.0 %, the mean of all loads",
    "% of the committed rate",
    "less than the proposed one at that load: with less background it takes what is free",
    lambda ours, proposed: ours < proposed,
)
AGAIN = Rule(
    "segments sent again by the proposed one, of those that NewReno sends again, over all loads",
    "not printed; a faster rule loses many packets",
    "%",
    "at most 20 %",
    lambda ours, _: ours <= 20,
    promise=True,
)


@dataclass(frozen=True, slots=True)
class Ran:
    """One run: TCP's payload that was acknowledged, and TCP's segments sent again."""

    rate_bps: float
    again: int

    @property
    def percent(self) -> float:
        """Of the committed rate; what a sender without pacing takes beyond it is not its reservation's."""
        return min(100.0, 100 * self.rate_bps / COMMITTED_BPS)


Runs = Mapping[tuple[str, float], Ran]


def measure(bench: Bench) -> Findings:
    slot = bench.reserve(HERE / "reservations.yml")["base"]
    bench.arm(slot, slot.start)
    wait_until(slot.start + 2.0)
    configuration = bench.configuration(slot.start + 1.0)
    folder = f"/tmp/nict-af-{int(time.time())}"  # noqa: S108 - of the lab's host
    bench.lab.check(SINK, ["mkdir", "-p", folder])
    serving = bench.lab.popen(SINK, _python(bench.lab, "serve", folder, SINK_ADDRESS, str(PORT)))
    runs: dict[tuple[str, float], Ran] = {}
    try:
        serving.wait_said("ready", READY_S)
        for load in SMOKE_LOADS if bench.smoke else LOADS:
            for method in METHODS:
                runs[method, load] = one = _run(bench, folder, method, load)
                bench.say(f"{method}, load {load:.0%}: {one.rate_bps / 1e6:.2f} Mb/s, {one.again} segments again")
    finally:
        serving.terminate()
        bench.lab.exec(SINK, ["rm", "-rf", folder])
    return Findings(_rows(runs, fit=not bench.doubts), (_plot(runs),), configuration)


def _run(bench: Bench, folder: str, method: str, load: float) -> Ran:
    duration_s = SMOKE_S if bench.smoke else RUN_S
    background = None
    if load > 0:
        rate_bps = int(load * LINK_BPS * PAYLOAD_BYTES / LINE_BYTES)
        flow = Udp("source-b", "sink-b", 6001, rate_bps, PAYLOAD_BYTES)
        background = bench.udp_for(flow, duration_s + SETTLE_S + 8)
    sender = bench.lab.popen(
        SOURCE,
        _python(bench.lab, "send", folder, method, str(COMMITTED_BPS), str(IN_PROFILE), str(duration_s + SETTLE_S)),
    )
    if sender.wait(READY_S + duration_s):
        raise LabError(f"{method} at a load of {load:.0%}: {sender.stderr.strip()[-500:]}")
    seen = [json.loads(line) for line in sender.stdout.splitlines()]
    inside = [one for one in seen if "bytes" in one and one["bytes"] > 0]
    began = inside[0]["at"]
    steady = [one for one in inside if one["at"] >= began + SETTLE_S]
    if background is not None:
        bench.doubt_senders([background], began + SETTLE_S, began + duration_s)
        background.stop()
    if len(steady) < 4:
        raise LabError(f"{method} at a load of {load:.0%} said too little: {len(steady)} times")
    first, last = steady[0], steady[-1]
    rate_bps_seen = (last["bytes"] - first["bytes"]) * 8 / (last["at"] - first["at"])
    return Ran(rate_bps_seen, last["again"])


def _rows(runs: Runs, *, fit: bool) -> tuple[Row, ...]:
    proposed = [one.percent for (which, _), one in runs.items() if which == "proposed"]
    again = {method: sum(one.again for (which, _), one in runs.items() if which == method) for method in METHODS}
    full = {method: runs[method, 1.0].percent for method in METHODS}
    part = 100 * again["proposed"] / again["newreno"] if again["newreno"] else None
    return (
        PROPOSED.judge(sum(proposed) / len(proposed), fit=fit),
        LEAST.judge(min(proposed), fit=fit),
        FIXED.judge(full["fixed"], full["proposed"], fit=fit, note=f"the proposed one {full['proposed']:.1f} %"),
        NEWRENO.judge(full["newreno"], full["proposed"], fit=fit, note=f"the proposed one {full['proposed']:.1f} %"),
        AGAIN.judge(part, fit=fit, note=f"{again['proposed']} of {again['newreno']}"),
    )


def _plot(runs: Runs) -> Plot:
    curves = []
    for method in METHODS:
        points = sorted((load, one.rate_bps / 1e6) for (which, load), one in runs.items() if which == method)
        curves.append(Curve(method, tuple(100 * load for load, _ in points), tuple(rate for _, rate in points)))
    curves.append(Curve("committed", (0.0, 100.0), (COMMITTED_BPS / 1e6,) * 2))
    title = "Base connection against background traffic"
    return Plot("base", title, "background, % of the link", "payload of TCP, Mb/s", tuple(curves))


def _python(lab: Lab, *words: str) -> list[str]:
    path = f"PYTHONPATH={lab.inside(ROOT / 'mover')}:{lab.inside(ROOT / 'client')}"
    return ["env", path, "PYTHONDONTWRITEBYTECODE=1", lab.inside(Path(sys.executable)), lab.inside(SCRIPT), *words]


EXPERIMENT = Experiment(
    name="nict-af",
    title="NICT: the base connection keeps its committed rate",
    source="NICT, deadline transfers over DiffServ AF, evaluation with one transfer and background traffic",
    shown=(
        "The base connection of `slotcar transfer` gets nearly all of what is reserved for it, whatever else is on the"
        " link, and sends little of it again."
    ),
    inventory=HERE / "inventory",
    measure=measure,
    scale=(
        "A 125th of the reference's rates, 4 of 8 Mb/s: both ends, with TLS and BLAKE3, run in the emulated guest. The"
        " sender is paced and its buffer follows the round-trip time by the reference's rule, from user space, where the"
        " reference changed the kernel's congestion control."
    ),
    explain=(
        "The reference's background shares one queue with the assured class; here the scheduler keeps that class its"
        " share, so that a sender without pacing loses less than there, and takes what is free beyond its rate. The"
        " window follows by the send buffer only: where a segment is lost, the kernel's own congestion control still"
        " halves its window, and a paced sender does not make up for it."
    ),
)
