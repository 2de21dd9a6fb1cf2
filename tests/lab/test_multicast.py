"""What is sent to a group through the lab's routers: whole to all receivers, once over each link, beside a load that
fills every link; and files by uftp, which leave one behind that loses too much.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from slotcar.base.vocabulary import Protocol, Service
from slotcar.book.model import Entry
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning.routing import route
from slotcar.reservation.model import Endpoint
from slotcar_lab import control
from slotcar_lab.client import LabProcess
from slotcar_lab.control import Lab
from slotcar_lab.experiments.capture import Capture
from slotcar_lab.experiments.wires import topology_of
from slotcar_lab.guest import machine
from slotcar_lab.movers import acquaint, mover
from slotcar_lab.patience import HANG_S
from slotcar_lab.topology import PORT_BASE_VARIABLE
from slotcar_transfer.uftp import number_of, number_text
from tests.lab.bursts import pushed
from tests.lab.conftest import free_base
from tests.support.multicast import losing, uftpd
from tests.support.patience import wait_for
from tests.support.requests import T0, reservation

#: A lab of its own, in virtual time. In short: what is pushed, tests/unit/platforms/test_multicast.py.
pytestmark = [pytest.mark.lab, pytest.mark.slow]
SOURCE, GROUP, PORT = "10.9.1.2", "239.1.2.3", 1044
#: From `source` one tree: core, and from there a branch to each receiver. `noise` fills both branches.
INVENTORY = """
all:
  vars:
    slotcar_platform: linux-tc
    slotcar_capacity: 8 Mbit/s
    slotcar_overhead_bytes: 14
    slotcar_shares: {ip-premium: 45 %, qbss: 1 %}
  children:
    domains:
      children:
        campus:
          hosts:
            core:
              slotcar_interfaces:
                eth1: {role: edge, address: 10.9.1.1/24}
                eth2: {address: 10.9.12.1/30, neighbour: "left:eth2"}
                eth3: {address: 10.9.13.1/30, neighbour: "right:eth2"}
                eth4: {role: edge, address: 10.9.4.1/24}
            left:
              slotcar_interfaces:
                eth1: {role: edge, address: 10.9.2.1/24}
                eth2: {address: 10.9.12.2/30, neighbour: "core:eth2"}
            right:
              slotcar_interfaces:
                eth1: {role: edge, address: 10.9.3.1/24}
                eth2: {address: 10.9.13.2/30, neighbour: "core:eth3"}
    slotcar_hosts:
      hosts:
        source: {slotcar_address: 10.9.1.2, slotcar_attached_to: "core:eth1"}
        noise: {slotcar_address: 10.9.4.2, slotcar_attached_to: "core:eth4"}
        near: {slotcar_address: 10.9.2.2, slotcar_attached_to: "left:eth1"}
        far: {slotcar_address: 10.9.3.2, slotcar_attached_to: "right:eth1"}
