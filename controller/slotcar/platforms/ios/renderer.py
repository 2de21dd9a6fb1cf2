"""The renderer of every platform whose configuration is IOS's text: one tree of objects, read from one command."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from slotcar.network.model import Device
from slotcar.platforms.intent.model import EdgeFlow, QosIntent
from slotcar.platforms.ios.configuration import Ios, ios_of
from slotcar.platforms.ios.owned_places import OWNS, places_in, with_places
from slotcar.platforms.ios.reading import SHOW, configuration_of
from slotcar.platforms.ios.tree import Node, parse
from slotcar.platforms.model import Approximation, Change, Configuration, Hindrance, refused_by

#: Slotcar's objects, and beside them what of the intent they are not.
Built: TypeAlias = tuple[Ios, tuple[Approximation, ...]]
#: Slotcar's objects, and beside them notes of others'.
Noted: TypeAlias = tuple[Ios, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class IosRenderer:
    """What the platforms do alike; what differs is given to it.

    Attributes:
        build: the objects of an intent, and its approximations. Raises Unrenderable.
        read: Slotcar's objects among a device's lines, and what of others' stands where Slotcar would put its own.
        check_clear: raises Unrenderable where one of these notes of a device, which has these objects, is in the way of the
            wanted ones.
        doubts: what of these notes may keep the wanted objects from their effect, each in whole sentences.
        change_lines: the lines that turn one configuration into another.
        police: the rate and the burst that are told for a flow (`Renderer.policer`).
        read_own: `read` of lines that are all Slotcar's own, as an older Slotcar may have archived them.
    """

    platform: str
    build: Callable[[QosIntent, Device], Built]
    read: Callable[[Sequence[Node], Device], Noted]
    check_clear: Callable[[str, Noted, Ios], None]
    doubts: Callable[[str, Iterable[str], Ios], Iterable[str]]
    change_lines: Callable[[Ios, Ios], tuple[str, ...]]
    police: Callable[[EdgeFlow, Device], tuple[int, int]]
    read_own: Callable[[Sequence[Node], Device], Noted] | None = None

    def configuration(self, intent: QosIntent, device: Device) -> Configuration:
        owned, approximations = self.build(intent, device)
        return Configuration(device.name, self.platform, owned, approximations=approximations)

    def policer(self, flow: EdgeFlow, device: Device) -> tuple[int, int]:
        return self.police(flow, device)

    def readback_commands(self, device: Device) -> tuple[str, ...]:
        return (SHOW,)

    def stored(self, lines: Sequence[str], device: Device) -> Configuration:
        read = self.read_own or self.read
        return Configuration(device.name, self.platform, read(parse("\n".join(lines)), device)[0])

    def running(self, outputs: Mapping[str, str], device: Device, pushed: Sequence[str] = ()) -> Configuration:
        """
        Raises:
            Unreadable: the answer holds no configuration.
        """
        nodes = configuration_of(outputs.get(SHOW, ""), device.name)
        owned, foreign = self.read(nodes, device)
        if places := places_in(self.read(parse("\n".join(pushed)), device)[0]) - places_in(owned):
            present = owned.lists.get(OWNS)
            owned, foreign = self.read(with_places(nodes, places), device)
            if present is None:
                del owned.lists[OWNS]
            else:
                owned.lists[OWNS] = present
        return Configuration(device.name, self.platform, owned, foreign)

    def hindrances(self, before: Configuration, after: Configuration, device: Device) -> tuple[Hindrance, ...]:
        noted, wanted = (ios_of(before), before.foreign), ios_of(after)
        doubts = (Hindrance(words, certain=False) for words in self.doubts(device.name, before.foreign, wanted))
        return (*refused_by(lambda: self.check_clear(device.name, noted, wanted)), *doubts)

    def change(self, before: Configuration, after: Configuration, device: Device) -> Change:
        """
        Raises:
            Unrenderable: what an operator configured stands where Slotcar's would go.
        """
        old, new = ios_of(before), ios_of(after)
        self.check_clear(device.name, (old, before.foreign), new)
        if old == new:
            return Change.between(before, after, (), ())
        return Change.between(before, after, self.change_lines(old, new), self.change_lines(new, old))
