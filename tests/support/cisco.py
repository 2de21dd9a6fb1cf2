"""The routers of `inventories/garnet` (or of another inventory) in software, and an inventory that leads to them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

from slotcar.base.registry import TransportKind, facts_of
from slotcar.base.settings import load_settings
from slotcar.base.timebase import Window
from slotcar.book.model import Entry
from slotcar.book.timeline import active_at
from slotcar.network import load_network
from slotcar.network.model import Device, Network
from slotcar.planning.offline import entries_of
from slotcar.rollout.ios.eem import FENCE
from slotcar.rollout.model import PushResult, Reading, Wanted
from slotcar.rollout.pusher import Pusher
from slotcar.rollout.wanted import wanted_for
from slotcar.wiring import pusher_for
from slotcar_lab.ios import Router, Routers
from tests.support import detached
from tests.support.patience import PATIENCE_S
from tests.support.requests import reservation

ROOT = Path(__file__).resolve().parents[2]
#: What an operator has on every router; it must be there, byte for byte, whatever Slotcar does.
OPERATORS = """\
service timestamps log datetime msec
ip access-list extended OPERATORS-EDGE
 permit tcp any any established
 deny   udp any any eq 161
access-list 101 permit ip 10.0.0.0 0.255.255.255 any
ip route 0.0.0.0 0.0.0.0 Null0
snmp-server location machine room
"""


def startup(device: Device, *, no_files: bool = False) -> str:
    """A router's start-up configuration: its interfaces, as the inventory has them, among an operator's own lines.

    With `no_files` it takes none over SCP, as older releases.
    """
    names = {name.partition(".")[0] for name in device.interfaces} | set(device.interfaces)
    lines = [f"hostname {device.name}", *OPERATORS.splitlines()]
    if not no_files:
        lines.append("ip scp server enable")
    if device.platform == "cisco-cat6500":
        lines.append("mls qos")
    for name in sorted(names):
        lines += [f"interface {name}", " description of the operator's own"]
        interface = device.interfaces.get(name)
        if interface is not None and interface.address is not None:
            lines.append(f" ip address {interface.address.ip} {interface.address.netmask}")
    return "".join(f"{line}\n" for line in lines)


def without_fence(text: str) -> str:
    """A router's configuration but for the number of the lead, which a controller leaves there."""
    return "".join(line for line in text.splitlines(keepends=True) if FENCE not in line)


def _set(file: Path, **variables: object) -> None:
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | variables, sort_keys=False))


class CiscoWorld:
    """Emulated routers of an inventory, those with IOS, and the pusher that reaches them.

    Args:
        platform: instead of the inventory's own, over POS interfaces.
        archive: the routers keep one, so that those which can take a change back by themselves.
        no_files: routers that take no files.
        eem: routers with an event manager.
    """

    def __init__(
        self, routers: Routers, folder: Path, inventory: Path, *, transport: str = "ssh", answer_s: int = int(PATIENCE_S),
        platform: str = "", archive: bool = False, no_files: Collection[str] = (), minute_s: float = 60.0,
        eem: Collection[str] = (),
    ) -> None:  # fmt: skip
        self.inventory = folder / "inventory"
        shutil.copytree(inventory, self.inventory)
        if platform:
            # A VC's policy would stand under its `pvc`; the same network over SONET has none.
            for file in self.inventory.glob("*_vars/*.yml"):
                file.write_text(re.sub(r"\bATM(\d/\d/\d)(\.60)?", r"POS\1", file.read_text()))
            _set(self.inventory / "group_vars" / "domains.yml", slotcar_platform=platform)
        for name in eem:
            _set(self.inventory / "host_vars" / f"{name}.yml", slotcar_options={"eem": True})
        self.network: Network = load_network(self.inventory)
        self.routers: dict[str, Router] = {}
        for name, device in self.network.devices.items():
            if facts_of(device.platform).transport is not TransportKind.IOS:
                continue
            text = startup(device, no_files=name in no_files)
            if archive:
                text += "archive\n path flash:archive\n"
            self.routers[name] = routers.add(name, device.platform, text, minute_s=minute_s)
        self.known_hosts = folder / "known_hosts"
        self.known_hosts.write_text(routers.known_hosts)
        (self.inventory / "group_vars" / "all.yml").write_text("---\n{}\n")
        _set(
            self.inventory / "group_vars" / "all.yml",
            vault_router_password=next(iter(self.routers.values())).password,
            slotcar_known_hosts=str(self.known_hosts),
            slotcar_transport=transport,
            ansible_command_timeout=answer_s,
        )
        for name, router in self.routers.items():
            file = self.inventory / "host_vars" / f"{name}.yml"
            _set(file, ansible_host=router.address, ansible_port=router.port)
        self.settings = load_settings(inventory=self.inventory, state_dir=folder / "state", adopt_all=True)
        self.pusher: Pusher = pusher_for(self.network, self.settings, None)

    def answer_within(self, answer_s: int) -> None:
        """Ends the wait of all later plays for a router that hangs."""
        _set(self.inventory / "group_vars" / "all.yml", ansible_command_timeout=answer_s)

    def entries(self, *reservations: object) -> tuple[Entry, ...]:
        now = datetime.now(UTC)
        return entries_of(reservations, self.network, now)  # type: ignore[arg-type]

    def wanted(self, entries: Sequence[Entry] = ()) -> dict[str, Wanted]:
        now = datetime.now(UTC)
        outlook = wanted_for(self.network)(active_at(entries, now), now)
        assert not outlook.unrenderable
        return {name: one for name, one in outlook.wanted.items() if name in self.routers}

    def read(self) -> dict[str, Reading]:
        readings = self.pusher.read(sorted(self.routers))
        assert not readings.failures, readings.failures
        return dict(readings.by_device)

    def push(self, entries: Sequence[Entry] = ()) -> PushResult:
        return self.pusher.push(self.wanted(entries), self.read(), datetime.now(UTC))

    def running(self) -> dict[str, str]:
        return {name: router.running_text() for name, router in self.routers.items()}


def flow_of(world: CiscoWorld, rate_bps: int = 20_000_000) -> tuple[Entry, ...]:
    """One reservation across GARNET, both ways, that is open now."""
    now = datetime.now(UTC)
    both = {
        "source": {"host": "anl-premium"},
        "destination": {"host": "lbnl-premium", "port": 5001},
        "direction": "both",
    }
    window = Window(now - timedelta(hours=1), now + timedelta(hours=1))
    return world.entries(reservation("cms", rate_bps, **both).over((window,)))


def serve(folder: Path) -> None:
    """GARNET's routers in a process of their own, with a revision that brings what stands and a flow."""
    with Routers() as routers:
        world = CiscoWorld(routers, folder, ROOT / "inventories" / "garnet")
        before = world.running()
        revision = world.pusher.prepare(world.wanted(flow_of(world)), world.read(), datetime.now(UTC))
        assert revision is not None
        (folder / "revision").write_text(str(world.pusher.archive.write(revision)))
        (folder / "ports.json").write_text(json.dumps({name: router.port for name, router in world.routers.items()}))
        detached.serve_until_stopped(
            folder, lambda: [name for name, text in world.running().items() if text != before[name]]
        )


if __name__ == "__main__":
    detached.main("tests.support.cisco", serve)
