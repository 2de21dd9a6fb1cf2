"""Molecule over the roles of Linux routers and of hosts: converge, idempotence, verify, somebody's meddling, cleanup."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar_lab.control import Lab
from slotcar_lab.snapshot import snapshots
from tests.lab.conftest import ROOT
from tests.lab.systemd_guest import kept, systemd_guest, until_kept
from tests.support.molecule import run_scenario

pytestmark = pytest.mark.lab


@pytest.mark.slow  # in short: every push of a controller, and Molecule of the other role
def test_the_role_passes_its_scenario_and_leaves_the_routers_as_they_were(
    lab: Lab, alone: None, tmp_path: Path
) -> None:
    before = snapshots(lab)
    run_scenario(ROOT / "roles" / "slotcar_linux_tc", tmp_path / "molecule")
    assert snapshots(lab) == before


@pytest.mark.slow
def test_the_role_of_hosts_passes_its_scenario_and_leaves_no_cgroup(lab: Lab, alone: None, tmp_path: Path) -> None:
    def cgroups() -> str:
        return lab.check("lbnl-edge", ["ls", "/sys/fs/cgroup"])

    before = cgroups()
    run_scenario(ROOT / "roles" / "slotcar_host", tmp_path / "molecule")
    assert cgroups() == before


@pytest.mark.slow
def test_the_role_of_tuning_passes_its_scenario(lab: Lab, alone: None, tmp_path: Path) -> None:
    """Its cleanup compares with what was there before, to the byte."""
    run_scenario(ROOT / "roles" / "slotcar_tcp_tuning", tmp_path / "molecule")


@pytest.mark.slow
def test_the_role_of_hosts_passes_its_scenario_with_systemd_and_a_disk(tmp_path: Path) -> None:
    with systemd_guest(tmp_path / "systemd") as guest:
        before = kept(guest)
        run_scenario(ROOT / "roles" / "slotcar_host", tmp_path / "molecule", "systemd")
        assert until_kept(guest, before) == before


@pytest.mark.slow
def test_the_role_of_probes_passes_its_scenario_and_leaves_nothing(tmp_path: Path) -> None:
    """Its cleanup compares with what was there before."""
    role = ROOT / "roles" / "slotcar_probe"
    with systemd_guest(tmp_path / "systemd", role / "molecule" / "default" / "inventory"):
        run_scenario(role, tmp_path / "molecule")


@pytest.mark.slow
def test_the_role_of_uftp_passes_its_scenario_and_leaves_nothing(tmp_path: Path) -> None:
    """Its cleanup compares with what was there before, the package's own receiver included."""
    role = ROOT / "roles" / "slotcar_uftp"
    with systemd_guest(tmp_path / "systemd", role / "molecule" / "default" / "inventory"):
        run_scenario(role, tmp_path / "molecule")
