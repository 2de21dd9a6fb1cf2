"""Benchmarks of this checkout beside those of another one, by turns in one run: what a change made slower, or faster.

Of each figure that both give, the best of the turns counts: another program on the machine only makes a turn slower.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.common import Figure, Say

HERE = Path(__file__).resolve().parents[1]
#: Figures of these units are compared, of others nothing is better or worse.
LOWER_IS_BETTER = {"s": True, "ms": True, "us": True, "MiB": True, "1/s": False}


def measure(names: Sequence[str], other: Path, turn_count: int, quick: bool, say: Say) -> Iterator[Figure]:
    """Figures of `names` in this checkout, each with the other one's as its peer.

    Args:
        other: a checkout of this repository with an environment of its own, in `.venv` (`tools/setup.sh dev`).
        turn_count: so often each checkout runs each benchmark.

    Raises:
        SystemExit: there is no such checkout, or a benchmark failed; the message says which and how.
    """
    if not (other / ".venv" / "bin" / "python").exists():
        raise SystemExit(
            f"{other} is no checkout with an environment of its own: clone one there and run tools/setup.sh dev in it"
        )
    peer = f"commit {commit_of(other)}"
    for name in names:
        turns: dict[Path, list[dict[str, tuple[float, str]]]] = defaultdict(list)
        for turn in range(turn_count):
            for checkout in (other, HERE) if turn % 2 == 0 else (HERE, other):
                say(f"{name}, turn {turn + 1} of {turn_count}, {peer if checkout == other else 'this checkout'}")
                turns[checkout].append(_figures(checkout, name, quick))
        own, beside = _best(turns[HERE]), _best(turns[other])
        for figure, (value, unit) in own.items():
            if figure in beside:
                lower = LOWER_IS_BETTER[unit]
                yield Figure(f"{name}: {figure}", value, unit, peer, beside[figure][0], lower_is_better=lower)


def _figures(checkout: Path, name: str, quick: bool) -> dict[str, tuple[float, str]]:
    """What one run of a benchmark gives: values and units by the figures' names."""
    command = [str(checkout / ".venv" / "bin" / "python"), "-m", "benchmarks", name, *(["--quick"] if quick else [])]
    done = subprocess.run(command, cwd=checkout, env=_environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name} failed in {checkout}:\n{done.stderr[-2000:]}")
    written = json.loads((checkout / "benchmarks" / "out" / f"{name}.json").read_text())
    rows = (
        written["figures"] if isinstance(written, dict) else written
    )  # a list of figures, before there was a document
    return {row["figure"]: (row["value"], row["unit"]) for row in rows}


def _environment() -> dict[str, str]:
    """This one without what it says about where this checkout's modules are."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def _best(turns: Sequence[dict[str, tuple[float, str]]]) -> dict[str, tuple[float, str]]:
    """Of each figure that can be compared, the best of the turns, and its unit."""
    best = {}
    for figure, (_, unit) in turns[0].items():
        if unit in LOWER_IS_BETTER:
            values = [turn[figure][0] for turn in turns if figure in turn]
            best[figure] = (min(values) if LOWER_IS_BETTER[unit] else max(values)), unit
    return best


def commit_of(checkout: Path) -> str:
    """Abbreviated, of what is checked out there.

    Raises:
        SystemExit: it is no checkout.
    """
    command = ["git", "-C", str(checkout), "rev-parse", "--short=8", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{checkout} is no checkout of this repository: {done.stderr.strip()}")
    return done.stdout.strip()
