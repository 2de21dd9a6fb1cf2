"""ruff holds the statements of a function (`max-statements`). A file holds one idea, be it sixty lines or six hundred."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("benchmarks", "client", "controller", "examples", "lab", "mover", "plugins", "tests", "tools")
#: ruff's: too many statements in a function.
RULE = "PLR0915"


def test_ruff_holds_the_statements_of_a_function_and_no_function_is_exempt() -> None:
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]["lint"]
    assert RULE in lint["select"]
    assert lint["pylint"]["max-statements"] <= 40
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    assert len(files) > 500, "files were looked for where they are not"
    exempt = [file.relative_to(ROOT).as_posix() for file in files if f"noqa: {RULE}" in file.read_text()]
    assert exempt == []
