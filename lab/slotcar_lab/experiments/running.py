"""Runs experiments, in several guests side by side, tells their rows, and has the report written."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from fractions import Fraction
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from slotcar_lab import control
from slotcar_lab.errors import LabError
from slotcar_lab.experiments import report, scale, setting
from slotcar_lab.experiments.bench import LAB, bench
from slotcar_lab.experiments.catalogue import NAMES, find
from slotcar_lab.experiments.experiment import Experiment
from slotcar_lab.experiments.model import Result, Verdict
from slotcar_lab.experiments.scale import Scale
from slotcar_lab.places import HOME
from slotcar_lab.topology import PORT_BASE_VARIABLE, port_base

#: Beside the ports of `slotcar lab up`, so that a lab which is up stays out of it.
PORT_BASE = 2260
#: More than a lab has routers.
PORTS_OF_A_GUEST = 20
#: Side by side: each waits for its controller and its plays most of the time.
GUESTS = 2
STYLES = {
    Verdict.AS_THE_PAPER: "green",
    Verdict.AS_PROMISED: "cyan",
    Verdict.DIFFERS: "bold red",
    Verdict.NOT_SHOWN: "yellow",
}


def state_dir() -> Path:
    """Where experiments keep their labs: `experiments` in `SLOTCAR_STATE_DIR`, or in `var` beside the code."""
    return Path(os.environ.get("SLOTCAR_STATE_DIR") or HOME / "var").absolute() / "experiments"


REPORT = HOME / "var" / "lab-report"


@dataclass(slots=True)
class Ran:
    """What came of the experiments, by name: a result, or why there is none."""

    results: dict[str, Result] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def of(self, experiments: Sequence[Experiment]) -> list[Experiment]:
        """Those of them that are still to be run."""
        return [one for one in experiments if one.name not in self.results and one.name not in self.failures]

    def in_order(self, experiments: Sequence[Experiment]) -> Ran:
        return Ran(
            {one.name: self.results[one.name] for one in experiments if one.name in self.results},
            {one.name: self.failures[one.name] for one in experiments if one.name in self.failures},
        )


def run(
    names: Sequence[str],
    say: Callable[[str], None],
    *,
    smoke: bool = False,
    real_time: bool = False,
    part: Fraction = scale.REPORT,
    tell: Callable[[Result], None] | None = None,
) -> Ran:
    """Runs these experiments, all unless some are named; one that cannot be run is no reason to leave out the others.

    Args:
        real_time: to watch, not to measure: by this machine's clock, and not in a guest in virtual time (ADR 56).
        part: of the papers' rates, where an experiment shows at that what it is to.
        tell: called with each result when it is there.

    Raises:
        LabError: a name is unknown.
    """
    chosen = [find(name) for name in names or NAMES]
    os.environ.setdefault(PORT_BASE_VARIABLE, str(PORT_BASE))
    ran = Ran()
    while left := ran.of(chosen):
        together = _of_one_lab(left, part)
        try:
            if left[0].simulate:
                _without_a_lab(left[0], ran, say, tell or show, smoke=smoke)
            else:
                _together(together, ran, say, tell or show, left[0].scale_at(part), smoke=smoke, real_time=real_time)
        # What an experiment makes of its own figures must not cost the others theirs.
        except (LabError, OSError, subprocess.SubprocessError, ArithmeticError, LookupError, ValueError) as error:
            # None is left where only the taking down failed.
            for failed in ran.of(together)[:1]:
                ran.failures[failed.name] = why = str(_first(error))
                say(f"{failed.name} could not be run: {why}")
    return ran.in_order(chosen)


def _first(error: BaseException) -> BaseException:
    """What went wrong first; the taking down may have failed for it, too."""
    while error.__context__ is not None:
        error = error.__context__
    return error


def run_side_by_side(names: Sequence[str], guests: int, *, smoke: bool = False, part: Fraction = scale.REPORT) -> Ran:
    """As `run`, in virtual time, but what shares no lab runs in `guests` processes, each with a lab at a time.

    A guest in virtual time gives the same figures, whatever else this machine does.

    Raises:
        LabError: a name is unknown, or the environment names no port.
    """
    began = time.monotonic()
    chosen = left = [find(name) for name in names or NAMES]
    ran, context = Ran(), multiprocessing.get_context("spawn")
    places: SimpleQueue[int] = context.SimpleQueue()
    base = port_base(PORT_BASE)
    for number in range(guests):
        places.put(base + number * PORTS_OF_A_GUEST)
    with ProcessPoolExecutor(guests, mp_context=context, initializer=_begin, initargs=(places,)) as pool:
        tasks = []
        while left:
            together = _of_one_lab(left, part)
            left = [one for one in left if one not in together]
            tasks.append(pool.submit(_to_its_end, _run_one_lab, [one.name for one in together], began, smoke, part))
        try:
            for task in as_completed(tasks):
                done = task.result()
                ran.results |= done.results
                ran.failures |= done.failures
                for result in done.results.values():
                    show(result)
        except BaseException:
            # Told to end: each takes its lab down first.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise
    return ran.in_order(chosen)


def end_in_order() -> None:
    """From now on SIGTERM ends this process as Ctrl-C does: what was brought up is taken down."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))


