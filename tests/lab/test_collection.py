"""The lab's routers are taken back by the collection slotcar.broker, in an Ansible that has no Slotcar."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slotcar_lab.control import Lab
from slotcar_lab.snapshot import snapshots
from slotcar_lab.topology import PORT_BASE_VARIABLE
from tests.lab import slots
from tests.lab.conftest import INVENTORY
from tests.lab.slots import policed
from tests.support.controllers import slotcar
from tests.support.own_ansible import OwnAnsible

pytestmark = pytest.mark.lab
FLOW = (*slots.FLOW, "--owner", "collection")


@pytest.mark.slow  # in short: tests/integration/deploy/test_collection.py reads a router so
def test_a_push_is_rolled_back_and_the_routers_are_freed_without_slotcar(
    lab: Lab, state_dir: Path, tmp_path: Path, alone: None
) -> None:
    environment = os.environ | {"SLOTCAR_STATE_DIR": str(state_dir), "SLOTCAR_INVENTORY": str(INVENTORY)}
    slotcar("push", "--yes", environment=environment)
    unreserved = snapshots(lab)
    slotcar("create", "--name", "open", *FLOW, "--rate", "10 Mbit/s", "--duration", "1 h", environment=environment)
    slotcar("push", "--yes", environment=environment)
    assert "dst_port 5001" in policed(lab)
    revision = max((state_dir / "revisions").iterdir(), key=lambda path: path.stat().st_mtime_ns)

    own = OwnAnsible(tmp_path)
    assert not own.has("slotcar")
    settings = {"SLOTCAR_STATE_DIR": str(state_dir), PORT_BASE_VARIABLE: os.environ[PORT_BASE_VARIABLE]}

    def play(name: str, *arguments: str) -> None:
        own.run(
            "playbook", "-i", str(INVENTORY), "--limit", "domains", f"slotcar.broker.{name}", *arguments, **settings
        )

    play("rollback", "-e", f"slotcar_revision={revision}")
    assert snapshots(lab) == unreserved
    play("emergency_rollback")
    assert "dst_port 5001" in policed(lab), "what was known to be good"
    play("emergency_rollback", "-e", "slotcar_emergency_to=unmanaged")
    assert not policed(lab)

    slotcar("cancel", "collection/open", "--yes", environment=environment)
    slotcar("push", "--yes", environment=environment)
    assert snapshots(lab) == unreserved
