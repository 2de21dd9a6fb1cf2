"""Molecule over each role: converge, idempotence, verify, somebody's meddling, cleanup; on the lab's routers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lab.control import Lab
from lab.snapshot import snapshot
from tests.lab.conftest import ROOT

pytestmark = pytest.mark.lab
ROLES = sorted(path.parents[1] for path in (ROOT / "roles").glob("*/molecule/default"))


def test_every_role_has_a_scenario() -> None:
    assert {role.name for role in ROLES} == {path.name for path in (ROOT / "roles").iterdir() if path.is_dir()}


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_a_role_passes_its_scenario_and_leaves_the_routers_as_they_were(role: Path, lab: Lab, tmp_path: Path) -> None:
    before = {router: snapshot(lab, router) for router in lab.topology.routers}
    binaries = Path(sys.executable).parent
    done = subprocess.run(
        [str(binaries / "molecule"), "test"],
        cwd=role,
        env=os.environ | {
            "PATH": f"{binaries}:{os.environ['PATH']}",
            "MOLECULE_EPHEMERAL_DIRECTORY": str(tmp_path / "molecule"),
            "NO_COLOR": "1",
        },
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    assert done.returncode == 0, text
    for action in ("converge", "idempotence", "side_effect", "cleanup"):
        assert re.search(rf"{action}: *Executed: Successful", text), text
    assert {router: snapshot(lab, router) for router in lab.topology.routers} == before