def _begin(places: SimpleQueue[int]) -> None:
    os.environ[PORT_BASE_VARIABLE] = str(places.get())
    end_in_order()


def _to_its_end(run_one_lab: Callable[..., Ran], *details: Any) -> Ran:
    """A process of a pool that is told to end would send that as its task's answer, and begin the next task."""
    try:
        return run_one_lab(*details)
    except SystemExit as told:
        os._exit(told.code if isinstance(told.code, int) else 1)


def _run_one_lab(names: Sequence[str], since_s: float, smoke: bool, part: Fraction) -> Ran:
    def say(text: str) -> None:
        print(f"{time.monotonic() - since_s:6.1f} s  {names[0]}: {text}", flush=True)

    return run(names, say, smoke=smoke, part=part, tell=lambda result: None)


def _of_one_lab(left: Sequence[Experiment], part: Fraction) -> list[Experiment]:
    """The first, and those that may share its lab."""
    first = left[0]
    if first.simulate:
        return [first]
    inventory, at = first.inventory.resolve(), first.scale_at(part)
    return [one for one in left if one.measure and one.inventory.resolve() == inventory and one.scale_at(part) == at]


def _without_a_lab(
    experiment: Experiment, ran: Ran, say: Callable[[str], None], tell: Callable[[Result], None], *, smoke: bool
) -> None:
    say(f"{experiment.name}: {experiment.title}")
    ran.results[experiment.name] = experiment.imagine(say, smoke=smoke)
    tell(ran.results[experiment.name])


def _together(
    those: Sequence[Experiment],
    ran: Ran,
    say: Callable[[str], None],
    tell: Callable[[Result], None],
    at: Scale,
    *,
    smoke: bool,
    real_time: bool,
) -> None:
    """Runs experiments of one inventory on one lab, as far as they leave it as it was."""
    own = state_dir() / those[0].name
    if control.down(own / LAB):
        say(f"{those[0].name}: the lab of an earlier run was still there, and is taken down")
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    with bench(those[0].inventory, own, say, smoke=smoke, real_time=real_time, scale=at) as ready:
        for experiment in those:
            say(f"{experiment.name}: {experiment.title}")
            ran.results[experiment.name] = experiment.run(ready)
            tell(ran.results[experiment.name])
            if ready.inventory != those[0].inventory:
                return
            if experiment is not those[-1]:
                ready.clear()


def main_of(
    names: Sequence[str],
    out: Path,
    *,
    smoke: bool = False,
    real_time: bool = False,
    part: Fraction = scale.REPORT,
    guests: int = GUESTS,
) -> int:
    """Runs, and writes the report into `out`. Exit status 0 where all ran, 2 where one could not.

    Args:
        guests: so many labs side by side; in real time it is one.
    """
    began = time.monotonic()
    end_in_order()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True)

    try:
        report.reserve(out)
        if real_time or guests == 1:
            ran = run(names, say, smoke=smoke, real_time=real_time, part=part)
        else:
            ran = run_side_by_side(names, guests, smoke=smoke, part=part)
        report.write(tuple(ran.results.values()), out, setting.here(part, real_time=real_time))
    except LabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for name, why in ran.failures.items():
        print(f"error: {name} could not be run: {why}", file=sys.stderr)
    print(f"report {out / 'index.html'}")
    return 2 if ran.failures else 0


def show(result: Result) -> None:
    """Its rows, as a table on a terminal's width."""
    table = Table(title=result.title, title_justify="left", box=None, pad_edge=False)
    for name in ("figure", "paper", "ours", "rule", "verdict"):
        table.add_column(name)
    for row in result.rows:
        ours = "–" if row.ours is None else f"{row.ours:.4g} {row.unit}"
        note = f" ({row.note})" if row.note else ""
        table.add_row(row.figure, row.paper, ours + note, row.rule, row.verdict, style=STYLES[row.verdict])
    console = Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else 200)
    console.print(table)
    if result.explanation:
        console.print(result.explanation)