"""
RECEIVERS = {"near": "10.9.2.2", "far": "10.9.3.2"}
#: Where the load goes.
LOADED = [f"{address}:9000" for address in RECEIVERS.values()]
#: How each router forwards the group: where it comes in, and where it leaves.
FORWARDED = {"core": ("eth1", "eth2 eth3"), "left": ("eth2", "eth1"), "right": ("eth2", "eth1")}
RATE_BPS, PAYLOAD_BYTES = 2_000_000, 958
#: What is sent to both as a file.
FILE_BYTES = 600_000
#: Of best effort to each receiver: more than its branch carries; and more than it carries beside what is sent to the group,
#: so that there is room for the proof of the copies after that.
LOAD_BPS, LOAD_BESIDE_BPS = 9_000_000, 7_000_000
#: Datagrams with a number in front, at one rate from the instant on that it is told: `ADDRESS:PORT RATE_BPS SECONDS`.
SENDER = """
import socket, struct, sys, time
(address, port), rate_bps, seconds = sys.argv[1].split(":"), int(sys.argv[2]), float(sys.argv[3])
end = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
end.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 16)
print("ready", flush=True)
begin = float(sys.stdin.readline())
for number in range(int(rate_bps * seconds / 8 / 1_000)):
    time.sleep(max(0.0, begin + number * 8_000 / rate_bps - time.time()))
    end.sendto(struct.pack("!Q", number) + bytes(950), (address, int(port)))
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Lab, Network]]:
    folder = tmp_path_factory.mktemp("tree")
    (folder / "campus.yml").write_text(INVENTORY, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, ExitStack() as ended:
        patch.setenv(PORT_BASE_VARIABLE, str(free_base()))
        network = load_network(folder / "campus.yml")
        ended.callback(control.down, folder / "lab")
        lab = control.up(topology_of(network), folder / "lab", extras=machine.VIRTUAL_TIME)
        for router in FORWARDED:
            ended.enter_context(_forwards(lab, router))
        for host in ("source", *RECEIVERS):
            lab.check(host, ["ip", "route", "add", "224.0.0.0/4", "dev", "eth1"])
        yield lab, network


def _forwards(lab: Lab, router: str) -> LabProcess:
    """The group's static route, which is the operator's and not Slotcar's."""
    came, leaves = FORWARDED[router]
    lines = [f"phyint {name} enable" for name in (came, *leaves.split())]
    text = "\n".join([*lines, f"mroute from {came} source {SOURCE} group {GROUP} to {leaves}", ""])
    folder = f"/tmp/{router}"  # noqa: S108 - of the lab's routers
    lab.check(router, ["sh", "-c", f"mkdir {folder} && cat > {folder}/conf"], stdin=text)
    files = ["-f", f"{folder}/conf", "-P", f"{folder}/pid", "-u", f"{folder}/sock"]
    daemon = lab.popen(router, ["smcrouted", "-n", "-N", "-i", router, *files])
    wait_for(
        lambda: daemon.poll() is not None or GROUP in lab.check(router, ["ip", "mroute", "show"]),
        f"{router} to forward the group",
    )
    assert daemon.poll() is None, daemon.stderr
    return daemon


def to_the_group(network: Network) -> Entry:
    wanted = reservation(
        "copies", RATE_BPS, source=Endpoint(host="source"), destination=Endpoint(host=GROUP, port=PORT),
        receivers=tuple(RECEIVERS), protocol=Protocol.UDP, packet_size_bytes=PAYLOAD_BYTES + 28,
        service=Service.IP_PREMIUM,
    )  # fmt: skip
    return route(wanted, network).entry("handle-1", 1, T0)


def came(lab: Lab, seconds: float) -> dict[str, list[int]]:
    """The numbers of what came to each receiver, of what was sent to the group beside the load."""
    captures = {name: Capture(lab, name, f"dst host {GROUP}", outgoing=False) for name in RECEIVERS}
    with ExitStack() as ended:
        load = [ended.enter_context(_sender(lab, "noise", to, LOAD_BPS, seconds + 1.0)) for to in LOADED]
        sender = ended.enter_context(_sender(lab, "source", f"{GROUP}:{PORT}", RATE_BPS, seconds))
        begin = lab.clock.now() + 1.0
        for process, at in (*((one, begin - 0.5) for one in load), (sender, begin)):
            process.write(f"{at}\n".encode())
        lab.clock.wait_until(begin + seconds + 0.5)
        assert sender.wait(HANG_S) == 0, sender.stderr
    return {name: [one.number for one in capture.packets()] for name, capture in captures.items()}


def _sender(lab: Lab, host: str, to: str, rate_bps: int, seconds: float) -> LabProcess:
    """One that is ready: how long a program takes to start is this machine's."""
    process = lab.popen(host, ["python3", "-c", SENDER, to, str(rate_bps), str(seconds)], stdin=True)
    process.wait_reported("ready", HANG_S)
    return process


def forwarded(lab: Lab) -> dict[str, int]:
    """Packets of the group that each router sent on, by the kernel's counter of its route."""
    routes = {router: json.loads(lab.check(router, ["ip", "-j", "-s", "mroute", "show"])) for router in FORWARDED}
    return {
        router: sum(int(one["packets"]) for one in listed if one["dst"] == GROUP) for router, listed in routes.items()
    }


def test_all_receivers_get_it_whole_and_each_link_carries_it_once(tree: tuple[Lab, Network]) -> None:
    lab, network = tree
    seconds = 3.0
    sent = list(range(int(RATE_BPS * seconds / 8_000)))
    without = came(lab, seconds)
    assert all(len(numbers) < len(sent) for numbers in without.values()), "the branches were not full"
    before = forwarded(lab)
    with pushed(lab, network, [to_the_group(network)]):
        reserved = came(lab, seconds)
    assert reserved == dict.fromkeys(RECEIVERS, sent)
    assert {router: count - before[router] for router, count in forwarded(lab).items()} == dict.fromkeys(
        FORWARDED, len(sent)
    )


@contextmanager
def _receiving(lab: Lab, folder: str) -> Iterator[None]:
    """`uftpd` and `slotcar-transfer serve` on both; the source knows them, and they know the source."""
    with ExitStack() as ended:
        for name, address in RECEIVERS.items():
            root, home = f"{folder}/{name}-files", f"{folder}/{name}"
            lab.check(name, ["mkdir", "-p", root, f"{root}-arriving"])
            acquaint(lab, folder, "source", name, address)
            number = number_text(number_of(address))
            ended.enter_context(lab.popen(name, uftpd(number, GROUP, "eth1", root, f"{root}-arriving")))
            serving = ended.enter_context(lab.popen(name, mover(lab, home, "serve", root, "--address", address)))
            wait_for(lambda serving=serving: "serves" in serving.stdout, f"{name} to serve its files")
        yield


def spread(lab: Lab, folder: str, code: int, *files: str) -> dict[str, Any]:
    """The last document of the command."""
    words = [
        *files,
        "--to",
        "near",
        "--to",
        "far",
        "--group",
        GROUP,
        "--interface",
        "eth1",
        "--at-most",
        "1800 kbit/s",
    ]
    with lab.popen("source", mover(lab, f"{folder}/source", *words)) as process:
        wait_for(lambda: _has_ended(lab, process), "the copies to be sent", HANG_S)
        assert process.wait(HANG_S) == code, process.stdout + process.stderr
        last: dict[str, Any] = json.loads(process.stdout.splitlines()[-1])
    return last


def _has_ended(lab: Lab, process: LabProcess) -> bool:
    """After another second of the lab's: how many it takes depends on what the guest has read of this machine's files."""
    lab.clock.wait_until(lab.clock.now() + 1.0)
    return process.poll() is not None


def lose(lab: Lab, host: str, per_cent: int) -> None:
    """From now on the host loses so many of the packets that come to the group."""
    lab.exec(host, ["tc", "qdisc", "delete", "dev", "eth1", "clsact"])
    lab.check(host, ["tc", "qdisc", "add", "dev", "eth1", "clsact"])
    lab.check(host, losing(per_cent, "eth1"))


def test_files_reach_all_beside_a_load_but_who_loses_too_much(tree: tuple[Lab, Network]) -> None:
    lab, network = tree
    folder = "/tmp/copies"  # noqa: S108 - of the lab's hosts
    lab.check("source", ["sh", "-c", f"mkdir -p {folder} && head -c {FILE_BYTES} /dev/urandom > {folder}/raw"])
    digest = lab.check("source", ["sha256sum", f"{folder}/raw"]).split()[0]
    with _receiving(lab, folder), pushed(lab, network, [to_the_group(network)]), ExitStack() as ended:
        for to in LOADED:
            load = ended.enter_context(_sender(lab, "noise", to, LOAD_BESIDE_BPS, 3_600.0))
            load.write(f"{lab.clock.now()}\n".encode())
        lose(lab, "far", 50)
        done = spread(lab, folder, 1, f"{folder}/raw")
        near, far = done["receivers"]
        assert (near["proved"], near["lacks"]) == (["raw"], [])
        assert (far["lacks"], far["why"]) == (["raw"], "was pruned: it lost too much, or gave up by itself")
        lose(lab, "far", 2)
        assert [one["lacks"] for one in spread(lab, folder, 0, f"{folder}/raw")["receivers"]] == [[], []]
    for name in RECEIVERS:
        assert lab.check(name, ["sha256sum", f"{folder}/{name}-files/raw"]).split()[0] == digest
