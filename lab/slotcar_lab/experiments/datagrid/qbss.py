"""Figures 6 and 7 of D7.3: one run with any number of best-effort streams, and its rows."""

from __future__ import annotations

from pathlib import Path

from slotcar_lab.experiments.bench import Bench
from slotcar_lab.experiments.datagrid import scavenger
from slotcar_lab.experiments.datagrid.scavenger import GOODPUT_MBPS, RETURN_S, SETTLE_S, mean_mbps
from slotcar_lab.experiments.experiment import Findings
from slotcar_lab.experiments.model import Rule

ALONE = Rule(
    "QBSS alone",
    "gets the whole available bandwidth",
    "% of the link",
    "at least 90 % of what TCP can carry on it",
    lambda ours, _: ours >= 90,
)
SHRUNK = Rule(
    "QBSS beside best effort",
    "shrinks to 1 % of the link",
    "% of the link",
    "above 0 and at most 3 %",
    lambda ours, _: 0 < ours <= 3,
)
ALLOCATED = Rule(
    "best effort beside QBSS",
    "the remaining 93 of 94 Mb/s",
    "% of the link",
    "at least 95 % of what QBSS had alone: so much TCP gets out of this link",
    lambda ours, alone: ours >= 0.95 * alone,
)
RETURNED = Rule(
    "QBSS after best effort has gone",
    "has the whole link again",
    "% of the link",
    f"at least 90 %, {RETURN_S:g} s later",
    lambda ours, _: ours >= 90,
)


def measure(bench: Bench, file: Path, count: int) -> Findings:
    ran = scavenger.streams(bench, file, count)
    qbss = ran.flows["QBSS"]
    best = [flow for name, flow in ran.flows.items() if name != "QBSS"]
    together = (ran.last + SETTLE_S, ran.thinner - 0.5)
    # The first seconds of a connection are slow start's.
    alone = mean_mbps(qbss, ran.began + SETTLE_S, ran.first - SETTLE_S, bench.scale)
    shrunk = mean_mbps(qbss, *together, bench.scale)
    others = [mean_mbps(flow, *together, bench.scale) or 0.0 for flow in best]
    returned = mean_mbps(qbss, ran.ended + RETURN_S, ran.end, bench.scale)
    note = "" if count == 1 else "each " + ", ".join(f"{one:.1f}" for one in others) + " Mb/s"
    rows = (
        ALONE.judge(_part(alone)),
        SHRUNK.judge(_part(shrunk)),
        ALLOCATED.judge(_part(sum(others)), _part(alone), note=note),
        RETURNED.judge(_part(returned)),
    )
    title = f"QBSS and {count} best-effort TCP stream{'s' if count > 1 else ''}"
    marks = ((ran.first, "best effort comes"), (ran.ended, "best effort goes"))
    return Findings(rows, (scavenger.plot(title, ran.flows, ran.began, marks, bench.scale),), ran.configuration)


def _part(mbps: float | None) -> float | None:
    return None if mbps is None else 100 * mbps / GOODPUT_MBPS
