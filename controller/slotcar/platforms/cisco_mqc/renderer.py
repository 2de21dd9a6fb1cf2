"""Cisco IOS from 12.2 on and IOS-XE, with the modular QoS command line (MQC).

Everything that Slotcar writes has a name that begins with `SLOTCAR-`: a list and a class map for each flow
(`SLOTCAR-F12`), class maps by code point (`SLOTCAR-EF`, `-AF1`, `-AF11`, `-QBSS`), a policy map for each interface and
direction (`SLOTCAR-IN-…`, `SLOTCAR-OUT-…`, `SLOTCAR-SHAPE-…`). Inside an ingress policy stand flows, the most specific
first, then the standing classes by code point; `controller/slotcar/platforms/ios/change.py` says why a flow that comes or
goes detaches nothing and moves no other flow. Where an operator's policy stands on an interface, Slotcar refuses:
nesting one policy in another would change what both mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slotcar.intent.model import QosIntent
from slotcar.network.model import Device
from slotcar.platforms.ios.change import change_lines
from slotcar.platforms.ios.configuration import Ios, ios_of
from slotcar.platforms.ios.foreign import check_clear, foreign_in
from slotcar.platforms.ios.modular import owned_of
from slotcar.platforms.ios.reading import SHOW, configuration_of, owned_in
from slotcar.platforms.ios.tree import parse
from slotcar.platforms.model import Change, Configuration


class CiscoMqc:
    """Renderer of `cisco-mqc`."""

    platform = "cisco-mqc"

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        return Configuration(device.name, self.platform, owned_of(intent, device))

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        return (SHOW,)

    def stored(self, lines: Sequence[str], device: Device) -> Configuration:
        return Configuration(device.name, self.platform, owned_in(parse("\n".join(lines))))

    def running(self, outputs: Mapping[str, str], device: Device) -> Configuration:
        """
        Raises:
            Unreadable: the answer holds no configuration.
        """
        nodes = configuration_of(outputs.get(SHOW, ""), device.name)
        return Configuration(device.name, self.platform, owned_in(nodes), foreign_in(nodes, device.interfaces))

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        """
        Raises:
            Unrenderable: an operator's policy or queueing stands where Slotcar's would go.
        """
        old, new = ios_of(before), ios_of(after)
        check_clear(device.name, before.foreign, new)
        return Change.between(before, after, change_lines(old, new), change_lines(new, old))

    def purge(self, device: Device, running: Configuration) -> tuple[str, ...]:
        return change_lines(ios_of(running), Ios())


RENDERER = CiscoMqc()
