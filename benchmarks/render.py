"""From the ledger's entries to every device's text: 1,000 devices with 50 reservations each, on one core.

The peer is what a user would write instead: one Jinja2 template of the whole device, its numbers computed beforehand, and
Ansible's `template` module for every host.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path

import yaml

from benchmarks.common import Figure, Say
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import InterfaceRole, Protocol, Service
from slotcar.book.timeline import active_at
from slotcar.network.model import Device, Domain, Host, Interface, InterfaceId, Network
from slotcar.planning.offline import entries_of
from slotcar.platforms import renderer_of
from slotcar.platforms.intent import intents_at
from slotcar.reservation.model import Endpoint, Reservation

FLOWS = 50
SIZES, QUICK_SIZES = (100, 1_000), (100,)
#: The peer's time grows with the hosts; it is measured on so many and given for one device.
PEER_HOSTS = 50
PEER = "Ansible's template module"
PLATFORMS = ("linux-tc", "cisco-mqc")
NOW = datetime(2030, 1, 1, tzinfo=UTC)
_KINDS = {"linux-tc": "eth", "cisco-mqc": "GigabitEthernet0/"}
#: The linux-tc flow filters alone: less than what is rendered beside it.
_TEMPLATE = """\
{% for flow in flows %}
filter dev eth1 ingress protocol ip pref 20813 handle {{ flow.number }} flower ip_proto udp dst_ip {{ flow.destination }} \
src_ip {{ flow.source }} dst_port {{ flow.port }} action police rate {{ flow.rate }} burst {{ flow.burst }} \
conform-exceed drop
{% endfor %}
"""


def measure(quick: bool, say: Say) -> Iterator[Figure]:
    say(f"{PEER}, {PEER_HOSTS} hosts")
    peer_ms = _peer_ms()
    for platform in PLATFORMS:
        for size in QUICK_SIZES if quick else SIZES:
            say(f"{size} devices, {platform}")
            yield from _measured(platform, size, peer_ms)


def _measured(platform: str, size: int, peer_ms: float) -> Iterator[Figure]:
    network = network_of(platform, size)
    entries = entries_of(_reservations(size), network, NOW)
    began = time.process_time()
    intents = intents_at(active_at(entries, NOW), network, NOW)
    planned = time.process_time()
    for name, intent in intents.items():
        device = network.devices[name]
        renderer_of(device).configuration(intent, device)
    rendered = time.process_time()
    name = f"{platform}, {size:,} devices of {FLOWS} flows"
    yield Figure(f"{name}: intents", planned - began, "s", lower_is_better=True)
    yield Figure(f"{name}: intents and text", rendered - began, "s", lower_is_better=True)
    each_ms = (rendered - began) * 1000 / size
    yield Figure(f"{name}: a device", each_ms, "ms", PEER, peer_ms, lower_is_better=True)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    yield Figure(f"{name}: peak memory of the process", peak_mib, "MiB", lower_is_better=True)


def network_of(platform: str, size: int) -> Network:
    devices, hosts = {}, {}
    for number in range(size):
        name = f"r{number}"
        interfaces = {}
        for side in range(2):
            base = IPv4Address("10.0.0.0") + (2 * number + side) * 256
            port = InterfaceId(device=name, name=f"{_KINDS[platform]}{side}")
            interfaces[port.name] = Interface(
                id=port, role=InterfaceRole.EDGE, capacity_bps=10**9, shares_ppm={Service.IP_PREMIUM: 450_000},
                address=IPv4Interface(f"{base + 1}/24"), prefixes=(IPv4Network(f"{base}/24"),),
            )  # fmt: skip
            hosts[f"{'ab'[side]}{number}"] = Host(
                name=f"{'ab'[side]}{number}", domain="campus", address=base + 2, attached_to=port
            )
        devices[name] = Device(name=name, domain="campus", platform=platform, interfaces=interfaces)
    return Network(domains={"campus": Domain(name="campus")}, devices=devices, hosts=hosts, sls={}, source="benchmark")


def _reservations(size: int) -> list[Reservation]:
    window = Window(NOW, NOW + timedelta(hours=1))
    return [
        Reservation.constant(
            name=f"n{number}-{flow}", owner="bench", source=Endpoint(host=f"a{number}"),
            destination=Endpoint(host=f"b{number}", port=5000 + flow), protocol=Protocol.UDP,
            service=Service.IP_PREMIUM, rate_bps=1_000_000 + flow, windows=(window,),
        )
        for number in range(size)
        for flow in range(FLOWS)
    ]  # fmt: skip


def _peer_ms() -> float:
    """CPU milliseconds a host, without what the playbook takes by itself."""
    with tempfile.TemporaryDirectory(prefix="slotcar-bench-") as name:
        folder = Path(name)
        flows = [
            {
                "number": n,
                "source": "10.0.0.2",
                "destination": "10.0.1.2",
                "port": 5000 + n,
                "rate": "1Mbit",
                "burst": "8kb",
            }
            for n in range(FLOWS)
        ]
        (folder / "flows.j2").write_text(_TEMPLATE)
        task = {"ansible.builtin.template": {"src": "flows.j2", "dest": f"{folder}/{{{{ inventory_hostname }}}}.txt"}}
        for file, tasks in (("empty.yml", []), ("peer.yml", [task])):
            play = {
                "hosts": "all",
                "gather_facts": False,
                "connection": "local",
                "vars": {"flows": flows},
                "tasks": tasks,
            }
            (folder / file).write_text(yaml.safe_dump([play]))
        (folder / "hosts").write_text("".join(f"h{n}\n" for n in range(PEER_HOSTS)))
        empty, whole = _cpu_of(folder, "empty.yml"), _cpu_of(folder, "peer.yml")
        return (whole - empty) * 1000 / PEER_HOSTS


def _cpu_of(folder: Path, playbook: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "hosts", playbook],
        cwd=folder, env=os.environ | {"ANSIBLE_PYTHON_INTERPRETER": sys.executable}, capture_output=True, check=True,
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
