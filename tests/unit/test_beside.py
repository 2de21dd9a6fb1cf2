"""Benchmarks of two checkouts by turns: the best of each figure counts, and what only one of them gives is left out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import beside

#: Writes its figures, of a run that gets faster turn by turn, as `python -m benchmarks NAME` does.
PROGRAM = """#!{python}
import json, pathlib, sys
assert sys.argv[1:] == ["-m", "benchmarks", "render", "--quick"], sys.argv
count = pathlib.Path("turns")
turn = len(count.read_text()) if count.exists() else 0
count.write_text("x" * (turn + 1))
figures = json.loads(pathlib.Path("figures.json").read_text())
rows = [dict(figure=name, value=values[turn], unit=unit) for name, (unit, values) in figures.items()]
out = pathlib.Path("benchmarks/out")
out.mkdir(parents=True, exist_ok=True)
(out / "render.json").write_text(json.dumps({form}))
"""


def checkout(folder: Path, figures: dict[str, tuple[str, Sequence[float]]], form: str) -> Path:
    python = folder / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(PROGRAM.format(python=sys.executable, form=form))
    python.chmod(0o755)
    (folder / "figures.json").write_text(json.dumps(figures))
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.net"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "begin"]):
        subprocess.run([*git, *words], check=True)
    return folder


def test_the_best_turn_of_each_figure_stands_beside_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before: dict[str, tuple[str, Sequence[float]]] = {
        "time": ("s", (4, 3, 6)), "rate": ("1/s", (10, 30, 20)), "share": ("%", (1, 1, 1)), "gone": ("s", (1, 1, 1))
    }  # fmt: skip
    after: dict[str, tuple[str, Sequence[float]]] = {
        "time": ("s", (5, 2, 2.5)), "rate": ("1/s", (40, 60, 50)), "share": ("%", (2, 2, 2))
    }  # fmt: skip
    other = checkout(tmp_path / "other", before, "rows")
    monkeypatch.setattr(beside, "HERE", checkout(tmp_path / "here", after, "dict(figures=rows)"))
    lines: list[str] = []
    figures = {one.figure: one for one in beside.measure(["render"], other, 3, True, lines.append)}
    assert {name: (one.value, one.peer_value, one.ratio) for name, one in figures.items()} == {
        "render: time": (2, 3, 1.5), "render: rate": (60, 30, 2)
    }  # fmt: skip
    assert ["this checkout" in words for words in lines] == [False, True, True, False, False, True], "by turns"
    assert all(one.peer.startswith("commit ") for one in figures.values())


def test_a_benchmark_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = checkout(tmp_path / "other", {}, "rows")
    (other / "figures.json").unlink()
    monkeypatch.setattr(beside, "HERE", other)
    with pytest.raises(SystemExit, match="render failed in"):
        list(beside.measure(["render"], other, 3, True, lambda _: None))
