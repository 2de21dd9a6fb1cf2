"""Configurations of all devices, as a function of what is active and of the instant; remembers, so that a turn is cheap."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from slotcar.book.model import Entry
from slotcar.book.timeline import Active
from slotcar.network.model import Network, Sls
from slotcar.network.shaping import devices_of
from slotcar.platforms import renderer_of
from slotcar.platforms.intent import QosIntent, intents_at
from slotcar.platforms.model import Configuration, Unrenderable


@dataclass(frozen=True, slots=True)
class _Rendered:
    """The configurations of one set of reservations and SLSs; never changed."""

    active: Mapping[int, Active]
    at: datetime
    sls: Mapping[str, Sls]
    configurations: Mapping[str, Configuration]
    unrenderable: Mapping[str, str]


@dataclass(slots=True)
class Rendering:
    """Renders intents and keeps the last one of each device, so that the same one again costs nothing."""

    network: Network
    _last: dict[str, tuple[QosIntent, Configuration]] = field(default_factory=dict)

    def __call__(self, intents: Mapping[str, QosIntent]) -> tuple[dict[str, Configuration], dict[str, str]]:
        """Each device's configuration, and for those without one the reason."""
        configurations: dict[str, Configuration] = {}
        unrenderable: dict[str, str] = {}
        for name, intent in intents.items():
            device = self.network.devices[name]
            last = self._last.get(name)
            try:
                if last is None or last[0] != intent:
                    last = self._last[name] = intent, renderer_of(device).configuration(intent, device)
                configurations[name] = last[1]
            except Unrenderable as error:
                unrenderable[name] = str(error)
        return configurations, unrenderable


@dataclass(slots=True)
class Configuring:
    """Asked for one instant after another: most boundaries leave most devices as they are, and only those that are on
    the path of a reservation which comes, goes or changes are computed again.

    A pure function: what it remembers shows in its speed alone.
    """

    network: Network
    _last_answer: _Rendered | None = None
    _rendering: Rendering = field(init=False)

    def __post_init__(self) -> None:
        self._rendering = Rendering(self.network)

    def __call__(self, active: Sequence[Active], at: datetime) -> tuple[dict[str, Configuration], dict[str, str]]:
        """Each device's configuration, and for those without one the reason."""
        last, sls = self._last_answer, self.network.sls
        by_number = {one.entry.number: one for one in active}
        if last is None:
            configurations, unrenderable = self._rendering(intents_at(active, self.network, at))
        else:
            touched = touched_devices(last.active, by_number) | devices_of_slss_between(self.network, last.at, at)
            touched |= devices_of_changed_slss(self.network, last.sls, sls)
            concerned = [one for one in active if touched & one.entry.devices] if touched else []
            intents = intents_at(concerned, self.network, at, touched)
            new, newly = self._rendering(intents)
            configurations = {name: one for name, one in last.configurations.items() if name not in intents} | new
            unrenderable = {name: why for name, why in last.unrenderable.items() if name not in intents} | newly
        self._last_answer = _Rendered(by_number, at, sls, configurations, unrenderable)
        return dict(sorted(configurations.items())), dict(sorted(unrenderable.items()))


def touched_devices(before: Mapping[int, Active], after: Mapping[int, Active]) -> set[str]:
    """The devices on the paths of what is active on one side only, or has another form or rate there. Keys: numbers."""
    touched: set[str] = set()
    for number in before.keys() | after.keys():
        old, new = before.get(number), after.get(number)
        if old is None or new is None or old.slot.rates != new.slot.rates or not _same(old.entry, new.entry):
            touched |= {device for one in (old, new) if one is not None for device in one.entry.devices}
    return touched


def _same(old: Entry, new: Entry) -> bool:
    return old is new or old == new


def devices_of_changed_slss(network: Network, before: Mapping[str, Sls], after: Mapping[str, Sls]) -> set[str]:
    """The devices that police or shape by an SLS that came, went or changed: the domains agreed on it meanwhile."""
    if before is after:
        return set()
    changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
    forms = [each[name] for name in changed for each in (before, after) if name in each]
    return {device for sls in forms for device in devices_of(sls, network)}


def devices_of_slss_between(network: Network, before: datetime, after: datetime) -> set[str]:
    """The devices that police or shape by an SLS that is valid at one of the two instants and not at the other."""
    return {
        device
        for sls in network.sls.values()
        if sls.validity is not None and sls.validity.contains(before) is not sls.validity.contains(after)
        for device in devices_of(sls, network)
    }
