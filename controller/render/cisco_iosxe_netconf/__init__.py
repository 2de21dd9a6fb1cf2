"""Cisco IOS-XE by NETCONF, in Cisco's native models: what `cisco-mqc` says in lines, said in XML.

The objects, their names, numbers, limits and order are those of `controller.render.cisco_mqc`, whose building is used as it
is; `native` has one place for each of IOS's statements, and this package knows which. It builds elements instead of
filling text templates: they must be compared with what a device has, entry by entry, and written with namespaces and
escapes, which a tree does by itself and a template cannot do without computing.

A configuration is the owned subtree of `native`, one line an element. A change is the `config` of an `edit-config`, and so
is its undo.
"""

from __future__ import annotations

from collections.abc import Mapping

from controller.intent.model import QosIntent
from controller.network.model import Device
from controller.render.cisco_iosxe_netconf.change import edit
from controller.render.cisco_iosxe_netconf.native import native_of
from controller.render.cisco_iosxe_netconf.running import attached_in, foreign_in, native_in, owned_part, question
from controller.render.cisco_iosxe_netconf.tree import Node, lines_of
from controller.render.cisco_mqc.build import owned_of
from controller.render.ios.foreign import check_clear
from controller.render.model import Change, Configuration, Unreadable
from controller.vocabulary import Platform


class CiscoIosxeNetconf:
    """Renderer of `cisco-iosxe-netconf`."""

    platform = Platform.CISCO_IOSXE_NETCONF

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        return self._of(device, native_of(owned_of(intent, device), device.name))

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        return (question(),)

    def running(self, outputs: Mapping[str, str], device: Device) -> Configuration:
        """
        Raises:
            Unreadable: the answer is no reply to `get-config`.
        """
        text = outputs.get(question(), "")
        if not text.strip():
            raise Unreadable(f"{device.name}: `get-config` gave no reply")
        native = native_in(text, device.name)
        return self._of(device, owned_part(native), foreign_in(native, device.interfaces))

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        """
        Raises:
            Unrenderable: an operator's policy stands where Slotcar's would go.
        """
        old, new = _read(before), _read(after)
        check_clear(device.name, before.foreign, attached_in(new))
        return Change(
            device=device.name,
            platform=self.platform,
            before=before,
            after=after,
            apply=edit(old, new),
            undo=edit(new, old),
        )

    def purge(self, device: Device, running: Configuration) -> tuple[str, ...]:
        """An edit that takes away everything that is Slotcar's on the device."""
        return edit(_read(running), None)

    def _of(self, device: Device, native: Node | None, foreign: tuple[str, ...] = ()) -> Configuration:
        return Configuration(device.name, self.platform, lines_of(native) if native else (), foreign)


def _read(configuration: Configuration) -> Node | None:
    return native_in(configuration.text, configuration.device) if configuration.lines else None
