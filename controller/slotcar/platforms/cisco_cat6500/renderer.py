"""Catalyst 6500 with IOS 12.1E, as DataGRID measured it in its LANs (D7.3 §8.1.1, §8.2): policers of the PFC on ingress,
WRR on egress."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slotcar.intent.model import QosIntent
from slotcar.network.model import Device
from slotcar.platforms.cisco_cat6500.build import owned_of
from slotcar.platforms.cisco_cat6500.change import change_lines
from slotcar.platforms.cisco_cat6500.running import check_clear, owned_in
from slotcar.platforms.ios.configuration import Ios, ios_of
from slotcar.platforms.ios.reading import SHOW, configuration_of
from slotcar.platforms.ios.tree import parse
from slotcar.platforms.model import Change, Configuration


class CiscoCat6500:
    """Renderer of `cisco-cat6500`."""

    platform = "cisco-cat6500"

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        owned, notes = owned_of(intent, device)
        return Configuration(device.name, self.platform, owned, approximations=notes)

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        return (SHOW,)

    def stored(self, lines: Sequence[str], device: Device) -> Configuration:
        return Configuration(device.name, self.platform, owned_in(parse("\n".join(lines)), device)[0])

    def running(self, outputs: Mapping[str, str], device: Device) -> Configuration:
        """
        Raises:
            Unreadable: the answer holds no configuration.
        """
        owned, foreign = owned_in(configuration_of(outputs.get(SHOW, ""), device.name), device)
        return Configuration(device.name, self.platform, owned, foreign)

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        """
        Raises:
            Unrenderable: what an operator set is in the way, or `mls qos` is off.
        """
        check_clear(before, after)
        old, new = ios_of(before), ios_of(after)
        return Change.between(before, after, change_lines(old, new), change_lines(new, old))

    def purge(self, device: Device, running: Configuration) -> tuple[str, ...]:
        return change_lines(ios_of(running), Ios())


RENDERER = CiscoCat6500()
