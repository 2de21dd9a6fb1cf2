"""Slices of a real systemd and a real disk's limits: given, read back, kept when systemd reads its units again, and taken
back exactly."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from slotcar.base.units import parse_rate_bps
from slotcar_lab.control import Lab
from slotcar_lab.errors import LabError
from tests.lab.conftest import ROOT
from tests.lab.systemd_guest import CGROUPS, INVENTORY, batch, kept, sh, show, start_unit, systemd_guest, until_kept
from tests.support.controllers import Controller
from tests.support.patience import PATIENCE_S, wait_for

pytestmark = pytest.mark.lab
SLICE = f"{CGROUPS}/slotcar.slice/slotcar-g_one.slice"
#: The greatest number that a process can have; none has it here.
NO_SUCH_PROCESS = 4_194_303
READING = "while :; do dd if=/dev/vda of=/dev/null bs=256k iflag=direct 2>&-; done"
#: Until a slot that is asked for begins, until it ends, and until a playbook does, on an emulated kernel.


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with systemd_guest(tmp_path_factory.mktemp("systemd")) as lab:
        yield lab


def test_systemd_gives_a_slice_and_ceilings_and_all_is_as_before(guest: Lab) -> None:
    start_unit(guest, "worker", "sleep 3600 & wait")
    # A limit that is lower than the ceiling is the operator's own, and stays.
    sh(guest, "systemctl set-property --runtime user.slice CPUQuota=30%; systemctl start user.slice")
    before = kept(guest)
    given = "".join(
        f"{line}\n"
        for line in (
            "slice add g-one", "weight g-one 50", "bind g-one unit:worker.service", f"bind g-one process:{NO_SUCH_PROCESS}",
            "reserve 600", "disk vda read 8000000",
        )
    )  # fmt: skip
    batch(guest, given)
    wanted = [
        f"slice g-one weight=50 bind=process:{NO_SUCH_PROCESS} bind=unit:worker.service",
        f"refused g-one process:{NO_SUCH_PROCESS} this host has no process {NO_SUCH_PROCESS}, and is not bound",
        "rest reserved=600",
        "rest vda:read=8000000",
    ]
    sh(guest, "systemctl daemon-reload")  # it is systemd's own, so it lasts
    assert show(guest) == wanted
    output = sh(
        guest,
        f"cat {SLICE}/cpu.weight {CGROUPS}/system.slice/cpu.max {CGROUPS}/user.slice/cpu.max {CGROUPS}/init.scope/io.max\n"
        f"wc -l <{SLICE}/slotcar-g_one.scope/cgroup.procs; systemctl is-active worker; nproc",
    )
    weight, machines, users, disks, bound, unit, processors = output.splitlines()
    rest = int(processors) * 100_000 - 60_000
    assert (weight, machines, users) == ("50", f"{rest} 100000", "30000 100000")
    assert "rbps=8000000" in disks
    assert (bound, unit) == ("2", "active"), "a shell and its child, and the unit still runs"

    batch(guest, "disk vda read 0\nreserve 0\nslice del g-one\n")
    assert until_kept(guest, before) == before


@pytest.mark.slow
def test_without_root_a_users_own_systemd_gives_cores_and_no_disk(guest: Lab) -> None:
    account, uid = "nobody", "65534"
    place, own = f"/run/user/{uid}", f"{CGROUPS}/user.slice/user-{uid}.slice/manager.service"
    sh(guest, f"mkdir -p {place} && chown {account} {place} && chmod 700 {place}")
    # As user@.service starts it, without PAM and logind.
    properties = [f"--property={one}" for one in ("Delegate=pids memory cpu", "User=" + account, "Type=notify")]
    start_unit(
        guest, "manager", "exec /lib/systemd/systemd --user --unit=basic.target", *properties,
        f"--slice=user-{uid}.slice", f"--setenv=XDG_RUNTIME_DIR={place}",
    )  # fmt: skip
    as_user = ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "env", f"XDG_RUNTIME_DIR={place}")
    before = sh(guest, f"find {place} {own} -path '*systemd*' -name '50-*'; cat {own}/*/cpu.max")
    batch(guest, "slice add g-own\nweight g-own 50\nreserve 500\n", *as_user)
    assert show(guest, *as_user) == ["slice g-own weight=50", "rest reserved=500"]
    output = sh(guest, f"cat {own}/slotcar.slice/slotcar-g_own.slice/cpu.weight {own}/app.slice/cpu.max")
    assert output.splitlines() == ["50", "150000 100000"]
    with pytest.raises(
        LabError, match="without root only cores can be given on this host, not the bandwidth of a disk"
    ):
        batch(guest, "disk vda read 8000000\n", *as_user)
    batch(guest, "reserve 0\nslice del g-own\n", *as_user)
    assert show(guest, *as_user) == []
    assert sh(guest, f"find {place} {own} -path '*systemd*' -name '50-*'; cat {own}/*/cpu.max") == before


# -- with a controller ------------------------------------------------------------------------------------------------


def read_in_8_s(lab: Lab, cgroup: str) -> tuple[int, int]:
    """Bytes of the disk that the processes of a cgroup read, and that all others did."""
    output = sh(
        lab,
        f"""number=$(cat /sys/class/block/vda/dev)
