"""The routers at both ends of the golden cases' NETCONF network, each on a real server, and a revision for them.

`python -m tests.support.netconf_world start|stop DIR` runs them in a process of their own: for Molecule, whose steps are
processes. Then `DIR/peers.json` says how each is reached, and `DIR/revision` names the revision's folder.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import yaml
from lxml import etree

from slotcar.base.settings import load_settings
from slotcar.base.timebase import Window
from slotcar.book.timeline import active_at
from slotcar.network import load_network
from slotcar.network.model import Device, Network
from slotcar.planning.offline import entries_of
from slotcar.platforms.cisco_iosxe_netconf.tree import ACL, NATIVE, POLICY
from slotcar.rollout.netconf import netconf_login
from slotcar.rollout.netconf.session import NetconfSession
from slotcar.rollout.wanted import wanted_for
from slotcar.wiring import pusher_for
from slotcar_lab import control, requirements
from tests.integration.netconf.server import ROOT, Server
from tests.support import detached
from tests.support.requests import reservation

INVENTORY = ROOT / "tests" / "golden" / "render" / "inventories" / "cisco-iosxe-netconf"
NAMES = ("north-edge", "south-gw")
BASE = "urn:ietf:params:xml:ns:netconf:base:1.0"
#: What an operator has on every router, beside its interfaces; it must be there as it was, whatever Slotcar does.
OPERATORS = (
    "<hostname>operators-own</hostname>"
    f'<ip><access-list><extended xmlns="{ACL}"><name>OPERATORS-EDGE</name><access-list-seq-rule><sequence>10</sequence>'
    "<ace-rule><action>permit</action><protocol>tcp</protocol><any/><dst-any/></ace-rule></access-list-seq-rule>"
    "</extended></access-list></ip>"
    f'<policy><class-map xmlns="{POLICY}"><name>OPERATORS</name><prematch>match-any</prematch></class-map>'
    f'<policy-map xmlns="{POLICY}"><name>OPERATORS</name><class><name>OPERATORS</name></class></policy-map></policy>'
)


def startup(device: Device) -> str:
    """A router's first configuration, as an `edit-config`: an operator's own lines, and its interfaces."""
    interfaces = ""
    for name in sorted(device.interfaces):
        kind, number = re.fullmatch(r"(\D+)(.+)", name).groups()  # type: ignore[union-attr]
        interfaces += f"<{kind}><name>{number}</name><description>of the operator's own</description></{kind}>"
    native = f'<native xmlns="{NATIVE}">{OPERATORS}<interface>{interfaces}</interface></native>'
    return f'<config xmlns="{BASE}">{native}</config>'


def meaning(text: str) -> str:
    """A configuration without empty `service-policy`: such a container means nothing (RFC 7950 §7.5.1), and stays where
    it was filled once."""
    root = etree.fromstring(text.encode(), etree.XMLParser(remove_blank_text=True))
    for container in list(root.iter(f"{{{POLICY}}}service-policy")):
        if len(container) == 0:
            container.getparent().remove(container)
    return etree.tostring(root, encoding="unicode")


class NetconfWorld:
    """Servers of their own for some routers of the inventory, and a copy of the inventory that leads to them."""

    def __init__(self, servers: dict[str, Server], folder: Path) -> None:
        self.servers = servers
        self.inventory = folder / "inventory"
        shutil.copytree(INVENTORY, self.inventory)
        (self.inventory / "host_vars").mkdir()
        for name, server in servers.items():
            (self.inventory / "host_vars" / f"{name}.yml").write_text(yaml.safe_dump(server.variables))
        self.network: Network = load_network(self.inventory)
        settings = load_settings(inventory=self.inventory, state_dir=folder / "state", adopt_all=True)
        self.pusher = pusher_for(self.network, settings, None)
        for name in servers:
            with self.session(name) as session:
                session.do("edit_config", target="candidate", config=startup(self.network.devices[name]))
                session.do("commit")

    @contextmanager
    def session(self, name: str) -> Iterator[NetconfSession]:
        """Somebody else's."""
        opened = NetconfSession(name, netconf_login(name, self.servers[name].variables))
        opened.open()
        try:
            yield opened
        finally:
            opened.close()

    def running(self) -> dict[str, str]:
        """Slotcar's and others', as `meaning` writes it."""
        texts = {}
        for name in self.servers:
            with self.session(name) as session:
                texts[name] = meaning(str(session.do("get_config", source="running").data_xml))
        return texts

    def revision(self) -> Path:
        """The folder of one that brings what stands and a flow, both ways, whose slot is open now."""
        now = datetime.now(UTC)
        flow = reservation(
            "media",
            4_000_000,
            source={"host": "north-data"},
            destination={"host": "south-data", "port": 5004},
            direction="both",
        ).over((Window(now - timedelta(hours=1), now + timedelta(hours=1)),))
        outlook = wanted_for(self.network)(active_at(entries_of((flow,), self.network, now), now), now)
        assert not outlook.unrenderable
        readings = self.pusher.read(list(self.servers))
        assert not readings.failures, readings.failures
        wanted = {name: outlook.wanted[name] for name in self.servers}
        prepared = self.pusher.prepare(wanted, readings.by_device, now)
        assert prepared is not None
        return self.pusher.archive.write(prepared)


def serve(folder: Path) -> None:
    """The servers until SIGTERM; writes then whether each runs what it ran at first."""
    requirements.ensure_for("a NETCONF server", control.quiet)
    with ExitStack() as stack:
        # netconfd's socket needs a short path.
        short = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slotcar-")))
        servers = {name: Server(short / name) for name in NAMES}
        for server in servers.values():
            stack.callback(server.stop)
            server.start()
        world = NetconfWorld(servers, folder)
        before = world.running()
        (folder / "revision").write_text(str(world.revision()))
        (folder / "peers.json").write_text(json.dumps({name: server.variables for name, server in servers.items()}))

        def different() -> list[str]:
            after = world.running()
            changed = [name for name in servers if after[name] != before[name]]
            for name in changed:
                sys.stderr.write(f"{name}: at first\n{before[name]}\nand at last\n{after[name]}\n")
            return changed

        detached.serve_until_stopped(folder, different)


if __name__ == "__main__":
    detached.main("tests.support.netconf_world", serve)
