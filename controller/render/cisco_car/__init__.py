"""Cisco 7500 with CAR and ToS-based WFQ, as GARA used it (GARA §4.2, §5.1). IOS knows no DSCP there: precedence only."""

from __future__ import annotations

from collections.abc import Mapping

from controller.intent.model import QosIntent
from controller.network.model import Device
from controller.render.cisco_car.build import lines_of
from controller.render.cisco_car.change import change_lines
from controller.render.cisco_car.running import SHOW, owned_lines
from controller.render.model import Change, Configuration, Unreadable, Unrenderable
from controller.vocabulary import Platform


class CiscoCar:
    """Renderer of `cisco-car`."""

    platform = Platform.CISCO_CAR

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        return Configuration(device.name, self.platform, lines_of(intent, device))

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
            Unrenderable: an interface's output is served in an operator's way.
        """
        _check_clear(before, after)
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


def _check_clear(before: Configuration, after: Configuration) -> None:
    """Slotcar never takes another's queueing away: `fair-queue tos` would, and its undo would not give it back."""
    queued, name = set(), ""
    for line in after.lines:
        name = line.removeprefix("interface ") if line.startswith("interface ") else name
        if line == " fair-queue tos":
            queued.add(name)
    for note in before.foreign:
        name, _, what = note.partition(": the queueing ")
        if what and name in queued:
            raise Unrenderable(
                f"{before.device}: {name} has {what}, which is not Slotcar's;"
                " take it away, or leave this interface out of the inventory"
            )
