"""What `make generate` writes for editors and readers is what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
COMMANDS = {
    "schemas/reservation.schema.json": ("slotcar", "schema", "reservation"),
    "schemas/openapi.json": ("slotcar", "schema", "openapi"),
    "docs/reference/slot-states.md": ("python", "tools/slot_state_table.py"),
    "docs/reference/events.md": ("python", "tools/event_table.py"),
    "docs/reference/verbs.md": ("python", "tools/verb_table.py"),
    "docs/pictures/states.svg": ("python", "tools/state_picture.py"),
    "docs/reference/profiles.md": ("python", "tools/profile_table.py"),
    "docs/reference/cli.md": ("typer", "slotcar.cli.app", "utils", "docs", "--name", "slotcar"),
}


@pytest.mark.parametrize("file", COMMANDS)
def test_a_generated_file_is_what_the_code_says(file: str) -> None:
    program, *arguments = COMMANDS[file]
    done = subprocess.run([BIN / program, *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    kept = (ROOT / file).read_text(encoding="utf-8")
    assert done.stdout.rstrip("\n") == kept.rstrip("\n"), f"{file} is old; run: make generate"


def test_the_makefile_generates_them_all() -> None:
    text = (ROOT / "Makefile").read_text()
    assert set(re.findall(r"(?:>|--output) (\S+\.(?:json|md|svg))", text)) == set(COMMANDS)
