"""`python -m benchmarks [NAME…] [--quick] [--beside CHECKOUT]`: runs, prints a table, writes `benchmarks/out/NAME.json`."""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.status import Status
from rich.table import Table

import benchmarks
from benchmarks import beside
from benchmarks.common import Figure, Say, machine
from slotcar_lab.experiments.setting import commit

BESIDE = "beside"
OUT = Path(__file__).parent / "out"
NOT_A_BENCHMARK = {"__main__", "common", BESIDE}


def names() -> list[str]:
    """Every module of this package but the shared ones; each has `measure(quick, say)`, which gives figures."""
    return sorted({module.name for module in pkgutil.iter_modules(benchmarks.__path__)} - NOT_A_BENCHMARK)


def main(
    chosen: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="All where none is named.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="The small sizes only.")] = False,
    other: Annotated[
        Path | None,
        typer.Option(
            "--beside",
            metavar="CHECKOUT",
            help="Run them by turns here and in another checkout with a .venv of its own, and compare.",
        ),
    ] = None,
    turns: Annotated[int, typer.Option(min=1, help="Beside another checkout: so often each; the best counts.")] = 3,
) -> None:
    """Measure, print a table, write benchmarks/out/NAME.json."""
    unknown = sorted(set(chosen or ()) - set(names()))
    if unknown:
        raise typer.BadParameter(f"no such benchmark: {', '.join(unknown)}; there are {', '.join(names())}")
    progress, shown = Console(stderr=True), Console()
    if not shown.is_terminal:
        shown = Console(width=150)
    if other is not None:
        command = f"{' '.join(chosen or ())} --beside CHECKOUT --turns {turns}".strip()
        measure = partial(beside.measure, chosen or names(), other.resolve(), turns)
        _run(f"{BESIDE}-{beside.commit_of(other)}", command, measure, quick, progress, shown)
    else:
        for name in chosen or names():
            _run(name, name, importlib.import_module(f"benchmarks.{name}").measure, quick, progress, shown)
    shown.print(machine(), style="dim", highlight=False, soft_wrap=True)


def _run(
    name: str,
    command: str,
    measure: Callable[[bool, Say], Iterable[Figure]],
    quick: bool,
    progress: Console,
    shown: Console,
) -> None:
    rows: list[Figure] = []
    try:
        with progress.status(name) as status:
            for row in measure(quick, partial(_say, status, name)):
                rows.append(row)  # what was measured before a failure is kept
    finally:
        OUT.mkdir(exist_ok=True)
        (OUT / f"{name}.json").write_text(json.dumps(document(command, rows, quick=quick), indent=1) + "\n")
        shown.print(table(name, rows))


def document(names: str, rows: Sequence[Figure], *, quick: bool = False) -> dict[str, Any]:
    """What `schemas/benchmark.schema.json` describes: the figures, and what measured them where and when.

    Args:
        names: the command's arguments: the benchmarks that were named.
    """
    return {
        "version": 1,
        "command": f"python -m benchmarks {names}{' --quick' if quick else ''}",
        "commit": commit(),
        "machine": machine(),
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "figures": [row.row() for row in rows],
    }


def _say(status: Status, name: str, text: str) -> None:
    status.update(f"{name}: {text}")


def table(name: str, rows: list[Figure]) -> Table:
    shown = Table("figure", title=name, title_justify="left")
    for heading in ("value", "unit", "peer", "peer's", "ratio"):
        shown.add_column(heading, justify="left" if heading in ("unit", "peer") else "right", no_wrap=True)
    before = ""
    for row in rows:
        ratio = "" if row.ratio is None else f"{number(row.ratio)} x"
        again = row.figure == before
        shown.add_row(
            *(("", "", "") if again else (row.figure, number(row.value), row.unit)),
            row.peer,
            "" if row.peer_value is None else number(row.peer_value),
            ratio,
        )
        before = row.figure
    return shown


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


if __name__ == "__main__":
    typer.run(main)
