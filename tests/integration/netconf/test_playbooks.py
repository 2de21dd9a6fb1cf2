"""The playbooks' own way to a NETCONF peer: role, one task, and what Ansible says of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from slotcar.rollout.archive import revision_id
from slotcar.rollout.model import DeviceRevision, Program, Revision
from slotcar.rollout.playbook import Playbooks
from slotcar.rollout.staging import commands
from tests.integration.netconf.conftest import Peer
from tests.integration.netconf.server import ROOT
from tests.support.checkout import PYTHONPATH

SECRET = "no-real-password-of-anybody"
NAMES = ("one", "two")


@pytest.fixture
def peers(make_peer: Any) -> dict[str, Peer]:
    return {name: make_peer(name=name) for name in NAMES}


@pytest.fixture
def inventory(peers: Mapping[str, Peer], tmp_path: Path) -> Path:
    folder = tmp_path / "inventory"
    folder.mkdir()
    common = {"slotcar_platform": "cisco-iosxe-netconf", "ansible_password": SECRET}
    variables = {name: peer.server.variables | common for name, peer in peers.items()}
    (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"children": {"domains": {"hosts": variables}}}}))
    return folder


@pytest.fixture
def revision(peers: Mapping[str, Peer]) -> Path:
    """The same standing configuration for both."""
    one = peers["one"]
    change = one.case("standing")
    parts = {
        name: DeviceRevision(peer.device, change, Program(), tuple(commands(peer.device)))
        for name, peer in peers.items()
    }
    now = datetime.now(UTC)
    return one.archive.write(Revision(revision_id(now, parts), now, parts))


@pytest.mark.slow
def test_a_push_and_its_rollback_run_as_playbooks(peers: Mapping[str, Peer], inventory: Path, revision: Path) -> None:
    playbooks = Playbooks(ROOT, inventory)
    wanted = peers["one"].case("standing").after.lines
    pushed = playbooks.run("push", NAMES, {"slotcar_revision": str(revision)})
    assert (pushed.ok, pushed.failures, pushed.notes) == (True, {}, [])
    assert [peer.owned().lines for peer in peers.values()] == [wanted, wanted]
    read = playbooks.run("read", NAMES, {"slotcar_revision": str(revision)})
    assert read.ok
    assert [(revision / name / "reading.json").exists() for name in NAMES] == [True, True]
    back = playbooks.run("rollback", NAMES, {"slotcar_revision": str(revision)})
    assert (back.ok, back.failures) == (True, {})
    assert [peer.owned().lines for peer in peers.values()] == [(), ()]


def test_a_failure_is_the_devices_own_sentence_and_stops_the_push(
    peers: Mapping[str, Peer], inventory: Path, revision: Path
) -> None:
    with peers["two"].session() as somebody:
        somebody.do("lock", target="candidate")
        result = Playbooks(ROOT, inventory).run("push", NAMES, {"slotcar_revision": str(revision)})
    assert not result.ok
    assert list(result.failures) == ["two"]
    assert result.failures["two"].message.startswith("two: `lock`: lock denied")
    assert result.failures["two"].message.endswith("nothing was changed")
    assert [peer.owned().lines for peer in peers.values()] == [(), ()]


def test_ansible_at_its_most_talkative_says_no_secret(
    peers: Mapping[str, Peer], inventory: Path, revision: Path
) -> None:
    peers["one"].server.key_file.unlink()
    argv = [
        str(Path(sys.executable).parent / "ansible-playbook"),
        "-vvvv",
        "-i",
        str(inventory),
        "--limit",
        ",".join(NAMES),
        "-e",
        f"slotcar_revision={revision}",
        str(ROOT / "playbooks" / "stage.yml"),
    ]
    done = subprocess.run(
        argv, cwd=ROOT, env=os.environ | {"PYTHONPATH": PYTHONPATH}, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert f"does not let {peers['one'].server.user} in" in done.stdout
    assert SECRET not in done.stdout + done.stderr
