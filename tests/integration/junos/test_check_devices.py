"""`slotcar check --devices` and `plan --devices` on routers with Junos: what would make a push without effect is said, and
nothing is sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from slotcar_lab.junos import JunosRouter
from tests.integration.cli.conftest import offline  # noqa: F401 (a fixture)
from tests.integration.netconf.conftest import RENDER, Peer
from tests.support.command_line import Cli

CHANGES = {"edit-config", "commit", "lock", "load-configuration"}
RANGE = """<configuration><interfaces><interface-range><name>CORE</name><member><name>ge-0/0/*</name></member><unit>
<name>0</name><family><inet><filter><input><filter-name>EDGE-IN</filter-name></input></filter></inet></family></unit></interface-range>
</interfaces></configuration>"""
TABLE = """<configuration><firewall><family><inet><filter><name>FT</name><term><name>ALL</name><then><discard/></then>
</term></filter></inet></family></firewall><forwarding-options><family><inet><filter><input>FT</input></filter></inet></family>
</forwarding-options></configuration>"""
OFF = '<configuration><class-of-service inactive="inactive"/></configuration>'


@pytest.mark.parametrize(
    ("operators", "words"),
    [
        ("", "nothing is in the way of the"),
        (RANGE, "`filter input EDGE-IN` of the interface-range CORE is in the way of Slotcar's"),
        (TABLE, "`forwarding-options family inet filter input FT` discards, polices or marks every packet"),
        (OFF, "`class-of-service` is deactivated, and so is all that Slotcar puts into it; activate it"),
    ],
)
def test_it_says_what_makes_slotcars_without_effect(
    offline: Cli,  # noqa: F811
    peer: Peer,
    tmp_path: Path,
    operators: str,
    words: str,
) -> None:
    router: Any = peer.server
    assert isinstance(router.router, JunosRouter)
    if operators:
        router.router.configure(operators)
    inventory = _inventory(tmp_path, peer)
    done = offline(
        "check", "--devices", "--device", peer.device.name, "--inventory", str(inventory), "--format", "json"
    )
    assert done.code == (1 if operators else 0), done
    found_words = [one for one in json.loads(done.out)["findings"] if one["what"] == "configuration"]
    assert [words in str(one) for one in found_words] == [True]
    assert CHANGES.isdisjoint(name for _, name in router.router.requests)


def _inventory(folder: Path, peer: Peer) -> Path:
    inventory = folder / "inventory"
    (inventory / "host_vars").mkdir(parents=True)
    (inventory / "hosts.yml").write_text((RENDER / "inventories" / "juniper-junos" / "hosts.yml").read_text())
    (inventory / "host_vars" / f"{peer.device.name}.yml").write_text(yaml.safe_dump(peer.server.variables))
    return inventory


def test_a_plan_says_it_from_a_reading_and_from_the_last_one(
    offline: Cli,  # noqa: F811
    peer: Peer,
    tmp_path: Path,
) -> None:
    inventory, router = _inventory(tmp_path, peer), peer.server.router  # type: ignore[attr-defined]
    file = tmp_path / "tonight.yml"
    ends = {"source": "north-data", "destination": "north-desk"}  # by this router alone
    one = {"name": "copy", "owner": "hep", "protocol": "tcp", "service": "ip-premium", "rate": "5 Mbit/s"}
    times = {"start": "now + 1 h", "duration": "1 h"}
    file.write_text(yaml.safe_dump({"version": 1, "reservations": [one | ends | times]}))
    words = "`filter input EDGE-IN` of the interface-range CORE is in the way of Slotcar's"
    options = ("plan", str(file), "--inventory", str(inventory))
    before = offline(*options)
    assert (before.code, "Not looked at" in before.out, peer.device.name in before.out) == (0, True, True)
    router.configure(RANGE)
    read = offline(*options, "--devices")
    assert (read.code, "Not looked at" in read.out, words in read.out) == (0, False, True)
    last = offline(*options, "--format", "json").data
    assert [(entry["certain"], words in entry["words"]) for entry in last["in_the_way"]] == [(True, True)]
    assert last["not_looked_at"] == []
    assert CHANGES.isdisjoint(name for _, name in router.requests)
