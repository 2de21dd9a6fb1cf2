"""D7.3 Figure 8: best effort of a constant bit rate, untouched by a scavenger TCP stream that takes the rest."""

from __future__ import annotations

from pathlib import Path

from slotcar_lab.experiments import figures
from slotcar_lab.experiments.bench import START_S, Bench, Udp
from slotcar_lab.experiments.datagrid import scavenger
from slotcar_lab.experiments.datagrid.scavenger import (
    GOODPUT_MBPS,
    LINK_MBPS,
    RETURN_S,
    SCAVENGER_PORT,
    SETTLE_S,
    mean_mbps,
)
from slotcar_lab.experiments.experiment import Experiment, Findings
from slotcar_lab.experiments.figures import Phase, during
from slotcar_lab.experiments.model import Rule

HERE = Path(__file__).parent
#: "a constant bit rate best-effort stream of 50 Mbps", a quarter of it.
BEST_EFFORT = Udp("source-b", "sink-a", 5002, 12_500_000)
ON_THE_LINE_MBPS = 12.5 * 1442 / 1400
REST_MBPS = (LINK_MBPS - ON_THE_LINE_MBPS) * 1448 / 1514

UNTOUCHED = Rule(
    "best effort while QBSS sends",
    "not influenced by concurrent QBSS traffic",
    "Mb/s",
    "at least 99 % of what was sent",
    lambda ours, sent: ours >= 0.99 * sent,
)
UNLOST = Rule(
    "loss of best effort while QBSS sends",
    "not influenced",
    "%",
    "at most 0.5 % more than before QBSS came",
    lambda ours, before: ours <= before + 0.5,
)
REST = Rule(
    "QBSS beside best effort",
    "takes what is left over",
    "Mb/s",
    "at least 80 % of what best effort leaves",
    lambda ours, rest: ours >= 0.8 * rest,
)
WHOLE = Rule(
    "QBSS after best effort has gone",
    "100 % of the link rate",
    "% of the link",
    f"at least 90 % of what TCP can carry on it, {RETURN_S:g} s later",
    lambda ours, _: ours >= 90,
)


def measure(bench: Bench) -> Findings:
    configuration = scavenger.reserve(bench, HERE / "reservations.yml")
    before_s, beside_s, after_s = (3.0, 4.0, 3.0) if bench.smoke else (8.0, 12.0, 12.0)
    lasts_s = before_s + START_S + beside_s
    with bench.captured((BEST_EFFORT.source,), (BEST_EFFORT.destination,), f"udp port {BEST_EFFORT.port}") as captured:
        best = bench.udp_for(BEST_EFFORT, lasts_s)
        bench.wait_until(best.started_at + before_s)
        qbss = bench.tcp("source-a", "sink-a", SCAVENGER_PORT, START_S + beside_s + after_s)
        best.wait(lasts_s + 30)
    qbss.wait(after_s + 60)
    ended_at = best.started_at + lasts_s
    bench.demand_sent([best], best.started_at, ended_at)
    stream = captured.stream(BEST_EFFORT.port)
    alone = Phase("alone", best.started_at + 0.5, best.started_at + before_s - 0.5)
    beside = Phase("beside", qbss.started_at + SETTLE_S, ended_at - 0.5)
    payload = BEST_EFFORT.payload_bytes
    back = mean_mbps(qbss, ended_at + RETURN_S, qbss.started_at + START_S + beside_s + after_s, bench.scale)
    rows = (
        UNTOUCHED.judge(
            figures.rate_mbps(stream, payload, beside, bench.scale),
            figures.sent_mbps(stream, payload, beside, bench.scale),
        ),
        UNLOST.judge(figures.loss_percent(during(stream, beside)), figures.loss_percent(during(stream, alone))),
        REST.judge(mean_mbps(qbss, beside.start, beside.end, bench.scale), REST_MBPS),
        WHOLE.judge(None if back is None else 100 * back / GOODPUT_MBPS),
    )
    title = "QBSS and a best-effort stream of constant bit rate"
    marks = ((qbss.started_at, "QBSS comes"), (ended_at, "best effort goes"))
    flows = {"best effort": best, "QBSS": qbss}
    return Findings(rows, (scavenger.plot(title, flows, best.started_at, marks, bench.scale),), configuration)


EXPERIMENT = Experiment(
    name="qbss-3",
    title="D7.3: QBSS beside best effort of constant bit rate",
    source="DataGRID D7.3 §8.1.3, Figure 8",
    shown=(
        "Best effort of 50 Mb/s is not touched by a scavenger TCP stream, which takes what is left over, and the whole"
        " link once best effort has gone."
    ),
    inventory=HERE.parent / "datagrid" / "congested",
    measure=measure,
)
