"""NICT: how near the base connection comes to its committed rate, with background of 0 to 100 % of the link."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from slotcar_lab.control import Lab
from slotcar_lab.errors import LabError
from slotcar_lab.experiments.bench import Bench, Udp
from slotcar_lab.experiments.experiment import Experiment, Findings
from slotcar_lab.experiments.late_answers import late_answers
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule
from slotcar_lab.patience import HANG_S

HERE = Path(__file__).parent
ROOT = HERE.parents[3]
SCRIPT = HERE / "ends.py"
SOURCE, SINK, SINK_ADDRESS, PORT = "source-a", "sink-a", "10.30.21.2", 7010
LINK_BPS, COMMITTED_BPS, IN_PROFILE = 8_000_000, 4_000_000, 10
#: Parts of the link. A datagram of 1,400 bytes takes 1,442 of the lab's line.
LOADS, SMOKE_LOADS = (0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 1.0)
PAYLOAD_BYTES, LINE_BYTES = 1_400, 1_442
METHODS = ("proposed", "fixed", "newreno")
#: The round trip of the reference's longer path. With the lab's own, of 10 ms, the class's queue holds several windows: no
#: TCP can leave it empty, and all have their rate.
RTT_MS = 100
#: The fixed window is the committed rate times the path's round trip, with what the lab's own hops take, in segments.
HOPS_MS, SEGMENT_BYTES = 10, 1_448
FIXED_SEGMENTS = COMMITTED_BPS * (RTT_MS + HOPS_MS) // 8_000 // SEGMENT_BYTES
RUN_S, SETTLE_S, SMOKE_S = 14.0, 3.0, 8.0
#: After its time: for a run to end by itself, and at most.
OVER_S, PATIENCE_S = 1.0, 60.0
#: Of acknowledgements that are late: the round trip is what TCP and the window's rule see.
MOST_PACKETS = 1_000

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
    "NewReno with a fixed greatest window, mean over all loads",
    "94.8 %",
    "% of the committed rate",
    "at most 3 away from it, and less than the proposed one",
    lambda ours, proposed: abs(ours - 94.8) <= 3 and ours < proposed,
)
NEWRENO = Rule(
    "NewReno alone, mean over all loads",
    "79.0 %",
    "% of the committed rate",
    "at most 3 away from it, and less than with a fixed window",
    lambda ours, fixed: abs(ours - 79.0) <= 3 and ours < fixed,
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
    bench.wait_until(slot.start + 2.0)
    configuration = bench.configuration(slot.start + 1.0)
    folder = f"/tmp/nict-af-{int(bench.clock.now())}"  # noqa: S108 - of the lab's host
    bench.lab.check(SINK, ["mkdir", "-p", folder])
    serving = bench.lab.popen(SINK, python_of(bench.lab, "serve", folder, SINK_ADDRESS, str(PORT)))
    runs: dict[tuple[str, float], Ran] = {}
    try:
        serving.wait_reported("ready", HANG_S)
        with late_answers(bench, SINK, RTT_MS, MOST_PACKETS):
            for load in SMOKE_LOADS if bench.smoke else LOADS:
                for method in METHODS:
                    runs[method, load] = one = _run(bench, folder, method, load)
                    words = f"{one.rate_bps / 1e6:.2f} Mb/s, {one.again} segments again"
                    bench.say(f"{method}, load {load:.0%}: {words}")
    finally:
        serving.terminate()
        bench.lab.exec(SINK, ["rm", "-rf", folder])
    return Findings(_rows(runs), (_plot(runs),), configuration)


def _run(bench: Bench, folder: str, method: str, load: float) -> Ran:
    duration_s = SETTLE_S + (SMOKE_S if bench.smoke else RUN_S)
    arguments = (folder, method, str(COMMITTED_BPS), str(IN_PROFILE), str(duration_s))
    background = None
    with _window(bench.lab, FIXED_SEGMENTS if method == "fixed" else None):
        sender = bench.lab.popen(SOURCE, python_of(bench.lab, "send", *arguments), stdin=True)
        sender.wait_reported("ready", HANG_S)
        if load > 0:
            rate_bps = int(load * LINK_BPS * PAYLOAD_BYTES / LINE_BYTES)
            background = bench.udp_for(Udp("source-b", "sink-b", 6001, rate_bps, PAYLOAD_BYTES), duration_s + OVER_S)
        begin = bench.next_begin()
        sender.write(f"{bench.by_the_nodes(begin):.6f}\n".encode())
        bench.wait_until(begin + duration_s + OVER_S)
        bench.wait_ended(sender, PATIENCE_S)
    if background is not None:
        bench.demand_sent([background], begin + SETTLE_S, begin + duration_s - SETTLE_S)
        background.stop()
    return ran_of(sender.stdout, f"{method} at a load of {load:.0%}")


def ran_of(output: str, what: str) -> Ran:
    """What a sender said of itself, once it has settled.

    Raises:
        LabError: it said too little.
    """
    documents = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    inside = [one for one in documents if "bytes" in one and one["bytes"] > 0]
    steady = [one for one in inside if one["at"] >= inside[0]["at"] + SETTLE_S]
    if len(steady) < 4:
        raise LabError(f"{what} said too little: {len(steady)} times")
    first, last = steady[0], steady[-1]
    rate_bps = (last["bytes"] - first["bytes"]) * 8 / (last["at"] - first["at"])
    return Ran(rate_bps, last["again"])


@contextlib.contextmanager
def _window(lab: Lab, segments: int | None) -> Iterator[None]:
    """The route to the sink bounds the congestion window of new connections, if at all; what the kernel has learnt of
    earlier ones is forgotten."""
    to = f"{SINK_ADDRESS}/32"
    lab.check(SOURCE, ["ip", "tcp_metrics", "flush", "all"])
    if segments is None:
        yield
        return
    via = lab.check(SOURCE, ["ip", "route", "get", SINK_ADDRESS]).split()
    way = via[via.index("via") : via.index("via") + 4]
    lab.check(SOURCE, ["ip", "route", "add", to, *way, "cwnd", "lock", str(segments)])
    try:
        yield
    finally:
        lab.check(SOURCE, ["ip", "route", "del", to])


def _rows(runs: Runs) -> tuple[Row, ...]:
    percents = {method: [one.percent for (which, _), one in runs.items() if which == method] for method in METHODS}
    mean = {method: sum(percents[method]) / len(percents[method]) for method in METHODS}
    at_full = ", ".join(f"{method} {runs[method, 1.0].percent:.1f}" for method in METHODS)
    again = {method: sum(one.again for (which, _), one in runs.items() if which == method) for method in METHODS}
    part = 100 * again["proposed"] / again["newreno"] if again["newreno"] else None
    return (
        PROPOSED.judge(mean["proposed"], note=f"at a background of 100 %: {at_full} %"),
        LEAST.judge(min(percents["proposed"])),
        FIXED.judge(mean["fixed"], mean["proposed"], note=f"the proposed one {mean['proposed']:.1f} %"),
        NEWRENO.judge(mean["newreno"], mean["fixed"], note=f"with a fixed window {mean['fixed']:.1f} %"),
        AGAIN.judge(part, note=f"{again['proposed']} of {again['newreno']}"),
    )


def _plot(runs: Runs) -> Plot:
    curves = []
    for method in METHODS:
        points = sorted((load, one.rate_bps / 1e6) for (which, load), one in runs.items() if which == method)
        curves.append(Curve(method, tuple(100 * load for load, _ in points), tuple(rate for _, rate in points)))
    curves.append(Curve("committed", (0.0, 100.0), (COMMITTED_BPS / 1e6,) * 2))
    title = "Base connection against background traffic"
    return Plot("base", title, "background, % of the link", "payload of TCP, Mb/s", tuple(curves))


def python_of(lab: Lab, *words: str) -> list[str]:
    """The command of one end on a node: `ends.py` with the mover and the client library."""
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
    written=Fraction(1, 125),
    scaled=False,
    scale=(
        "A 125th of the reference's rates, 4 of 8 Mb/s: both ends, with TLS and BLAKE3, run in the emulated guest. The"
        " round trip is 100 ms, that of the longer path of the reference's queue study; which one this figure has, it does"
        " not print. The sender is paced and its buffer follows the round-trip time by the reference's rule, from user"
        " space, where the reference changed the kernel's congestion control."
    ),
    explain=(
        "The reference's background shares one queue with the assured class; here it is best effort, and the scheduler"
        " keeps the assured class its share. What NewReno sends beyond its rate is out of profile and lost first; it then"
        " halves its window, and is under its rate until that has grown again: for seconds, as the window is longer than"
        " the queue. With less background, senders without pacing take what is free, which is the additional connection's"
        " business. A paced sender stays in profile, and makes up for what late timers have left unsent; TCP's timestamps,"
        " which the committed rate of payload does not count, leave it at most 99.2 %."
    ),
)
