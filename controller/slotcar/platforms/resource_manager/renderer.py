"""Places of resource managers: what each reservation has of one, as a line; call-outs make it so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slotcar.base.texts import lines_of
from slotcar.network.model import Device
from slotcar.platforms.allocations import Allocations, change_lines, read_allocations
from slotcar.platforms.intent.model import EdgeFlow, QosIntent
from slotcar.platforms.model import Change, Configuration, Hindrance, Unreadable, Unrenderable

#: What a reading asks: every manager of the place what it has.
READ = "read"


class ResourceManagers:
    """Renderer of `resource-manager`."""

    platform = "resource-manager"

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        return Configuration(device.name, self.platform, Allocations(intent.allocations))

    def policer(self, flow: EdgeFlow, device: Device) -> tuple[int, int]:
        raise Unrenderable(f"{device.name}: {self.platform} polices no flow")

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        return (READ,)

    def stored(self, lines: Sequence[str], device: Device) -> Configuration:
        return Configuration(device.name, self.platform, read_allocations(lines))

    def running(self, outputs: Mapping[str, str], device: Device, pushed: Sequence[str] = ()) -> Configuration:
        """
        Raises:
            Unreadable: the managers gave no answer, or one that is no allocation.
        """
        if READ not in outputs:
            raise Unreadable(f"{device.name}: no answer to {READ}")
        return self.stored(lines_of(outputs[READ]), device)

    def hindrances(self, before: Configuration, after: Configuration, device: Device) -> tuple[Hindrance, ...]:
        return ()

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        old, new = _allocations(before), _allocations(after)
        return Change.between(before, after, change_lines(old, new), change_lines(new, old))


def _allocations(configuration: Configuration) -> Allocations:
    assert configuration.objects is None or isinstance(configuration.objects, Allocations)
    return configuration.objects or Allocations()


RENDERER = ResourceManagers()
