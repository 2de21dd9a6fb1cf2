"""Hosts with cgroup v2: a slice for each group, weighed by its cores; everything else gets a ceiling while it is open.

Cores are a guarantee and no cap: a slice may use what nobody else does. Of disks only the others can be held back, so that
what is reserved is what they are not given.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from functools import cache

from slotcar.base.texts import lines_of
from slotcar.network.model import Device
from slotcar.platforms.intent.model import EdgeFlow, QosIntent
from slotcar.platforms.linux_host.facts import script
from slotcar.platforms.linux_host.objects import HostObjects, change_lines, objects_of, read_lines
from slotcar.platforms.model import Change, Configuration, Hindrance, Unreadable, Unrenderable


@cache
def _show() -> str:
    """The script is not on a host to which nothing was ever pushed."""
    return f"sh -c {shlex.quote(script())} host.sh show"


class LinuxHost:
    """Renderer of `linux-host`."""

    platform = "linux-host"

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        return Configuration(device.name, self.platform, objects_of(intent.allocations, device))

    def policer(self, flow: EdgeFlow, device: Device) -> tuple[int, int]:
        raise Unrenderable(f"{device.name}: {self.platform} polices no flow")

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        return (_show(),)

    def stored(self, lines: Sequence[str], device: Device) -> Configuration:
        objects = read_lines(lines)
        return Configuration(device.name, self.platform, objects, refused=objects.refused)

    def running(self, outputs: Mapping[str, str], device: Device, pushed: Sequence[str] = ()) -> Configuration:
        """
        Raises:
            Unreadable: no answer, or one that is no host's.
        """
        # The revision asked by the script of its own version.
        answer = next((text for command, text in outputs.items() if command.endswith(" host.sh show")), None)
        if answer is None:
            raise Unreadable(f"{device.name}: no answer to host.sh show")
        return self.stored(lines_of(answer), device)

    def hindrances(self, before: Configuration, after: Configuration, device: Device) -> tuple[Hindrance, ...]:
        return ()

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        old, new = _objects(before), _objects(after)
        return Change.between(before, after, change_lines(old, new), change_lines(new, old))


def _objects(configuration: Configuration) -> HostObjects:
    assert configuration.objects is None or isinstance(configuration.objects, HostObjects)
    return configuration.objects or HostObjects()


RENDERER = LinuxHost()
