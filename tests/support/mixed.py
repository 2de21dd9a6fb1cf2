"""A site whose edge routers are of three families: IOS with an event manager, IOS without, and real NETCONF.

    lbnl-premium ── lbnl-edge (acts by itself) ── lbnl-ios (is held) ── ios-host
                        └──────────────────────── lbnl-peer (is held) ── peer-host

By itself, or in the place of the lab's `lbnl-edge`, behind the lab's real Linux routers.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.rollout.netconf import netconf_login
from slotcar.rollout.netconf.session import NetconfSession
from slotcar_lab.ios import Router, Routers
from tests.integration.netconf.server import ROOT, Server
from tests.support import netconf_world
from tests.support.cisco import startup
from tests.support.controllers import Controller

ACTS, HELD, PEER = "lbnl-edge", "lbnl-ios", "lbnl-peer"
COMMON = {
    "slotcar_shares": {"ip-premium": "70 %", "assured-rate": "15 %", "qbss": "1 %"},
    "slotcar_overhead_bytes": 14,
}
OF_FAMILY: dict[str, dict[str, Any]] = {
    ACTS: {"slotcar_platform": "cisco-mqc", "slotcar_options": {"eem": True}},
    HELD: {"slotcar_platform": "cisco-mqc"},
    PEER: {"slotcar_platform": "cisco-iosxe-netconf"},
}


def _port(address: str, neighbour: str = "", role: str = "core", capacity: str = "100 Mbit/s") -> dict[str, str]:
    interface = {"role": role, "capacity": capacity, "address": address}
    return interface | ({"neighbour": neighbour} if neighbour else {})


PORTS = {
    ACTS: {
        "GigabitEthernet0/1": _port("10.10.21.1/24", role="edge"),
        "GigabitEthernet0/3": _port("10.10.31.1/30", f"{HELD}:GigabitEthernet0/0"),
        "GigabitEthernet0/4": _port("10.10.32.1/30", f"{PEER}:GigabitEthernet0/0"),
    },
    HELD: {
        "GigabitEthernet0/0": _port("10.10.31.2/30", f"{ACTS}:GigabitEthernet0/3"),
        "GigabitEthernet0/1": _port("10.10.41.1/24", role="edge"),
    },
    PEER: {
        "GigabitEthernet0/0": _port("10.10.32.2/30", f"{ACTS}:GigabitEthernet0/4"),
        "GigabitEthernet0/1": _port("10.10.42.1/24", role="edge"),
    },
}
TO_LAB = "GigabitEthernet0/0"
HOSTS = {
    "lbnl-premium": ("10.10.21.2", f"{ACTS}:GigabitEthernet0/1"),
    "ios-host": ("10.10.41.2", f"{HELD}:GigabitEthernet0/1"),
    "peer-host": ("10.10.42.2", f"{PEER}:GigabitEthernet0/1"),
}


def begin_together(
    controller: Controller, flows: Sequence[tuple[str, str]], after_s: int, lasts_s: int
) -> tuple[datetime, datetime]:
    """Reserves flows, both ways, from `after_s` seconds from now on; their start and end."""
    start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=after_s)
    for source, destination in flows:
        ends = ("--source", source, "--destination", destination, "--protocol", "udp", "--direction", "both")
        slot = ("--rate", "8 Mbit/s", "--start", start.isoformat(), "--duration", f"{lasts_s} s", "--owner", "test")
        controller.slotcar("create", "--name", destination.partition(":")[0], *ends, *slot)
    return start, start + timedelta(seconds=lasts_s)


class MixedSite:
    """The site's inventory, and its routers. With `lab_state`, the folder of a running lab, it is a part of that."""

    def __init__(self, routers: Routers, server: Server, folder: Path, lab_state: Path | None = None) -> None:
        self.inventory = folder / "inventory"
        ports = {name: dict(some) for name, some in PORTS.items()}
        if lab_state is None:
            (self.inventory / "host_vars").mkdir(parents=True)
            self._write_hosts({"all": {"children": {"domains": {"children": {}}, "slotcar_hosts": {"hosts": {}}}}})
        else:
            to_lab = _port("10.10.3.2/30", "esnet-hub:eth2", "inter-domain", "60 Mbit/s")
            ports[ACTS][TO_LAB] = to_lab | {"propagation": "0 ms"}  # as the lab says of its end
            self._join(lab_state)
        variables = {name: {**COMMON, **OF_FAMILY[name], "slotcar_interfaces": some} for name, some in ports.items()}
        self._write(variables)
        bare = load_network(self.inventory)
        self.routers: dict[str, Router] = {
            name: routers.add(name, "cisco-mqc", startup(bare.devices[name])) for name in (ACTS, HELD)
        }
        known_hosts = folder / "known_hosts"
        known_hosts.write_text(routers.known_hosts)
        for name, router in self.routers.items():
            variables[name] |= {
                "slotcar_known_hosts": str(known_hosts),
                "ansible_host": router.address,
                "ansible_port": router.port,
                "ansible_user": router.user,
                "ansible_password": router.password,
            }
        variables[PEER] |= server.variables
        self._write(variables)
        self.network: Network = load_network(self.inventory)
        self._server = server
        with self._session() as session:
            config = netconf_world.startup(self.network.devices[PEER])
            session.do("edit_config", target="candidate", config=config)
            session.do("commit")

    def running(self) -> dict[str, str]:
        with self._session() as session:
            peer = str(session.do("get_config", source="running").data_xml)
        texts = {name: router.running_text() for name, router in self.routers.items()}
        return texts | {PEER: netconf_world.meaning(peer)}

    def _join(self, lab_state: Path) -> None:
        shutil.copytree(ROOT / "inventories" / "lab", self.inventory)
        every, own = (self.inventory / "group_vars" / f"{group}.yml" for group in ("domains", "lbnl"))
        every.write_text(yaml.safe_dump(yaml.safe_load(every.read_text()) | {"slotcar_lab_state": str(lab_state)}))
        for file in (own, self.inventory / "host_vars" / "esnet-hub.yml"):
            file.write_text(file.read_text().replace(f"{ACTS}:eth1", f"{ACTS}:{TO_LAB}"))
        self._write_hosts(yaml.safe_load((self.inventory / "hosts.yml").read_text()))

    def _write_hosts(self, groups: dict[str, Any]) -> None:
        children = groups["all"]["children"]
        children["domains"]["children"]["lbnl"] = {"hosts": dict.fromkeys(PORTS)}
        ends = children["slotcar_hosts"]["hosts"]
        for name in [name for name, one in ends.items() if one["slotcar_attached_to"].startswith(f"{ACTS}:")]:
            del ends[name]
        for name, (address, port) in HOSTS.items():
            ends[name] = {"slotcar_address": address, "slotcar_attached_to": port}
        (self.inventory / "hosts.yml").write_text(yaml.safe_dump(groups, sort_keys=False))

    def _write(self, variables: dict[str, dict[str, Any]]) -> None:
        for name, values in variables.items():
            (self.inventory / "host_vars" / f"{name}.yml").write_text(yaml.safe_dump(values, sort_keys=False))

    @contextmanager
    def _session(self) -> Iterator[NetconfSession]:
        opened = NetconfSession(PEER, netconf_login(PEER, self._server.variables))
        opened.open()
        try:
            yield opened
        finally:
            opened.close()
