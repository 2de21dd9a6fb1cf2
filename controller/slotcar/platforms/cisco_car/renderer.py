"""Cisco 7500 with CAR and ToS-based WFQ, as GARA used it (GARA §4.2, §5.1). IOS knows no DSCP there: precedence only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slotcar.intent.model import QosIntent
from slotcar.network.model import Device
from slotcar.platforms.cisco_car.build import approximations, owned_of
from slotcar.platforms.cisco_car.change import change_lines
from slotcar.platforms.cisco_car.running import owned_in
from slotcar.platforms.ios.configuration import Ios, ios_of
from slotcar.platforms.ios.reading import SHOW, configuration_of
from slotcar.platforms.ios.tree import parse
from slotcar.platforms.model import Change, Configuration, Unrenderable


class CiscoCar:
    """Renderer of `cisco-car`."""

    platform = "cisco-car"

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        owned, notes = owned_of(intent, device), approximations(intent)
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
            Unrenderable: an interface's output is served in an operator's way.
        """
        old, new = ios_of(before), ios_of(after)
        _check_clear(before, new)
        return Change.between(before, after, change_lines(old, new), change_lines(new, old))

    def purge(self, device: Device, running: Configuration) -> tuple[str, ...]:
        return change_lines(ios_of(running), Ios())


def _check_clear(before: Configuration, after: Ios) -> None:
    """Slotcar never takes another's queueing away: `fair-queue tos` would, and its undo would not give it back."""
    queued = {name for name, one in after.interfaces.items() if one.tos_weights}
    for note in before.foreign:
        name, _, what = note.partition(": the queueing ")
        if what and name in queued:
            raise Unrenderable(
                f"{before.device}: {name} has {what}, which is not Slotcar's;"
                " take it away, or leave this interface out of the inventory"
            )


RENDERER = CiscoCar()
