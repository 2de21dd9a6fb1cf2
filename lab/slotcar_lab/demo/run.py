"""The demo's run: bring everything up, apply the file, measure before, during and after, and judge what was seen."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rich.table import Table

from slotcar_lab import control, requirements, snapshot, topology, traffic
from slotcar_lab import controller as controllers
from slotcar_lab.control import Lab
from slotcar_lab.controller import Controller
from slotcar_lab.demo.display import Display
from slotcar_lab.demo.figures import Flow, Phase, Sample, Verdict, mean_bps, phases_of, too_busy, verdicts
from slotcar_lab.demo.plot import draw
from slotcar_lab.errors import LabError
from slotcar_lab.lateness import lags_cs
from slotcar_lab.places import HOME

INVENTORY = HOME / "inventories" / "demo"
#: An eighth of the lab's, as that inventory has it.
RATES_BPS = (12_500_000, 7_500_000, 7_500_000)
RESERVATIONS = HOME / "examples" / "lab" / "reservations.yml"
OWNER = "demo"
#: GARA §5.2's flows at an eighth of their rates, each with its payload size: a foreground that was reserved for, and a
#: load that congests the VC. At a quarter, two cores that emulate the routers have no time left to act at a boundary.
PREMIUM = ("anl-premium", "lbnl-premium", 5001, 4_000_000, 1_400)
LOAD = ("anl-traffic", "lbnl-traffic", 5002, 6_000_000, 1_400)
#: Long, so that an emulated sender is seldom woken. What the pace is ahead of the rate is a quarter of the reservation's
#: burst.
QUEUE_S = 0.064
ALONE_S, CONGESTED_S, AFTER_S = 6.0, 12.0, 10.0
READY_S, ROLLED_BACK_S = 120.0, 60.0
#: How long after a boundary the routers are asked how late they were: they have acted by then, or are not going to.
ASK_S = 6.0


@dataclass(frozen=True, slots=True)
class Measured:
    flows: tuple[Flow, ...]
    phases: tuple[Phase, ...]
    slot_s: tuple[float, float]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status 0 where everything that the demo claims was seen, 1 where something was not, 2 where it cannot run."""
    parser = argparse.ArgumentParser(prog="python -m slotcar_lab.demo", description=__doc__)
    parser.add_argument("--down", action="store_true", help="end what an earlier demo left running, and nothing else")
    parser.add_argument("--no-keep", action="store_true", help="leave neither the controller nor the lab running")
    options = parser.parse_args(arguments)
    state_dir = Path(os.environ.get("SLOTCAR_STATE_DIR") or HOME / "var").absolute()
    try:
        if options.down:
            _down(state_dir)
            return 0
        try:
            return _run(state_dir, Display(), keep=not options.no_keep)
        finally:
            if options.no_keep:
                _down(state_dir)
    except LabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _down(state_dir: Path) -> None:
    running = controllers.find(state_dir, INVENTORY)
    if running is not None:
        running.stop()
    control.down(state_dir / "lab")


def _run(state_dir: Path, display: Display, *, keep: bool) -> int:
    backend = control.choose_backend(display.say)
    requirements.ensure(backend, display.say, install=True)
    lab = control.up(topology.garnet(RATES_BPS), state_dir / "lab", backend, display.say)
    display.say(f"{len(lab.topology.routers)} routers and {len(lab.topology.hosts)} hosts are up")
    controller = controllers.start(state_dir, INVENTORY)
    display.say(f"the controller answers; its page {controller.address}/ shows the slot open and close")
    controller.wait_settled(READY_S)
    _cancel_leftovers(controller)
    before = snapshot.snapshots(lab)
    display.say("the routers have their baseline, the queues without any reservation; it is kept for comparing")
    measured = _measure(lab, controller, display)
    after = snapshot.snapshots(lab)
    return _report(display, controller, measured, before, after, state_dir / "demo", keep=keep)


def _cancel_leftovers(controller: Controller) -> None:
    """A reservation of a demo that was interrupted."""
    leftovers = controller.get(f"/v1/reservations?owner={OWNER}&state=committed&state=held")["items"]
    for entry in leftovers:
        controller.slotcar("cancel", entry["handle"], "--yes")
    if leftovers:
        time.sleep(1.0)
        controller.wait_settled(READY_S)


