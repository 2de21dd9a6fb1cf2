"""The wanted configuration of every device at an instant, and how it changes at the boundaries. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from controller.intent import intents_at
from controller.ledger.model import Entry
from controller.network.model import Network
from controller.render import renderer_of
from controller.render.model import Configuration
from controller.timebase import MICROSECOND
from controller.timeline import active_at
from controller.verbs.named import named_devices


@dataclass(frozen=True, slots=True)
class DeviceDiff:
    """How one device's owned configuration changes at a boundary."""

    device: str
    before: Configuration
    after: Configuration

    @property
    def diff(self) -> tuple[str, ...]:
        """A unified diff, three lines of context, without the two lines that name files."""
        return tuple(difflib.unified_diff(self.before.lines, self.after.lines, lineterm="", n=3))[2:]


@dataclass(frozen=True, slots=True)
class Boundary:
    """An instant at which some device's wanted configuration changes."""

    at: datetime
    devices: tuple[DeviceDiff, ...]


def configurations_at(
    entries: Iterable[Entry], network: Network, at: datetime, devices: Collection[str] | None = None
) -> dict[str, Configuration]:
    """Each device's configuration at `at` (of `devices` only, where given).

    Raises:
        NoSuchDevice: `devices` names one that the inventory has not. Unrenderable: see the renderer.
    """
    chosen = set(named_devices(network, devices))
    intents = intents_at(active_at(entries, at), network, at)
    return {
        name: renderer_of(network.devices[name]).configuration(intent, network.devices[name])
        for name, intent in sorted(intents.items())
        if name in chosen
    }


def changes_between(before: dict[str, Configuration], after: dict[str, Configuration]) -> tuple[DeviceDiff, ...]:
    """Devices whose configurations differ, by name."""
    return tuple(
        DeviceDiff(name, before[name], after[name])
        for name in sorted(after)
        if name in before and before[name].lines != after[name].lines
    )


def transitions(
    entries: Sequence[Entry], network: Network, times: Iterable[datetime], devices: Collection[str] | None = None
) -> tuple[Boundary, ...]:
    """What changes at each of `times`: the configuration an instant before against the one from then on."""
    found = []
    for at in times:
        before = configurations_at(entries, network, at - MICROSECOND, devices)
        after = configurations_at(entries, network, at, devices)
        changes = changes_between(before, after)
        if changes:
            found.append(Boundary(at, changes))
    return tuple(found)
