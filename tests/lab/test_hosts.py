"""Cores of a host, given by cgroup v2 of the lab's kernel: armed, verified, and taken back with the controller dead.

The lab's nodes have one kernel in common, so its cgroups are reached through the router that is nearest to the host.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from slotcar_lab.control import Lab
from tests.lab.conftest import INVENTORY
from tests.support.controllers import Controller
from tests.support.patience import wait_for

pytestmark = [pytest.mark.lab, pytest.mark.slow]
CGROUPS = "/sys/fs/cgroup"
#: The greatest number that a process can have; none has it here.
NO_SUCH_PROCESS = 4_194_303
#: Until a slot that is asked for begins, and until it ends, on an emulated kernel.


def inventory_with_a_host(folder: Path) -> Path:
    """The lab's, in which one core of lbnl-premium may be reserved."""
    shutil.copytree(INVENTORY, folder)
    domains = yaml.safe_load((folder / "group_vars" / "domains.yml").read_text())
    router = yaml.safe_load((folder / "host_vars" / "lbnl-edge.yml").read_text())
    own = {key: one for key, one in domains.items() if key.startswith("ansible_") or key == "slotcar_lab_state"}
    own |= {"ansible_port": router["ansible_port"], "slotcar_cpu": 1}
    (folder / "host_vars" / "lbnl-premium.yml").write_text(yaml.safe_dump(own))
    return folder


def of_kernel(lab: Lab, command: str) -> str:
    return lab.exec("lbnl-edge", ["sh", "-c", command], 60.0).stdout


def test_a_host_gives_its_cores_and_takes_them_back_with_the_controller_dead(
    lab: Lab, alone: None, state_dir: Path, tmp_path: Path
) -> None:
    if "cpu" not in of_kernel(lab, f"cat {CGROUPS}/cgroup.controllers"):
        pytest.skip("the lab's kernel has no cgroup v2 with a controller cpu")
    # In a session of its own: the lab ends what a command leaves behind.
    pid = of_kernel(lab, "setsid sh -c 'echo $$; exec sleep 3600 >&- 2>&-' </dev/null & sleep 1").strip()
    before = of_kernel(lab, f"ls {CGROUPS}; cat {CGROUPS}/cgroup.subtree_control /proc/{pid}/cgroup")
    inventory = inventory_with_a_host(tmp_path / "inventory")
    with Controller(state_dir, inventory) as controller:
        controller.wait_settled()
        group = _reserve(controller, tmp_path, pid)
        slice_ = f"{CGROUPS}/slotcar/{group['handle']}"
        wait_for(lambda: of_kernel(lab, f"cat {slice_}/cgroup.procs").split() == [pid], "the process in its slice")
        # A process that is gone fails its own group's member, and nothing of the others' on the host.
        wait_for(
            lambda: failed_parts(controller) == [f"process:{NO_SUCH_PROCESS}"], "the bind that failed to be recorded"
        )
        slices = of_kernel(lab, f"ls -d {CGROUPS}/slotcar/g-*").split()
        assert len(slices) == 2
        limit = f"cat {CGROUPS}/slotcar-rest/cpu.max"
        wait_for(lambda: of_kernel(lab, limit).split()[:1] not in ([], ["max"]), "the others to have a ceiling")
        assert of_kernel(lab, f"cat {slice_}/cpu.weight").strip() == "50"
        verified = [one["device"] for one in controller.events() if one["kind"] == "push.verified"]
        assert "lbnl-premium" in verified
        controller.kill()
    wait_for(lambda: "slotcar" not in of_kernel(lab, f"ls {CGROUPS}"), "the host to end the slot by itself")
    after = of_kernel(lab, f"ls {CGROUPS}; cat {CGROUPS}/cgroup.subtree_control /proc/{pid}/cgroup")
    assert after == before
    of_kernel(lab, f"kill {pid}")


def _reserve(controller: Controller, folder: Path, pid: str) -> dict[str, Any]:
    flow = {"source": "anl-premium", "destination": "lbnl-premium", "protocol": "udp", "service": "ip-premium"}
    members = [
        {"name": "line", "network": flow | {"rate": "1 Mbit/s"}},
        {"name": "cores", "cpu": {"host": "lbnl-premium", "percent": "50 %", "bind": {"process": int(pid)}}},
    ]
    unbindable = {
        "name": "cores",
        "cpu": {"host": "lbnl-premium", "percent": "10 %", "bind": {"process": NO_SUCH_PROCESS}},
    }
    window = {"owner": "test", "start": "now + 90 s", "duration": "60 s"}
    groups = [
        {"name": "tonight", **window, "members": members},
        {"name": "gone", **window, "on_failure": "report", "members": [unbindable]},
    ]
    (folder / "group.yml").write_text(yaml.safe_dump({"version": 1, "together": groups}))
    answers = json.loads(controller.slotcar("reserve", str(folder / "group.yml"), "-f", "json"))
    answer = next(one for one in answers if one["name"] == "tonight")
    assert isinstance(answer, dict)
    return answer


def failed_parts(controller: Controller) -> list[str]:
    return [one["details"]["part"] for one in controller.events() if one["kind"] == "group.member-failed"]
