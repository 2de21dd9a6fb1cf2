"""Molecule over the role of Linux routers: converge, idempotence, verify, somebody's meddling, cleanup; on the lab's."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.control import Lab
from lab.snapshot import snapshots
from tests.lab.conftest import ROOT
from tests.support.molecule import run_scenario

pytestmark = pytest.mark.lab


@pytest.mark.slow  # in short: every push of a controller, and Molecule of the other role
def test_the_role_passes_its_scenario_and_leaves_the_routers_as_they_were(
    lab: Lab, alone: None, tmp_path: Path
) -> None:
    before = snapshots(lab)
    run_scenario(ROOT / "roles" / "slotcar_linux_tc", tmp_path / "molecule")
    assert snapshots(lab) == before
