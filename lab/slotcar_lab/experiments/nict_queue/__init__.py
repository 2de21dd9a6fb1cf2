"""NICT's queue study: two transfers of 250 Mb/s, with round trips of 20 and 100 ms, by the length of the router's queue."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from slotcar_lab.client import LabProcess
from slotcar_lab.experiments.bench import Bench, Udp
from slotcar_lab.experiments.experiment import Experiment, Findings
from slotcar_lab.experiments.late_answers import late_answers
from slotcar_lab.experiments.model import Curve, Plot, Row, Rule
from slotcar_lab.experiments.nict_af import (
    IN_PROFILE,
    LINE_BYTES,
    MOST_PACKETS,
    OVER_S,
    PATIENCE_S,
    PAYLOAD_BYTES,
    SETTLE_S,
    Ran,
    python_of,
    ran_of,
)
from slotcar_lab.patience import HANG_S

HERE = Path(__file__).parent
LINK_BPS, COMMITTED_BPS, PORT = 20_000_000, 5_000_000, 7_010
#: The queue's length by its inventory: 12 ms of the link's rate are the 30 kB that a router has at least.
QUEUES_MS = (12, 25, 50, 100)
SHORTEST, LONGEST = QUEUES_MS[0], QUEUES_MS[-1]
METHODS = ("proposed", "newreno")
RUN_S, SMOKE_S = 14.0, 8.0
#: "A throughput identical to the reserved bandwidth": as the reference's 98.6 % of one transfer.
IDENTICAL = 98.6


@dataclass(frozen=True, slots=True)
class Transfer:
    """One of the two, with the round trip that its acknowledgements make."""

    name: str
    source: str
    sink: str
    rtt_ms: int


TRANSFERS = (Transfer("1", "source-a", "sink-a", 20), Transfer("2", "source-b", "sink-b", 100))

LONG = Rule(
    "rate of the slower transfer over its committed rate, the longest queue",
    "identical to the reserved bandwidth where the queue is long enough",
    "% of the committed rate",
    f"at least {IDENTICAL} %, as the reference has of one transfer",
    lambda ours, _: ours >= IDENTICAL,
)
ALIKE = Rule(
    "what both round trips' rates differ by, the longest queue",
    "both have their rate",
    "% of the committed rate",
    "at most 1 %",
    lambda ours, _: ours <= 1,
)
SHORT = Rule(
    "the slower one, the shortest queue, below what it has with the longest",
    "less, as a high-speed algorithm needs a longer queue",
    "% of the committed rate",
    "at least 1 % less",
    lambda ours, _: ours >= 1,
)
LEAST = Rule(
    "least queue from which on the slower one has its rate",
    "sufficiently long, not printed",
    "ms of the link's rate",
    "at most 25 ms: what the longer path holds of its rate",
    lambda ours, _: ours <= 25,
    promise=True,
)
BESIDE = Rule(
    "NewReno of 100 ms, the shortest queue, beside the proposed one of 100 ms",
    "not told of two transfers",
    "% of its rate",
    "at most 97 %: what the window's control is for",
    lambda ours, _: ours <= 97,
    promise=True,
)

#: By the method, the queue's length and the transfer.
Runs = Mapping[tuple[str, int, Transfer], Ran]


def inventory(queue_ms: int) -> Path:
    return HERE / f"ms_{queue_ms}"


def measure(bench: Bench) -> Findings:
    slot = bench.reserve(HERE / "reservations.yml")["short"]
    bench.arm(slot, slot.start)
    bench.wait_until(slot.start + 2.0)
    configuration = bench.configuration(slot.start + 1.0)
    runs: dict[tuple[str, int, Transfer], Ran] = {}
    with _served(bench) as folders:
        for queue_ms in (SHORTEST, LONGEST) if bench.smoke else QUEUES_MS:
            if bench.inventory != inventory(queue_ms):
                bench.switch(inventory(queue_ms))
            for method in METHODS:
                for transfer, ran in _run(bench, folders, method).items():
                    runs[method, queue_ms, transfer] = ran
                    words = f"{percent(ran):.1f} % of its rate, {ran.again} segments again"
                    bench.say(f"{queue_ms} ms, {method}, round trip {transfer.rtt_ms} ms: {words}")
    return Findings(_rows(runs), (_plot(runs),), configuration)


@contextlib.contextmanager
def _served(bench: Bench) -> Iterator[Mapping[Transfer, str]]:
    """Each transfer's folder, with both ends' keys, its receiver and its round trip."""
    folders = {one: f"/tmp/nict-queue-{one.name}-{int(bench.clock.now())}" for one in TRANSFERS}  # noqa: S108 - of the lab's hosts
    with contextlib.ExitStack() as stack:
        for one, folder in folders.items():
            bench.lab.check(one.sink, ["mkdir", "-p", folder])
            stack.callback(bench.lab.exec, one.sink, ["rm", "-rf", folder])
            address = bench.lab.topology.address_of(one.sink)
            serving = bench.lab.popen(one.sink, python_of(bench.lab, "serve", folder, address, str(PORT)))
            stack.callback(serving.close)
            stack.callback(serving.terminate)
            serving.wait_reported("ready", HANG_S)
            stack.enter_context(late_answers(bench, one.sink, one.rtt_ms, MOST_PACKETS))
        yield folders


def _run(bench: Bench, folders: Mapping[Transfer, str], method: str) -> dict[Transfer, Ran]:
    """Both transfers beside best effort that fills the link."""
    duration_s = SETTLE_S + (SMOKE_S if bench.smoke else RUN_S)
    senders: dict[Transfer, LabProcess] = {}
    for one, folder in folders.items():
        bench.lab.check(one.source, ["ip", "tcp_metrics", "flush", "all"])
        words = ("send", folder, method, str(COMMITTED_BPS), str(IN_PROFILE), str(duration_s))
        senders[one] = bench.lab.popen(one.source, python_of(bench.lab, *words), stdin=True)
        senders[one].wait_reported("ready", HANG_S)
    full_bps = LINK_BPS * PAYLOAD_BYTES // LINE_BYTES
    background = bench.udp_for(Udp("source-b", "sink-b", 6_001, full_bps, PAYLOAD_BYTES), duration_s + OVER_S)
    begin = bench.next_begin()
    for sender in senders.values():
        sender.write(f"{bench.by_the_nodes(begin):.6f}\n".encode())
    bench.wait_until(begin + duration_s + OVER_S)
    for sender in senders.values():
        bench.wait_ended(sender, PATIENCE_S)
    bench.demand_sent([background], begin + SETTLE_S, begin + duration_s - SETTLE_S)
    background.stop()
    ran = {one: ran_of(sender.stdout, f"{method} of {one.rtt_ms} ms") for one, sender in senders.items()}
    for sender in senders.values():
        sender.close()
    return ran


def percent(ran: Ran) -> float:
    """Of the committed rate; what a sender without pacing takes beyond it is not its reservation's."""
    return min(100.0, 100 * ran.rate_bps / COMMITTED_BPS)


