"""Routers that tell of changes by hand, under a controller: known and mended long before the next check."""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slotcar.platforms.cisco_iosxe_netconf.tree import NATIVE, POLICY
from slotcar.rollout.netconf import netconf_login
from slotcar.rollout.netconf.session import NetconfSession
from slotcar.store import open_ledger
from slotcar.watching.pending import ECHO_S, LONGEST_WAIT_S
from slotcar_lab.ios import Routers
from tests.integration.netconf.server import Server
from tests.support.controllers import Controller
from tests.support.mixed import HELD, PEER, MixedSite
from tests.support.netconf_world import BASE
from tests.support.patience import PATIENCE_S, wait_for
from tests.support.ports import free_port

#: A check that comes by itself would not be seen within this test's time.
NEVER = "1 d"


@pytest.fixture
def server() -> Iterator[Server]:
    # netconfd's socket needs a short path.
    with tempfile.TemporaryDirectory(prefix="slotcar-") as short:
        started = Server(Path(short) / "server")
        started.start()
        yield started
        started.stop()


@pytest.fixture
def site(server: Server, tmp_path: Path) -> Iterator[MixedSite]:
    with Routers() as routers:
        yield MixedSite(routers, server, tmp_path)


def kinds(controller: Controller, kind: str) -> list[dict[str, Any]]:
    return [event for event in controller.events() if event["kind"] == kind]


def drifted(controller: Controller) -> list[str]:
    return [event["device"] for event in kinds(controller, "device.drifted")]


def check_requests(controller: Controller) -> list[str]:
    return [event["details"]["message"] for event in kinds(controller, "controller.check-asked")]


def watches(controller: Controller) -> dict[str, dict[str, Any]]:
    return {one["device"]: one for one in controller.get("/v1/controller")["watches"]}


def watched(controller: Controller) -> bool:
    return watches(controller).get(PEER, {}).get("state") == "watching"


def change_by_hand(server: Server) -> None:
    """Takes a policy of Slotcar's away, as an operator would in a session of their own."""
    session = NetconfSession("hand", netconf_login("hand", server.variables))
    session.open()
    try:
        policies = (
            f'<native xmlns="{NATIVE}"><policy><policy-map xmlns="{POLICY}"><name/></policy-map></policy></native>'
        )
        element = session.do("get_config", source="running", filter=("subtree", policies)).data_ele
        name = next(one.text for one in element.iter(f"{{{POLICY}}}name") if one.text.lower().startswith("slotcar"))
        edit = (
            f'<config xmlns="{BASE}"><native xmlns="{NATIVE}"><policy>'
            f'<policy-map xmlns="{POLICY}" xmlns:nc="{BASE}" nc:operation="delete"><name>{name}</name></policy-map>'
            "</policy></native></config>"
        )
        session.do("edit_config", target="candidate", config=edit)
        session.do("commit")
    finally:
        session.close()


@pytest.mark.slow
def test_a_change_by_hand_is_told_checked_and_mended_and_own_pushes_are_not(
    site: MixedSite, server: Server, tmp_path: Path, database_url: str
) -> None:
    with open_ledger(database_url, tmp_path, migrate=True):
        state_dir = tmp_path / "controller"
        state_dir.mkdir()
    port = free_port()
    settings = {
        "SLOTCAR_DATABASE_URL": database_url, "SLOTCAR_CHECK_INTERVAL": NEVER, "SLOTCAR_WATCH": "true",
        "SLOTCAR_SYSLOG_LISTEN": f"127.0.0.1:{port}",
    }  # fmt: skip
    with Controller(state_dir, site.inventory, **settings) as controller:
        controller.wait_settled()
        wait_for(lambda: watched(controller), "the peer to tell of changes")
        assert controller.check("watch") == "1 of 3 devices tells of changes, 2 listening"

        # What the controller itself changes is told, too, and costs no check.
        flow = ("--source", "lbnl-premium", "--destination", "peer-host:5002", "--protocol", "udp", "--owner", "test")
        pushed = controller.verified()
        controller.slotcar("create", "--name", "flow", *flow, "--rate", "8 Mbit/s", "--duration", "1 h")
        wait_for(lambda: controller.verified() > pushed, "the flow to be pushed")
        wait_for(lambda: watches(controller)[PEER]["changes"] > 0, "the push to be told")
        controller.wait_settled()
        time.sleep(LONGEST_WAIT_S + ECHO_S)
        assert check_requests(controller) == []
        unreserved = site.running()

        change_by_hand(server)
        assert site.running() != unreserved
        wait_for(lambda: site.running() == unreserved, "the peer to be mended")
        controller.wait_settled()
        assert drifted(controller) == [PEER]
        assert len(check_requests(controller)) == 1
        assert check_requests(controller)[0].startswith(f"told of a change: {PEER}: the configuration changed, ")
        said_by_syslog(site, controller, port)
        missed_while_broken(server, controller)


def said_by_syslog(site: MixedSite, controller: Controller, port: int) -> None:
    """A router without NETCONF says that somebody has configured it."""
    port_of_hosts = "GigabitEthernet0/1"
    taken_away = f"interface {port_of_hosts}\n no service-policy input SLOTCAR-IN-{port_of_hosts}\n"
    policy = taken_away.splitlines()[1].removeprefix(" no ")
    assert policy in site.running()[HELD]
    assert site.routers[HELD].configure(taken_away) == []
    assert policy not in site.running()[HELD]
    line = f"<189>45: {HELD}: *Mar  1 18:46:11.123: %SYS-5-CONFIG_I: Configured from console by alice on vty0"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as router:
        for datagram in (b"\xff\x00", b"<189>1: elsewhere: %SYS-5-CONFIG_I: Configured", line.encode()):
            router.sendto(datagram, ("127.0.0.1", port))
    wait_for(lambda: policy in site.running()[HELD], "the router to be mended")
    controller.wait_settled()
    assert drifted(controller) == [PEER, HELD]
    assert check_requests(controller)[1:] == [
        f"told of a change: {HELD}: %SYS-5-CONFIG_I: Configured from console by alice on vty0"
    ]


def missed_while_broken(server: Server, controller: Controller) -> None:
    """What changes while nobody listens is found when somebody does again."""
    server.stop()
    wait_for(lambda: watches(controller)[PEER]["state"] == "broken", "the end of the session to be seen")
    assert "NETCONF notifications" in controller.check(f"watch {PEER}")
    server.start()
    wait_for(lambda: watched(controller), "the peer to tell of changes again")
    wait_for(lambda: len(check_requests(controller)) == 3, "the peer to be checked for what it may have missed")
    assert check_requests(controller)[2] == f"told of a change: {PEER}: it was not watched for a while"
    assert "slotcar_device_changes_told_total" in controller_metrics(controller)


def controller_metrics(controller: Controller) -> str:
    import urllib.request

    with urllib.request.urlopen(f"http://127.0.0.1:{controller.port}/metrics", timeout=PATIENCE_S) as response:
        return str(response.read().decode())
