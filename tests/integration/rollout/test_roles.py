"""Molecule over the roles whose devices are in software; that of Linux routers is in `tests/lab`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cisco import ROOT
from tests.support.molecule import run_scenario

ROLES = sorted(path.parents[1] for path in (ROOT / "roles").glob("*/molecule/default"))


def test_every_role_has_a_scenario() -> None:
    assert {role.name for role in ROLES} == {path.name for path in (ROOT / "roles").iterdir() if path.is_dir()}


@pytest.mark.parametrize("name", ["slotcar_ios", pytest.param("slotcar_netconf", marks=pytest.mark.slow)])
def test_a_role_passes_its_scenario(name: str, tmp_path: Path) -> None:
    run_scenario(ROOT / "roles" / name, tmp_path / "molecule")
