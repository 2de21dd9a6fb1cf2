"""No Python file is longer than one can read at once; ruff holds the statements of a function (`max-statements`)."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("benchmarks", "client", "controller", "examples", "lab", "mover", "plugins", "tests", "tools")
MOST_LINES = 400
#: ruff's: too many statements in a function.
RULE = "PLR0915"
#: Files that are longer, each with the lines that it may have and why it is not split.
LONGER = {
    # numba's cache of a kernel does not see a change in another file that the kernel calls into.
    "controller/slotcar/admission/kernels.py": 420,
}


def test_no_file_is_longer_than_it_may_be() -> None:
    lengths = {
        file.relative_to(ROOT).as_posix(): len(file.read_text().splitlines())
        for room in ROOMS
        for file in (ROOT / room).rglob("*.py")
        if "build" not in file.relative_to(ROOT).parts
    }
    assert len(lengths) > 500, "files were looked for where they are not"
    assert {name: lines for name, lines in lengths.items() if lines > LONGER.get(name, MOST_LINES)} == {}
    assert all(lengths[name] > MOST_LINES for name in LONGER), "a file that is no longer long needs no exception"


def test_ruff_holds_the_statements_of_a_function_and_no_function_is_exempt() -> None:
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    assert RULE in lint["select"]
    assert lint["pylint"]["max-statements"] <= 40
    exempt = [
        file.relative_to(ROOT).as_posix()
        for room in ROOMS
        for file in (ROOT / room).rglob("*.py")
        if f"noqa: {RULE}" in file.read_text()
    ]
    assert exempt == []
