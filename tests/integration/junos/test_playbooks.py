"""The playbooks take a router with Junos as they take any NETCONF peer: nothing of theirs names a platform."""

from __future__ import annotations

from pathlib import Path

import yaml

from slotcar.rollout.playbook import Playbooks
from tests.integration.netconf.conftest import Peer
from tests.integration.netconf.server import ROOT


def test_a_push_and_its_rollback_run_as_playbooks(peer: Peer, tmp_path: Path) -> None:
    folder = tmp_path / "inventory"
    folder.mkdir()
    name = peer.device.name
    routers = {name: {**peer.server.variables, "slotcar_platform": peer.device.platform}}
    (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"children": {"domains": {"hosts": routers}}}}))
    change = peer.case("standing")
    revision = peer.revision(change)
    playbooks = Playbooks(ROOT, folder)
    pushed = playbooks.run("push", [name], {"slotcar_revision": str(revision)})
    assert (pushed.ok, pushed.failures, pushed.notes) == (True, {}, [])
    assert peer.owned().lines == change.after.lines
    back = playbooks.run("rollback", [name], {"slotcar_revision": str(revision)})
    assert (back.ok, back.failures) == (True, {})
    assert peer.owned().lines == ()
