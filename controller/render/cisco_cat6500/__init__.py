"""Catalyst 6500 with IOS 12.1E, as DataGRID measured it in its LANs (D7.3 §8.1.1, §8.2): policers of the PFC on ingress,
WRR on egress."""

from __future__ import annotations

from collections.abc import Mapping

from controller.intent.model import QosIntent
from controller.network.model import Device
from controller.render.cisco_cat6500.build import lines_of
from controller.render.cisco_cat6500.change import change_lines
from controller.render.cisco_cat6500.running import SHOW, check_clear, owned_lines
from controller.render.model import Change, Configuration, Unreadable
from controller.vocabulary import Platform


class CiscoCat6500:
    """Renderer of `cisco-cat6500`."""

    platform = Platform.CISCO_CAT6500

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        lines, notes = lines_of(intent, device)
        return Configuration(device.name, self.platform, lines, approximations=notes)

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        return (SHOW,)

    def running(self, outputs: Mapping[str, str], device: Device) -> Configuration:
        """
        Raises:
            Unreadable: the answer holds no configuration.
        """
        text = outputs.get(SHOW, "")
        if "interface" not in text:
            raise Unreadable(f"{device.name}: `{SHOW}` gave no configuration: {text.strip()[:80] or 'nothing'}")
        lines, foreign = owned_lines(text, device)
        return Configuration(device.name, self.platform, lines, foreign)

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        """
        Raises:
            Unrenderable: what an operator set is in the way, or `mls qos` is off.
        """
        check_clear(before, after)
        return Change(
            device=device.name,
            platform=self.platform,
            before=before,
            after=after,
            apply=change_lines(before.lines, after.lines),
            undo=change_lines(after.lines, before.lines),
        )

    def purge(self, device: Device, running: Configuration) -> tuple[str, ...]:
        """Lines that take away everything that is Slotcar's on the device."""
        return change_lines(running.lines, ())
