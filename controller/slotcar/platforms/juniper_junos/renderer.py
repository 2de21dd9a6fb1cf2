"""Juniper Junos by NETCONF: firewall filters with policers on the way in, class of service on the way out.

Objects are printed by templates (`templates/juniper-junos/`) as the elements of Juniper's YANG, and put in order as a tree,
because a router's answer has to be compared with them entry by entry. A configuration is Slotcar's part of
`configuration`, one line an element; a change is the `config` of an `edit-config`, and so is its undo.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slotcar.network.model import Device
from slotcar.platforms.intent.model import EdgeFlow, QosIntent
from slotcar.platforms.juniper_junos.build import wanted
from slotcar.platforms.juniper_junos.change import edit
from slotcar.platforms.juniper_junos.egress import shorter_queues
from slotcar.platforms.juniper_junos.foreign import check_clear, foreign_in
from slotcar.platforms.juniper_junos.forwarding_table import table_doubts
from slotcar.platforms.juniper_junos.ingress import policer
from slotcar.platforms.juniper_junos.running import configuration_in, owned_part, question
from slotcar.platforms.model import Change, Configuration, Hindrance, Unreadable, refused_by
from slotcar.platforms.netconf.question import reply_in
from slotcar.platforms.netconf.tree import Node


class JuniperJunos:
    """Renderer of `juniper-junos`."""

    platform = "juniper-junos"

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        objects = wanted(intent, device)
        return Configuration(device.name, self.platform, objects, approximations=tuple(shorter_queues(intent, device)))

    def policer(self, flow: EdgeFlow, device: Device) -> tuple[int, int]:
        return policer(flow)

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        return (question(),)

    def stored(self, lines: Sequence[str], device: Device) -> Configuration:
        root = configuration_in("\n".join(lines), device.name) if lines else None
        return Configuration(device.name, self.platform, root)

    def running(self, outputs: Mapping[str, str], device: Device, pushed: Sequence[str] = ()) -> Configuration:
        """
        Raises:
            Unreadable: the answer is no reply to `get-config`.
        """
        text = reply_in(outputs)
        if not text.strip():
            raise Unreadable(f"{device.name}: `get-config` gave no reply")
        root = configuration_in(text, device.name)
        return Configuration(device.name, self.platform, owned_part(root), foreign_in(root, device))

    def hindrances(self, before: Configuration, after: Configuration, device: Device) -> tuple[Hindrance, ...]:
        wanted = _root(after)
        refused = refused_by(lambda: check_clear(device, before.foreign, wanted))
        return (*refused, *table_doubts(device.name, before.foreign, wanted))

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        """
        Raises:
            Unrenderable: an operator's statement stands where Slotcar's would go.
        """
        old, new = _root(before), _root(after)
        check_clear(device, before.foreign, new)
        return Change.between(before, after, edit(old, new), edit(new, old))


def _root(configuration: Configuration) -> Node | None:
    assert configuration.objects is None or isinstance(configuration.objects, Node)
    return configuration.objects


RENDERER = JuniperJunos()
