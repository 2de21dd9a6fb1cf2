"""Runs a role's Molecule scenario."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

STEPS = ("converge", "idempotence", "verify", "side_effect", "cleanup", "destroy")


def run_scenario(role: Path, folder: Path, scenario: str = "default") -> None:
    """`folder` is Molecule's own, for this run. Every step must have been taken."""
    binaries = Path(sys.executable).parent
    done = subprocess.run(
        [str(binaries / "molecule"), "test", "--scenario-name", scenario],
        cwd=role,
        env=os.environ | {
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "MOLECULE_EPHEMERAL_DIRECTORY": str(folder),
            "NO_COLOR": "1",
        },
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    assert done.returncode == 0, text
    for step in STEPS:
        assert re.search(rf"{step}: *Executed: Successful", text), text
