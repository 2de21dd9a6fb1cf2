"""Runs experiments one after another, tells their rows, and has the report written."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from lab.errors import LabError
from lab.experiments import report
from lab.experiments.catalogue import NAMES, find
from lab.experiments.model import Result, Verdict
from lab.topology import PORT_BASE_VARIABLE

HOME = Path(__file__).resolve().parents[2]
#: Beside the ports of `slotcar lab up`, so that a lab which is up stays out of it.
PORT_BASE = "2260"
STYLES = {Verdict.AS_THE_PAPER: "green", Verdict.DIFFERS: "bold red", Verdict.NOT_SHOWN: "yellow"}


def state_dir() -> Path:
    """Where experiments keep their labs: `experiments` in `SLOTCAR_STATE_DIR`, or in `var` beside the code."""
    return Path(os.environ.get("SLOTCAR_STATE_DIR") or HOME / "var").absolute() / "experiments"


REPORT = HOME / "var" / "lab-report"


def run(names: Sequence[str], say: Callable[[str], None], *, smoke: bool = False) -> tuple[Result, ...]:
    """The results of these experiments, of all unless some are named.

    Raises:
        LabError: a name is unknown, or the lab cannot run.
    """
    chosen = [find(name) for name in names or NAMES]
    os.environ.setdefault(PORT_BASE_VARIABLE, PORT_BASE)
    found = []
    for experiment in chosen:
        say(f"{experiment.name}: {experiment.title}")
        found.append(experiment.run(state_dir(), say, smoke=smoke))
        show(found[-1])
    return tuple(found)


def main_of(names: Sequence[str], out: Path, *, smoke: bool = False) -> int:
    """Runs, and writes the report into `out`. Exit status 0 where all ran, 2 where one could not."""
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:6.1f} s  {text}", flush=True)

    try:
        results = run(names, say, smoke=smoke)
        report.write(results, out)
    except LabError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"report {out / 'index.html'}")
    return 0


def show(result: Result) -> None:
    """Its rows, as a table on a terminal's width."""
    table = Table(title=result.title, title_justify="left", box=None, pad_edge=False)
    for name in ("figure", "paper", "ours", "rule", "verdict"):
        table.add_column(name)
    for row in result.rows:
        ours = "–" if row.ours is None else f"{row.ours:.4g} {row.unit}"
        note = f" ({row.note})" if row.note else ""
        table.add_row(row.figure, row.paper, ours + note, row.rule, row.verdict, style=STYLES[row.verdict])
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 200)
    console.print(table)
    if result.explanation:
        console.print(result.explanation)
