"""A router with Junos in software, as the tests of a push want it: an operator's configuration, and how it is reached."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from slotcar.network.model import Device
from slotcar.platforms.juniper_junos.document import port_and_unit
from slotcar_lab.junos import JunosRouter

#: What an operator has on every router, beside its interfaces; it must be there as it was, whatever Slotcar does.
OPERATORS = """
<groups><name>OPERATORS</name><interfaces><interface><name>&lt;et-*&gt;</name><unit><name>&lt;*&gt;</name><family><inet>
  <filter><input><filter-name>BACKBONE-IN</filter-name></input></filter></inet></family></unit></interface></interfaces></groups>
<apply-groups>OPERATORS</apply-groups>
<system><host-name>operators-own</host-name></system>
<class-of-service>
  <forwarding-classes><class><name>VOICE</name><queue-num>7</queue-num></class></forwarding-classes>
  <interfaces><interface><name>ge-9/0/9</name><scheduler-map>VOICE</scheduler-map></interface></interfaces>
  <scheduler-maps><name>VOICE</name><forwarding-class><name>VOICE</name><scheduler>ANY</scheduler></forwarding-class></scheduler-maps>
  <schedulers><name>ANY</name><transmit-rate><remainder/></transmit-rate></schedulers>
</class-of-service>
<firewall>
  <family><inet>
    <filter><name>BACKBONE-IN</name><term><name>ALL</name><then><accept/></then></term></filter>
    <filter><name>EDGE-IN</name><interface-specific/>
      <term><name>SPOOFED</name><from><source-address><name>10.99.0.0/16</name></source-address></from>
        <then><count>spoofed</count><discard/></then></term>
      <term><name>CUSTOMER</name><from><protocol>icmp</protocol></from><then><policer>CUSTOMER</policer></then></term>
      <term><name>ALL</name><then><accept/></then></term></filter>
  </inet></family>
  <policer><name>CUSTOMER</name><if-exceeding><bandwidth-limit>10m</bandwidth-limit><burst-size-limit>625k</burst-size-limit></if-exceeding>
    <then><discard/></then></policer>
</firewall>
"""


def startup(device: Device, more: str = "") -> str:
    """What the router boots with: the operator's own, and the inventory's interfaces, each with its address."""
    units: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for name, interface in device.interfaces.items():
        port, unit = port_and_unit(name, device.name)
        filter_name = device.options.get(f"input_filter:{name}", "")
        attached = f"<filter><input><filter-name>{filter_name}</filter-name></input></filter>" if filter_name else ""
        address = f"<address><name>{interface.address}</name></address>"
        units[port].append((unit, f"<family><inet>{attached}{address}</inet></family>"))
    interfaces = ""
    for port, held in units.items():
        tagged = "<per-unit-scheduler/><vlan-tagging/>" if any(unit for unit, _ in held) else ""
        inner = "".join(f"<unit><name>{unit}</name>{inside}</unit>" for unit, inside in held)
        described = f"<name>{port}</name><description>of the operator's own</description>"
        interfaces += f"<interface>{described}{tagged}{inner}</interface>"
    return f"<configuration>{OPERATORS}<interfaces>{interfaces}</interfaces>{more}</configuration>"


class Emulated:
    """A router for some tests' `Peer`, from `start` to `stop`; options are `JunosRouter`'s."""

    def __init__(self, folder: Path, device: Device, **options: Any) -> None:
        options.setdefault("startup", startup(device))
        self.folder = folder
        self.router = JunosRouter(device.name, **options)
        self.known_hosts = folder / "known_hosts"

    def start(self) -> None:
        self.router.__enter__()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.known_hosts.write_text(self.router.known_hosts)

    def stop(self) -> None:
        self.router.__exit__(None, None, None)

    @property
    def variables(self) -> dict[str, object]:
        """What an inventory says of it."""
        return {
            "ansible_host": self.router.address,
            "ansible_port": self.router.port,
            "ansible_user": self.router.user,
            "ansible_password": self.router.password,
            "slotcar_known_hosts": str(self.known_hosts),
        }
