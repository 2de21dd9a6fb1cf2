"""Molecule over the role of Linux routers: converge, idempotence, verify, somebody's meddling, cleanup; on the lab's."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.control import Lab
from tests.lab.conftest import ROOT
from tests.lab.slots import snapshots
from tests.support.molecule import run_scenario

pytestmark = pytest.mark.lab


def test_the_role_passes_its_scenario_and_leaves_the_routers_as_they_were(lab: Lab, tmp_path: Path) -> None:
    before = snapshots(lab)
    run_scenario(ROOT / "roles" / "slotcar_linux_tc", tmp_path / "molecule")
    assert snapshots(lab) == before
