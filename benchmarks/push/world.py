"""An inventory of routers that each carry flows of their own, which are all others in every slot."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml

from benchmarks.push.fleet import Fleet, network
from slotcar.base.settings import load_settings
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Protocol, Service
from slotcar.book.timeline import Active, active_at
from slotcar.network import load_network
from slotcar.planning.offline import entries_of
from slotcar.platforms import renderer_of
from slotcar.reservation.model import Endpoint, Reservation
from slotcar.rollout.model import Reading, Wanted
from slotcar.rollout.wanted import wanted_for
from slotcar.wiring import pusher_for

#: When the flows are asked for, and within their window.
NOW = datetime(2030, 1, 1, tzinfo=UTC)
#: Flows of a router in a slot. Each is three lines to give and two or three to take back: some 80 lines a change.
FLOWS = 15
#: More make the peer no faster on few cores, and with a hundred its connections run out of their time.
PEER_FORKS = 20
#: Line by line, as they are: with sections and its own comparison it would put them into another order.
_PATH = "inventory_dir ~ '/../' ~ inventory_hostname ~ '.cfg'"
_LINES = "{{ lookup('ansible.builtin.file', " + _PATH + ").splitlines() | map('trim') }}"
_FILE = {"lines": _LINES, "match": "none"}
_PLAYBOOK = [
    {
        "name": "Next slot",
        "hosts": "domains",
        "gather_facts": False,
        "tasks": [
            {"name": "Change", "cisco.ios.ios_config": {"src": "{{ inventory_dir }}/../{{ inventory_hostname }}.cfg"}}
        ],
    }
]


class World:
    """`push(slot)` and `peer_push(slot)` bring all routers to a slot; they take turns."""

    def __init__(self, folder: Path, fleet: Fleet, *, eem: bool = False) -> None:
        self.fleet = fleet
        self._options = {"eem": True} if eem else {}
        self._folder = folder
        inventory = folder / "inventory"
        inventory.mkdir()
        (folder / "known_hosts").write_text(fleet.known_hosts)
        (inventory / "hosts.yml").write_text(yaml.safe_dump(self._inventory(), sort_keys=False))
        (folder / "peer.yml").write_text(yaml.safe_dump(_PLAYBOOK, sort_keys=False))
        self._network = load_network(inventory)
        self._pusher = pusher_for(self._network, load_settings(inventory=inventory, state_dir=folder / "state"), None)

    def push(self, slot: int, at: datetime | None = None, *, reads: bool = True) -> None:
        """Without `reads` from what the slot before left; staging compares it with what the routers have."""
        if not reads:
            expected = {name: Reading(one.configuration) for name, one in self._wanted(slot - 1).items()}
            self._pusher.push(self._wanted(slot), expected, at or datetime.now(UTC))
            return
        readings = self._pusher.read(sorted(self._network.devices))
        if readings.failures:
            raise SystemExit(str(readings.failures))
        self._pusher.push(self._wanted(slot), readings.by_device, at or datetime.now(UTC))

    def arm(self, slot: int, instants: Sequence[datetime]) -> None:
        """All routers hold what they are to do at these instants by themselves: go on from this slot to the next one."""
        now = datetime.now(UTC)
        coming = [(at, self._active(slot + number)) for number, at in enumerate(instants, 1)]
        wanted = wanted_for(self._network)(self._active(slot), now, coming).wanted
        readings = self._pusher.read(sorted(self._network.devices))
        if readings.failures:
            raise SystemExit(str(readings.failures))
        self._pusher.push(wanted, readings.by_device, now)

    def peer_push(self, slot: int) -> None:
        for name, lines in self._changes(slot - 1, slot).items():
            (self._folder / f"{name}.cfg").write_text("".join(f"{line}\n" for line in lines))
        _run_peer(self._folder / "peer.yml", self._folder / "inventory", min(self.fleet.size, PEER_FORKS))

    def mend(self, slot: int) -> int:
        """How many lines of the first router the peer left out or wrong; then all routers have what they should.

        `ios_config` drops a line that is removed and given again in one task, though CAR's lines stand in an order.
        """
        wanted = self._wanted(slot)
        device = self._network.devices["r1"]
        running = renderer_of(device).running({"show running-config": self.fleet.running_texts()[0]}, device)
        should, has = Counter(wanted["r1"].configuration.lines), Counter(running.lines)
        self.push(slot)
        return ((should - has) + (has - should)).total()

    def lines(self, before: int, after: int) -> int:
        return len(self._changes(before, after)["r1"])

    def _changes(self, before: int, after: int) -> dict[str, tuple[str, ...]]:
        old, new = self._wanted(before), self._wanted(after)
        return {
            name: renderer_of(device).change(old[name].configuration, new[name].configuration, device).apply
            for name, device in self._network.devices.items()
        }

    def _wanted(self, slot: int) -> dict[str, Wanted]:
        return dict(wanted_for(self._network)(self._active(slot), NOW).wanted)

    def _active(self, slot: int) -> list[Active]:
        window = Window(NOW, NOW + timedelta(hours=1))
        reservations = [
            Reservation.constant(
                name=f"s{slot}-{number}-{flow}", owner="bench", source=Endpoint(host=f"a{number}"),
                destination=Endpoint(host=f"b{number}", port=5000 + (slot * FLOWS + flow) % 1000), protocol=Protocol.UDP,
                service=Service.IP_PREMIUM, rate_bps=1_000_000 + 8000 * slot, windows=(window,),
            )
            for number in range(1, self.fleet.size + 1)
            for flow in range(FLOWS)
        ]  # fmt: skip
        # Numbers of which each slot has its own, so that both ways write lists first, then lines that use them: a change
        # in which lists are written anew is more than `ios_config` can put in order.
        entries = [
            replace(entry, number=50 * (place // FLOWS + 1) + (slot * FLOWS + place % FLOWS) % 50)
            for place, entry in enumerate(entries_of(reservations, self._network, NOW))
        ]
        return list(active_at(entries, NOW))

    def _inventory(self) -> dict[str, object]:
        routers, ends = {}, {}
        for number, port in enumerate(self.fleet.ports, 1):
            interfaces = {
                f"FastEthernet{index}/0": {
                    "role": "edge", "capacity": "100 Mbit/s", "address": f"{network(number, index)}.1/24"
                }
                for index in range(2)
            }  # fmt: skip
            routers[f"r{number}"] = {
                "ansible_host": "127.0.0.1",
                "ansible_port": port,
                "slotcar_interfaces": interfaces,
            }
            for index, side in enumerate("ab"):
                ends[f"{side}{number}"] = {
                    "slotcar_address": f"{network(number, index)}.2",
                    "slotcar_attached_to": f"r{number}:FastEthernet{index}/0",
                }
        common = {
            "slotcar_platform": self.fleet.platform, "slotcar_options": self._options,
            "slotcar_shares": {"ip-premium": "45 %"},
            "slotcar_known_hosts": str(self._folder / "known_hosts"), "ansible_connection": "ansible.netcommon.network_cli",
            "ansible_network_os": "cisco.ios.ios", "ansible_user": "slotcar", "ansible_password": self.fleet.password,
            "ansible_ssh_common_args": f"-o UserKnownHostsFile={self._folder / 'known_hosts'}",
            "ansible_host_key_checking": False,
        }  # fmt: skip
        domains = {"children": {"campus": {"hosts": routers, "vars": {}}}, "vars": common}
        return {"all": {"children": {"domains": domains, "slotcar_hosts": {"hosts": ends}}}}


def _run_peer(playbook: Path, inventory: Path, forks: int) -> None:
    """As a user would: the playbook alone, forks for all routers, no more than that."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("ansible-playbook")), "-i", str(inventory), "-f", str(forks), str(playbook)],
        env=os.environ | {"ANSIBLE_DEPRECATION_WARNINGS": "false"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"the peer's playbook failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
