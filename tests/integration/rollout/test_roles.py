"""Molecule over the roles whose devices are in software; that of Linux routers is in `tests/lab`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cisco import ROOT
from tests.support.molecule import run_scenario

ROLES = sorted(path.parents[1] for path in (ROOT / "roles").glob("*/molecule/default"))


def test_every_role_has_a_scenario() -> None:
    assert {role.name for role in ROLES} == {path.name for path in (ROOT / "roles").iterdir() if path.is_dir()}


@pytest.mark.slow  # Molecule's whole sequence; in short: test_ios, test_datagrid and netconf/ push by this role's action
@pytest.mark.parametrize("scenario", ["default", "netconf"])
def test_the_fan_out_passes_its_scenarios(scenario: str, tmp_path: Path) -> None:
    run_scenario(ROOT / "roles" / "slotcar_fanout", tmp_path / "molecule", scenario)
