"""The inventory of NetBox is the network of an equal one written by hand.

`answers.json` holds what a NetBox 4.4.7 answered, address by address, when the plugin asked it about the lab's network
(docs/howto/netbox.md says how it was recorded). The plugin is the collection's own, run by Ansible.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
NETBOX, BY_HAND = ROOT / "inventories" / "netbox", ROOT / "inventories" / "lab"
ANSWERS: dict[str, Any] = json.loads((Path(__file__).parent / "answers.json").read_text())
TOKEN = "recorded"
_DUMP = """
import sys
from pathlib import Path
from slotcar.network import load_network
print(load_network(Path(sys.argv[1])).model_dump_json(exclude={"source"}))
"""


class Recorded(BaseHTTPRequestHandler):
    """Answers what was recorded, and to nobody without the token."""

    def do_GET(self) -> None:
        answers: dict[str, Any] = self.server.answers  # type: ignore[attr-defined]
        allowed = self.headers.get("Authorization") == f"Token {TOKEN}"
        status = 403 if not allowed else 200 if self.path in answers else 404
        words = {403: "no token", 404: f"not recorded: {self.path}"}
        body = json.dumps(answers[self.path] if status == 200 else {"detail": words[status]}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: Any) -> None:
        pass


class NetBox:
    def __init__(self, folder: Path) -> None:
        self.answers = json.loads(json.dumps(ANSWERS))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Recorded)
        self._server.answers = self.answers  # type: ignore[attr-defined]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        # The plugin keeps NetBox's schema in this folder, where that of a real one would be taken for it later.
        self._environment = os.environ | {
            "NETBOX_API": f"http://127.0.0.1:{self._server.server_port}", "NETBOX_TOKEN": TOKEN, "HOME": str(folder),
            "ANSIBLE_LOCAL_TEMP": str(folder / "ansible"),
        }  # fmt: skip

    def run(self, *arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], env=self._environment, cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stderr[-3000:]
        return done.stdout if code == 0 else done.stderr

    def network(self, inventory: Path) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.run("-c", _DUMP, str(inventory)))
        return answer

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def netbox(tmp_path: Path) -> Iterator[NetBox]:
    started = NetBox(tmp_path)
    yield started
    started.close()


def answer_of(netbox: NetBox, part: str) -> list[dict[str, Any]]:
    (address,) = [one for one in netbox.answers if part in one]
    results: list[dict[str, Any]] = netbox.answers[address]["results"]
    return results


def test_the_network_is_the_one_that_is_written_by_hand(netbox: NetBox) -> None:
    assert netbox.network(NETBOX) == netbox.network(BY_HAND)


@pytest.mark.slow
def test_ansible_has_the_groups_that_slotcar_reads(netbox: NetBox) -> None:
    ansible_inventory = str(Path(sys.executable).with_name("ansible-inventory"))
    listed = json.loads(netbox.run(ansible_inventory, "-i", str(NETBOX), "--list"))
    assert set(listed["domains"]["children"]) == {"anl", "esnet", "lbnl"}
    assert set(listed["anl"]["hosts"]) == {"anl-edge", "anl-border"}
    assert set(listed["slotcar_hosts"]["hosts"]) == {"anl-premium", "anl-traffic", "lbnl-premium", "lbnl-traffic"}
    assert "anl-switch" not in listed["_meta"]["hostvars"], "it has no tag: it is none of Slotcar's"


@pytest.mark.slow
def test_what_changes_in_netbox_changes_the_network(netbox: NetBox) -> None:
    before = netbox.network(NETBOX)
    interfaces = {(one["device"]["name"], one["name"]): one for one in answer_of(netbox, "/dcim/interfaces/")}
    interfaces["anl-edge", "eth2"]["speed"] = 1_000_000
    interfaces["anl-edge", "eth3"]["custom_fields"]["slotcar"] = {"metric": 30, "shares": {"ip-premium": "10 %"}}
    ports = netbox.network(NETBOX)["devices"]["anl-edge"]["interfaces"]
    assert ports["eth2"].pop("capacity_bps") == 10**9
    assert (ports["eth3"].pop("metric"), ports["eth3"].pop("shares_ppm")) == (30, {"ip-premium": 100_000})
    was = before["devices"]["anl-edge"]["interfaces"]
    assert ports["eth1"] == was["eth1"]
    assert "mgmt0" not in ports


def test_a_cable_that_is_missing_is_found_by_slotcars_own_checks(netbox: NetBox) -> None:
    for one in answer_of(netbox, "/dcim/interfaces/"):
        if (one["device"]["name"], one["name"]) == ("esnet-hub", "eth1"):
            one["connected_endpoints"] = None
    complaint = netbox.run("-c", _DUMP, str(NETBOX), code=1)
    assert "anl-border: slotcar_interfaces.eth2.neighbour: is a link with one end" in complaint
