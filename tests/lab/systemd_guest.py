"""A guest of its own whose first process is systemd, with a disk of a known speed; and what of it a slot may change."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slotcar.network import load_network
from slotcar.platforms.linux_host.facts import script
from slotcar_lab import control
from slotcar_lab.control import Lab
from slotcar_lab.experiments.wires import topology_of
from slotcar_lab.guest import machine
from slotcar_lab.requirements import Backend
from slotcar_lab.topology import PORT_BASE_VARIABLE
from tests.lab.conftest import ROOT, free_base
from tests.support.postgres import stop_server

SCENARIO = ROOT / "roles" / "slotcar_host" / "molecule" / "systemd"
INVENTORY = SCENARIO / "inventory"
CGROUPS = "/sys/fs/cgroup"
#: What is as it was before, after a slot: limits of the machine's parts, what systemd keeps of them, who is where.
KEPT = f"""
ls -d {CGROUPS}/*/ | grep -v user.slice
grep -H . {CGROUPS}/*/cpu.max {CGROUPS}/*/io.max {CGROUPS}/*/cpu.weight
find /run/systemd -path '*.d/50-*' -exec grep -H . {{}} +
systemctl list-units --all --plain --no-legend 'slotcar-*'
systemctl show --property=CPUQuotaPerSecUSec,IOReadBandwidthMax,IOWriteBandwidthMax,DropInPaths system.slice init.scope
for unit in worker reader greedy; do
  pid=$(systemctl show --property=MainPID --value $unit) && [ "$pid" = 0 ] || cat /proc/$pid/cgroup
done
ls -d /run/slotcar-cgroups
"""


@contextmanager
def systemd_guest(folder: Path, inventory: Path = INVENTORY) -> Iterator[Lab]:
    """Beside the session's lab, whose place and ports it leaves alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLOTCAR_STATE_DIR", str(folder))
        patch.setenv(PORT_BASE_VARIABLE, str(free_base()))
        try:
            topology = topology_of(load_network(inventory))
            yield control.up(topology, folder / "lab", Backend.GUEST, extras=machine.SYSTEMD)
        finally:
            control.down(folder / "lab")
            stop_server(folder / "postgres")


def sh(lab: Lab, command: str) -> str:
    """What the guest says to a command of the shell, with its errors."""
    done = lab.exec("", ["sh", "-c", f"exec 2>&1\n{command}"], 120.0)
    return done.stdout


def kept(lab: Lab) -> str:
    return sh(lab, KEPT)


def until_kept(lab: Lab, wanted: str) -> str:
    """What is kept, when systemd has also read its units again; what it is at last where that is not what is wanted."""
    for _ in range(30):
        if (now := kept(lab)) == wanted:
            break
        time.sleep(1.0)
    return now


def batch(lab: Lab, lines: str, *as_user: str) -> None:
    """Makes a change on the guest, as a push does."""
    lab.check("", [*as_user, "sh", "-c", script(), "host.sh", "-batch", "-"], 120.0, lines)


def show(lab: Lab, *as_user: str) -> list[str]:
    """What the kernel has of Slotcar's."""
    shown = lab.check("", [*as_user, "sh", "-c", script(), "host.sh", "show"], 120.0)
    return [line.strip() for line in shown.splitlines()]


def start_unit(lab: Lab, name: str, command: str, *words: str) -> None:
    argv = ["systemd-run", "--quiet", f"--unit={name}", "--property=DefaultDependencies=no", *words]
    lab.check("", [*argv, "sh", "-c", command], 60.0)
