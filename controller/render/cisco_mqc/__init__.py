"""Cisco IOS from 12.2 on and IOS-XE, with the modular QoS command line (MQC).

Everything that Slotcar writes has a name that begins with `SLOTCAR-`: a list and a class map for each flow
(`SLOTCAR-F12`), class maps by code point (`SLOTCAR-EF`, `-AF1`, `-AF11`, `-QBSS`), a policy map for each interface and
direction (`SLOTCAR-IN-…`, `SLOTCAR-OUT-…`, `SLOTCAR-SHAPE-…`). Inside an ingress policy stand flows, the most specific
first, then the standing classes by code point; `controller.render.ios.change` says why a flow that comes or goes
detaches nothing and moves no other flow. Where an operator's policy stands on an interface, Slotcar refuses: nesting one
policy in another would change what both mean.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.intent.model import QosIntent
from controller.network.model import Device
from controller.render.cisco_mqc.build import owned_of
from controller.render.ios.change import change_lines
from controller.render.ios.foreign import check_clear, foreign_in
from controller.render.ios.owned import lines_of, owned_in, parsed
from controller.render.ios.tree import parse
from controller.render.model import Change, Configuration, Unreadable
from controller.vocabulary import Platform

SHOW = "show running-config"


class CiscoMqc:
    """Renderer of `cisco-mqc`."""

    platform = Platform.CISCO_MQC

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        return Configuration(device.name, self.platform, lines_of(owned_of(intent, device)))

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        return (SHOW,)

    def running(self, outputs: Mapping[str, str], device: Device) -> Configuration:
        """
        Raises:
            Unreadable: the answer holds no configuration.
        """
        text = outputs.get(SHOW, "")
        nodes = parse(text)
        if not any(node.line.startswith("interface ") for node in nodes):
            raise Unreadable(f"{device.name}: `{SHOW}` gave no configuration: {text.strip()[:80] or 'nothing'}")
        return Configuration(
            device.name, self.platform, lines_of(owned_in(nodes)), foreign_in(nodes, device.interfaces)
        )

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        """
        Raises:
            Unrenderable: an operator's policy or queueing stands where Slotcar's would go.
        """
        old, new = parsed(before.lines), parsed(after.lines)
        check_clear(device.name, before.foreign, new)
        return Change(
            device=device.name,
            platform=self.platform,
            before=before,
            after=after,
            apply=change_lines(old, new),
            undo=change_lines(new, old),
        )

    def purge(self, device: Device, running: Configuration) -> tuple[str, ...]:
        """Lines that take away everything that is Slotcar's on the device."""
        return change_lines(parsed(running.lines), parsed(()))
