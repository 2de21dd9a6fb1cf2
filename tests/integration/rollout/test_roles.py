"""Molecule over the roles whose devices are in software; that of Linux routers is in `tests/lab`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cisco import ROOT
from tests.support.molecule import run_scenario

ROLES = sorted(path.parents[1] for path in (ROOT / "roles").glob("*/molecule/default"))


def test_every_role_has_a_scenario() -> None:
    assert {role.name for role in ROLES} == {path.name for path in (ROOT / "roles").iterdir() if path.is_dir()}


@pytest.mark.parametrize("scenario", ["default", pytest.param("netconf", marks=pytest.mark.slow)])
def test_the_fan_out_passes_its_scenarios(scenario: str, tmp_path: Path) -> None:
    run_scenario(ROOT / "roles" / "slotcar_fanout", tmp_path / "molecule", scenario)
