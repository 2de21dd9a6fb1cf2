"""D7.3 §8.1.2: how long images of a medical database take to the nodes that compare them, best effort and by IP Premium."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from slotcar_lab.client import LabProcess
from slotcar_lab.errors import LabError
from slotcar_lab.experiments.bench import SLOT_SETTLE_S, START_S, Bench, Udp
from slotcar_lab.experiments.experiment import QUARTER, Experiment, Findings
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule
from slotcar_lab.patience import HANG_S

HERE = Path(__file__).parent
SCRIPT = HERE / "ends.py"
SOURCE, NODES, PORT = "source-a", ("sink-a", "sink-b"), 5_201
RESERVED_BPS = 4_500_000
#: What else is on the line of 25 Mb/s, of payload; it leaves 2.6 Mb/s.
LOAD = Udp("source-b", "sink-b", 5_011, 21_750_000)
#: For a best-effort run to end, and for one by IP Premium.
BEST_EFFORT_S, PREMIUM_S, PATIENCE_S = 30.0, 12.0, 120.0
PREMIUM, BEST_EFFORT = "IP Premium", "best effort"


@dataclass(frozen=True, slots=True)
class Images:
    """What each node is sent: `octets`, a quarter of the paper's, as rates are."""

    name: str
    octets: int

    @property
    def reserved_s(self) -> float:
        """At the reserved rate."""
        return 8 * self.octets / RESERVED_BPS


#: 124 images of 140 kB over two nodes; a three-dimensional image of 14 MB for each.
SMALL = Images("the small database, 124 images of 140 kB", 124 * 140_000 // 2 // 4)
VOLUME = Images("one image of 14 MB for each node", 14_000_000 // 4)
CASES = (SMALL, VOLUME)

IN_TIME = Rule(
    "time to both nodes by IP Premium beside a full line, the worse of both",
    "announced, not printed; a sustainable throughput is the main requirement",
    "% of volume by reserved rate",
    "at most 115 %",
    lambda ours, _: ours <= 115,
    promise=True,
)
SAVED = Rule(
    "time by best effort, beside that by IP Premium, the worse of both",
    "announced, not printed; the transmission of images may become a bottleneck",
    "times",
    "at least 1.5",
    lambda ours, _: ours >= 1.5,
    promise=True,
)
#: Seconds until both nodes have theirs, by how it is sent and what.
Took = Mapping[tuple[str, Images], float]


def measure(bench: Bench) -> Findings:
    slot = bench.reserve(HERE / "reservations.yml")["first"]
    bench.arm(slot, slot.start - 2 * START_S)
    configuration = bench.configuration(slot.start + 1.0)
    took: dict[tuple[str, Images], float] = {}
    bench.wait_until(slot.start - 2 * START_S)
    end = slot.end + SLOT_SETTLE_S + len(CASES) * BEST_EFFORT_S
    load = bench.udp(LOAD, end)
    for number, images in enumerate(CASES):
        begin = slot.start + SLOT_SETTLE_S + number * PREMIUM_S
        took[PREMIUM, images] = _send(bench, images, begin, PREMIUM_S)
    if begin + took[PREMIUM, images] > slot.end:
        raise LabError(f"{images.name} took longer than the slot")
    bench.watch([replace(slot, end=slot.end - 1.0)])
    for number, images in enumerate(CASES):
        begin = slot.end + SLOT_SETTLE_S + number * BEST_EFFORT_S
        took[BEST_EFFORT, images] = _send(bench, images, begin, BEST_EFFORT_S)
    bench.demand_sent([load], slot.start, begin + took[BEST_EFFORT, images])
    load.stop()
    return Findings(_rows(took), (_plot(took),), configuration)


def _send(bench: Bench, images: Images, begin: float, within_s: float) -> float:
    """Seconds until both nodes have all of it."""
    octets, address = bench.scale.lab(images.octets), bench.lab.topology.address_of
    with contextlib.ExitStack() as stack:

        def start(node: str, *arguments: str) -> LabProcess:
            process = stack.enter_context(bench.lab.start_python(node, SCRIPT, *arguments))
            process.wait_reported("ready", HANG_S)
            return process

        receivers = [start(node, "receive", address(node), str(PORT)) for node in NODES]
        words = (f"{bench.by_the_nodes(begin):.6f}", str(octets))
        senders = [start(SOURCE, "send", address(node), str(PORT), *words) for node in NODES]
        bench.wait_until(begin + within_s)
        for process in (*senders, *receivers):
            bench.wait_ended(process, PATIENCE_S)
        counts = [process.stdout.splitlines()[-1].split() for process in receivers]
    if any(int(count) != octets for count, _ in counts):
        raise LabError(f"not all of {images.name} came: {counts}")
    took_s = max(float(last) for _, last in counts) - bench.by_the_nodes(begin)
    bench.say(f"{images.name}: {took_s:.2f} s")
    return took_s


def _rows(took: Took) -> tuple[Row, ...]:
    in_time = {images: 100 * took[PREMIUM, images] / images.reserved_s for images in CASES}
    saved = {images: took[BEST_EFFORT, images] / took[PREMIUM, images] for images in CASES}
    seconds = "; ".join(
        f"{images.name}: {took[PREMIUM, images]:.1f} s, best effort {took[BEST_EFFORT, images]:.1f} s"
        for images in CASES
    )
    return (
        IN_TIME.judge(max(in_time.values()), note=seconds),
        SAVED.judge(min(saved.values())),
    )


def _plot(took: Took) -> Plot:
    places = tuple(float(number) for number, _ in enumerate(CASES, 1))
    curves = [Curve(how, places, tuple(took[how, images] for images in CASES)) for how in (PREMIUM, BEST_EFFORT)]
    curves.append(Curve("at the reserved rate", places, tuple(images.reserved_s for images in CASES)))
    label = "1: the small database; 2: an image of 14 MB for each node"
    return Plot("times", "Time until both nodes have their images", label, "seconds", tuple(curves), style="bars")


EXPERIMENT = Experiment(
    name="medical-images",
    title="D7.3: images of a medical database to two nodes",
    source="DataGRID D7.3 §8.1.2 and §3.1, without a figure",
    shown=(
        "Beside a line that is nearly full, IP Premium brings images to the nodes that compare them in the time that their"
        " volume takes at the reserved rate; best effort takes longer."
    ),
    inventory=HERE.parent / "datagrid" / "congested",
    measure=measure,
    scale=QUARTER + " So are volumes: times are the paper's. Computing the images' likeness is no part of it.",
    explain=(
        "The reference announces these timings for a later deliverable and prints none. A bucket that is full at first lets"
        " the first images go faster than the reserved rate."
    ),
)