def _measure(lab: Lab, controller: Controller, display: Display) -> Measured:
    out = controller.slotcar("apply", str(RESERVATIONS), "--yes")
    display.say(out.strip().splitlines()[-1])
    start, end = _slot(controller)
    if controller.wait_armed(lab.topology.routers, start - CONGESTED_S - ALONE_S):
        display.say("the routers hold what they are to do when the slot starts and when it ends")
    total_s = end - time.time() + AFTER_S + 3.0
    with _flow(lab, PREMIUM, total_s) as premium:
        began = premium.started_at
        alone_until = max(began + ALONE_S, start - CONGESTED_S)
        display.watch("the premium flow alone", alone_until, lambda: _now([("premium", premium)]))
        with _flow(lab, LOAD, end + AFTER_S + 2.0 - time.time()) as load:
            both = [("premium", premium), ("best effort", load)]
            congested = load.started_at
            display.watch("a best-effort load congests the line", start, lambda: _now(both))
            display.watch("the slot is open", start + ASK_S, lambda: _now(both))
            begun_late_s = _late_s(lab, display, "began it")
            display.watch("the reservation is in force", end, lambda: _now(both))
            display.watch("the slot is over", end + ASK_S, lambda: _now(both))
            ended_late_s = _late_s(lab, display, "ended it")
            display.watch("the load has the line again", end + AFTER_S, lambda: _now(both))
            flows = (_sampled("premium", premium, began), _sampled("best effort", load, began))
    controller.wait_settled(ROLLED_BACK_S)
    bounds = [moment - began for moment in (began, congested, start, end, end + AFTER_S)]
    phases = phases_of(bounds, {"reserved": begun_late_s, "after": ended_late_s})
    return Measured(flows, phases, (start - began, end - began))


def _late_s(lab: Lab, display: Display, did: str) -> float:
    """How late the last router took its step by itself: the timers of one that is emulated are, while it forwards."""
    lags_by_router_cs = lags_cs(lab, lab.topology.routers)
    late_s = max(lags_by_router_cs.values(), default=0) / 100
    by_itself = (
        f"by their own account, the routers {did} at most {late_s:.2f} s late: so much is left out of the figures"
    )
    display.say(by_itself if lags_by_router_cs else f"no router {did} by itself: the controller pushed")
    return late_s


def _slot(controller: Controller) -> tuple[float, float]:
    (entry,) = controller.get(f"/v1/reservations?owner={OWNER}&state=committed")["items"]
    (window,) = entry["reservation"]["windows"]
    start, end = (datetime.fromisoformat(window[key]).timestamp() for key in ("start", "end"))
    return start, end


def _flow(lab: Lab, flow: tuple[str, str, int, int, int], duration_s: float) -> traffic.Flow:
    source, destination, port, rate_bps, payload_bytes = flow
    return traffic.start_udp(
        lab,
        source,
        destination,
        port=port,
        rate_bps=rate_bps,
        payload_bytes=payload_bytes,
        duration_s=duration_s,
        queue_s=QUEUE_S,
    )


def _now(flows: Sequence[tuple[str, traffic.Flow]]) -> list[tuple[str, str]]:
    rows = []
    for name, flow in flows:
        samples = flow.samples()
        rate = f"{samples[-1].received_bps / 1e6:5.1f}" if samples else "    –"
        rows.append((name, f"{rate} of {flow.offered_bps / 1e6:.0f} Mb/s"))
    return rows


def _sampled(name: str, flow: traffic.Flow, began: float) -> Flow:
    received, sent = (
        tuple(Sample(sample.ended_at - began, sample.received_bps) for sample in samples)
        for samples in (flow.samples(), flow.sent())
    )
    return Flow(name, flow.offered_bps, received, sent)


def _report(
    display: Display,
    controller: Controller,
    measured: Measured,
    before: dict[str, str],
    after: dict[str, str],
    folder: Path,
    *,
    keep: bool,
) -> int:
    display.say("the routers were read again")
    console = display.console
    console.print(_table(measured))
    same = [name for name in before if before[name] == after[name]]
    judged = [
        *verdicts(measured.flows[0], measured.phases),
        Verdict(
            "every router's configuration is byte for byte what it was",
            len(same) == len(before),
            f"{len(same)} of {len(before)} routers",
        ),
    ]
    for verdict in judged:
        mark, style = ("yes", "green") if verdict.holds else ("NO ", "bold red")
        console.print(f"{mark}  {verdict.claim} ({verdict.evidence})", style=style)
    if any(too_busy(flow, measured.phases) for flow in measured.flows):
        console.print(
            "     this machine was too busy to send all that was offered; judged is what was sent", style="dim"
        )
    for name in set(before) - set(same):
        (folder / f"{name}.before.txt").write_text(before[name])
        (folder / f"{name}.after.txt").write_text(after[name])
        console.print(f"     compare {folder / name}.before.txt with .after.txt")
    png, svg = draw(measured.flows, measured.slot_s, measured.phases, folder)
    console.print(f"\nplot   {png}\n       {svg}")
    if keep:
        console.print(f"page   {controller.address}/")
        console.print(f"API    {controller.address}/docs  (it runs on; `make demo-down` ends it)")
    return 0 if all(verdict.holds for verdict in judged) else 1


def _table(measured: Measured) -> Table:
    table = Table(title="Payload received of payload sent, Mb/s", title_justify="left", pad_edge=False, box=None)
    table.add_column("flow")
    table.add_column("offered", justify="right")
    for phase in measured.phases:
        table.add_column(phase.name, justify="right")
    for flow in measured.flows:
        cells = []
        for phase in measured.phases:
            means = mean_bps(flow.samples, phase), mean_bps(flow.sent, phase)
            cells.append(" of ".join("–" if mean is None else f"{mean / 1e6:.1f}" for mean in means))
        table.add_row(flow.name, f"{flow.offered_bps / 1e6:.1f}", *cells)
    return table
