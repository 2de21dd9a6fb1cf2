"""Cisco IOS-XE by NETCONF, in Cisco's native models: what `cisco-mqc` says in lines, said in XML.

The objects, their names, numbers, limits and order are those of IOS's modular QoS
(`controller/slotcar/platforms/ios/modular.py`); `native` has one place for each of IOS's statements, and this package
knows which. It builds elements instead of filling text templates: they must be compared with what a device has, entry
by entry, and written with namespaces and escapes, which a tree does by itself and a template cannot do without
computing.

A configuration is the owned subtree of `native`, one line an element. A change is the `config` of an `edit-config`, and so
is its undo.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slotcar.network.model import Device
from slotcar.platforms.cisco_iosxe_netconf.change import edit
from slotcar.platforms.cisco_iosxe_netconf.native import native_of
from slotcar.platforms.cisco_iosxe_netconf.running import (
    attached_in,
    doubts_in,
    foreign_in,
    native_in,
    owned_part,
    question,
)
from slotcar.platforms.cisco_iosxe_netconf.tree import Node
from slotcar.platforms.intent.model import EdgeFlow, QosIntent
from slotcar.platforms.ios.foreign import check_clear
from slotcar.platforms.ios.modular import approximations_of, owned_of, policer
from slotcar.platforms.model import Change, Configuration, Hindrance, Unreadable, refused_by
from slotcar.platforms.netconf.question import reply_in


class CiscoIosxeNetconf:
    """Renderer of `cisco-iosxe-netconf`."""

    platform = "cisco-iosxe-netconf"

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        native = native_of(owned_of(intent, device), device.name)
        return Configuration(device.name, self.platform, native, approximations=approximations_of(intent, device))

    def policer(self, flow: EdgeFlow, device: Device) -> tuple[int, int]:
        return policer(flow, device)

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        return (question(),)

    def stored(self, lines: Sequence[str], device: Device) -> Configuration:
        return Configuration(device.name, self.platform, native_in("\n".join(lines), device.name) if lines else None)

    def running(self, outputs: Mapping[str, str], device: Device, pushed: Sequence[str] = ()) -> Configuration:
        """
        Raises:
            Unreadable: the answer is no reply to `get-config`.
        """
        text = reply_in(outputs)
        if not text.strip():
            raise Unreadable(f"{device.name}: `get-config` gave no reply")
        native = native_in(text, device.name)
        return Configuration(device.name, self.platform, owned_part(native), foreign_in(native, device.interfaces))

    def hindrances(self, before: Configuration, after: Configuration, device: Device) -> tuple[Hindrance, ...]:
        wanted = attached_in(_native(after))
        refused = refused_by(lambda: check_clear(device.name, before.foreign, wanted))
        doubts = (Hindrance(words, certain=False) for words in doubts_in(device.name, before.foreign, wanted))
        return (*refused, *doubts)

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        """
        Raises:
            Unrenderable: an operator's policy or queueing stands where Slotcar's would go.
        """
        old, new = _native(before), _native(after)
        check_clear(device.name, before.foreign, attached_in(new))
        return Change.between(before, after, edit(old, new), edit(new, old))


def _native(configuration: Configuration) -> Node | None:
    assert configuration.objects is None or isinstance(configuration.objects, Node)
    return configuration.objects


RENDERER = CiscoIosxeNetconf()