def _rows(runs: Runs) -> tuple[Row, ...]:
    queues_ms = sorted({queue_ms for _, queue_ms, _ in runs})
    by_queue = {one: [percent(runs["proposed", one, transfer]) for transfer in TRANSFERS] for one in queues_ms}
    slower = {one: min(percents) for one, percents in by_queue.items()}
    note = "; ".join(f"{one} ms: " + ", ".join(f"{part:.1f}" for part in by_queue[one]) for one in queues_ms)
    enough = [one for one in queues_ms if all(slower[more] >= IDENTICAL for more in queues_ms if more >= one)]
    again = sum(ran.again for (method, _, _), ran in runs.items() if method == "proposed")
    far = TRANSFERS[-1]
    ours, reno = (runs[method, SHORTEST, far] for method in METHODS)
    return (
        LONG.judge(slower[LONGEST], note=f"of 20 and 100 ms, {note} %; {again} segments again at all lengths"),
        ALIKE.judge(max(by_queue[LONGEST]) - min(by_queue[LONGEST])),
        SHORT.judge(slower[LONGEST] - slower[SHORTEST]),
        LEAST.judge(float(min(enough)) if enough else float("inf")),
        BESIDE.judge(
            100 * percent(reno) / percent(ours), note=f"NewReno {percent(reno):.1f} %, {reno.again} segments again"
        ),
    )


def _plot(runs: Runs) -> Plot:
    curves = []
    for method in METHODS:
        for transfer in TRANSFERS:
            points = sorted(
                (queue_ms, percent(ran))
                for (how, queue_ms, one), ran in runs.items()
                if (how, one) == (method, transfer)
            )
            name = f"{method}, {transfer.rtt_ms} ms"
            curves.append(Curve(name, tuple(float(one) for one, _ in points), tuple(part for _, part in points)))
    title, label = "Base connections by the queue of their class", "queue, ms of the link's rate"
    return Plot("queue", title, label, "% of the committed rate", tuple(curves))


EXPERIMENT = Experiment(
    name="nict-queue",
    title="NICT: two transfers by the length of the queue",
    source="NICT, deadline transfers over DiffServ AF, queue length of the router and the performance",
    shown=(
        "Two transfers with round trips of 20 and 100 ms have what is reserved for them, if the queue of their class is"
        " sufficiently long."
    ),
    inventory=inventory(SHORTEST),
    measure=measure,
    written=Fraction(1, 50),
    scaled=False,
    scale=(
        "A fiftieth of the reference's rates, two of 5 Mb/s on a link of 20 Mb/s: both ends, with TLS and BLAKE3, run in"
        " the emulated guest. The reference prints no lengths: tried are 30, 62, 125 and 250 kB, half to four times of what"
        " the longer path holds of its rate. The queue drops at its end; best effort fills the link."
    ),
    explain=(
        "What the reference says of its sender holds here of NewReno: of the longer path it has its rate only with a long"
        " queue, as the plot shows. Ours is paced besides: it sends nothing again whatever the queue's length, and needs"
        " none. TCP's timestamps leave it at most 99.2 %."
    ),
)