bytes() {{ sed -n "s/^$number .*rbytes=\\([0-9]*\\).*/\\1/p" {CGROUPS}/$1/io.stat; }}
own=$(bytes {cgroup}); all=$(bytes .)
sleep 8
echo $(($(bytes {cgroup}) - own)) $(($(bytes .) - all))""",
    )
    own, whole = (int(word) for word in output.split())
    return own, whole - own


def measure(lab: Lab) -> dict[str, Any]:
    python = [lab.inside(Path(sys.executable)), "-c", "from slotcar.cli import main; main()"]
    source = f"PYTHONPATH={lab.inside(ROOT / 'controller')}"
    words = ["env", source, *python, "host", "measure", "vda", "--seconds", "2", "-f", "json"]
    measured: dict[str, Any] = json.loads(lab.check("", words, 120.0))
    return measured


def reserve(controller: Controller, folder: Path) -> dict[str, str]:
    """The handles of the groups, by name."""
    disk = {"host": "mover", "device": "vda", "read": "12 MB/s", "bind": {"unit": "reader.service"}}
    cores = {"host": "mover", "percent": "50 %", "bind": {"unit": "worker.service"}}
    unbindable = {"host": "mover", "percent": "10 %", "bind": {"process": NO_SUCH_PROCESS}}
    window = {"owner": "test", "start": "now", "duration": "90 s"}
    groups = [
        {"name": "disk", **window, "members": [{"name": "reading", "storage": disk}]},
        {"name": "cores", **window, "duration": "1 h", "members": [{"name": "work", "cpu": cores}]},
        {"name": "gone", **window, "on_failure": "report", "members": [{"name": "work", "cpu": unbindable}]},
    ]
    (folder / "groups.yml").write_text(yaml.safe_dump({"version": 1, "together": groups}))
    answers = json.loads(controller.slotcar("reserve", str(folder / "groups.yml"), "-f", "json"))
    return {one["name"]: one["handle"] for one in answers}


def failed_parts(controller: Controller) -> list[str]:
    return [one["details"]["part"] for one in controller.events() if one["kind"] == "group.member-failed"]


def emergency(state_dir: Path) -> None:
    done = subprocess.run(
        [
            str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(INVENTORY),
            "playbooks/emergency-rollback.yml", "-e", f"slotcar_state={state_dir}",
            "-e", "slotcar_emergency_to=unmanaged", "--limit", "mover",
        ],
        cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_a_reserved_reader_keeps_its_rate_and_slots_end_with_the_controller_dead(guest: Lab, tmp_path: Path) -> None:
    rate = measure(guest)["slotcar_disks"]["vda"]["read"]
    assert 5_000_000 < parse_rate_bps(rate) / 8 <= 21_000_000, "the disk is held to 20 MB/s"
    start_unit(guest, "reader", READING, "--property=IOAccounting=yes")
    start_unit(guest, "greedy", f"for _ in 1 2 3; do {READING} & done; wait")
    sh(guest, "systemctl is-active worker || systemd-run --quiet --unit=worker -p DefaultDependencies=no sleep 3600")
    own, others = read_in_8_s(guest, "system.slice/reader.service")
    assert 0 < own < others, "a quarter of it"
    before = kept(guest)
    state_dir = guest.state_dir.parent
    with Controller(state_dir, INVENTORY, SLOTCAR_CHECK_INTERVAL="1 h") as controller:
        controller.wait_settled()
        handles = reserve(controller, tmp_path)
        wait_for(lambda: "rest vda:read=8000000" in show(guest), "the others to be held back")
        own, others = read_in_8_s(guest, "slotcar.slice")
        assert own > others > 0, "12 of 20 MB/s"
        # The slots begin with a push, and nobody looks again within the hour.
        wait_for(lambda: failed_parts(controller) == [f"process:{NO_SUCH_PROCESS}"], "the refused bind to be recorded")
        controller.kill()
    left = f"slice {handles['cores']} weight=50 bind=unit:worker.service"
    wait_for(lambda: show(guest) == [left, "rest reserved=500"], "the host to end the slots by itself")
    emergency(state_dir)
    assert show(guest) == []
    assert until_kept(guest, before) == before
