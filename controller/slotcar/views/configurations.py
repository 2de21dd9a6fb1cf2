"""The wanted configuration of every device at an instant, and how it changes at the boundaries. Pure."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain

from slotcar.base.timebase import MICROSECOND, Window
from slotcar.book.crowds import Crowd
from slotcar.book.model import Entry
from slotcar.book.shares import BackgroundShares
from slotcar.book.timeline import Active, active_at
from slotcar.network.model import Network
from slotcar.platforms import renderer_of
from slotcar.platforms.intent import intents_at
from slotcar.platforms.intent.egress import Load, load_of_crowds
from slotcar.platforms.model import Approximation, Configuration, Unrenderable
from slotcar.rollout.configuring import Rendering, devices_of_slss_between, touched_devices
from slotcar.views.bursts import burst_notes
from slotcar.views.devices import named_devices


@dataclass(frozen=True, slots=True)
class DeviceDiff:
    """How one device's owned configuration changes at a boundary."""

    device: str
    before: Configuration
    after: Configuration
    #: What the platform does otherwise than it should; in a plan, what is at no earlier boundary that changes the device.
    approximations: tuple[Approximation, ...] = ()

    @property
    def diff(self) -> tuple[str, ...]:
        """A unified diff, three lines of context, without the two lines that name files."""
        return tuple(difflib.unified_diff(self.before.lines, self.after.lines, lineterm="", n=3))[2:]


@dataclass(frozen=True, slots=True)
class Boundary:
    """An instant at which some device's wanted configuration changes.

    Attributes:
        approximations: of all devices that what changes crosses, also of those whose lines stay as they are.
        after: what each of these is to have from then on.
    """

    at: datetime
    devices: tuple[DeviceDiff, ...]
    approximations: tuple[Approximation, ...] = ()
    after: Mapping[str, Configuration] = field(default_factory=dict, compare=False, repr=False)


def configurations_at(
    entries: Iterable[Entry], network: Network, at: datetime, devices: Collection[str] | None = None
) -> dict[str, Configuration]:
    """Each device's configuration at `at` (of `devices` only, where given).

    Raises:
        NoSuchDevice: `devices` names one that the inventory has not. Unrenderable: see the renderer.
    """
    chosen = set(named_devices(network, devices))
    entries = BackgroundShares(network)(entries, Window(at, at + MICROSECOND))
    intents = intents_at(active_at(entries, at), network, at)
    return {
        name: renderer_of(network.devices[name]).configuration(intent, network.devices[name])
        for name, intent in sorted(intents.items())
        if name in chosen
    }


@dataclass(slots=True)
class Differences:
    """What of the devices' configurations differs between two instants, or between two states of the ledger.

    Only devices are rendered that can differ: those on the path of a reservation that is active on one side only, was
    changed or has another rate, and those with an SLS that is valid on one side only. All others have the same intent on
    both sides.
    """

    network: Network
    _rendering: Rendering = field(init=False)

    def __post_init__(self) -> None:
        self._rendering = Rendering(self.network)

    def between(
        self,
        before: Sequence[Active],
        before_at: datetime,
        after: Sequence[Active],
        after_at: datetime,
        crowds: Iterable[Crowd] = (),
    ) -> Boundary:
        """The devices that differ, by name, and how all that can differ approximate what they are to do afterwards.

        Args:
            crowds: of what is active on both sides beside these, what enters at none of the devices that can differ.

        Raises:
            Unrenderable: of a device that can differ, its platform cannot express one of the two sides.
        """
        old, new = ({one.entry.number: one for one in side} for side in (before, after))
        touched = touched_devices(old, new) | devices_of_slss_between(self.network, before_at, after_at)
        if not touched:
            return Boundary(after_at, ())
        beside = load_of_crowds(crowds, self.network, touched)
        was, will = (self._render(side, at, touched, beside) for side, at in ((before, before_at), (after, after_at)))
        bursts = burst_notes(after, self.network)
        notes = {name: (*will[name].approximations, *bursts.get(name, ())) for name in sorted(will)}
        diffs = (DeviceDiff(name, was[name], will[name], notes[name]) for name in notes)
        return Boundary(
            after_at,
            tuple(one for one in diffs if one.before.lines != one.after.lines),
            tuple(chain.from_iterable(notes.values())),
            will,
        )

    def _render(
        self, active: Sequence[Active], at: datetime, devices: Collection[str], beside: Load
    ) -> dict[str, Configuration]:
        concerned = [one for one in active if not one.entry.devices.isdisjoint(devices)]
        configurations, unrenderable = self._rendering(intents_at(concerned, self.network, at, devices, beside))
        if unrenderable:
            raise Unrenderable(unrenderable[min(unrenderable)])
        return configurations


def transitions(
    entries: Sequence[Entry], times: Iterable[datetime], differences: Differences, crowds: Sequence[Crowd] = ()
) -> Iterator[Boundary]:
    """What changes at each of `times`: the configuration an instant before against the one from then on. Also where no
    line changes and there is something to say of the devices on the path.

    Args:
        crowds: as of `Differences.between`, of each of the times.

    Raises:
        Unrenderable: see `Differences.between`.
    """
    wanted = set(times)
    changing: dict[datetime, list[Entry]] = defaultdict(list)
    crossing: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        for device in entry.devices:
            crossing[device].append(entry)
        for at in wanted.intersection(instant for slot in entry.reservation.slots for instant in slot):
            changing[at].append(entry)
    for at in sorted(wanted):
        devices = {device for entry in changing[at] for device in entry.devices}
        devices |= devices_of_slss_between(differences.network, at - MICROSECOND, at)
        near = {entry.number: entry for device in devices for entry in crossing[device]}.values()
        before, after = active_at(near, at - MICROSECOND), active_at(near, at)
        boundary = differences.between(before, at - MICROSECOND, after, at, crowds)
        if boundary.devices or boundary.approximations:
            yield boundary


def with_notes_once(boundaries: Iterable[Boundary]) -> tuple[Boundary, ...]:
    """The boundaries; of their devices' approximations each aspect at the first boundary that changes the device."""
    aspects_before: set[tuple[str, str]] = set()
    shortened = []
    for boundary in boundaries:
        devices = []
        for one in boundary.devices:
            new = tuple(note for note in one.approximations if (one.device, note.aspect) not in aspects_before)
            aspects_before |= {(one.device, note.aspect) for note in new}
            devices.append(replace(one, approximations=new))
        shortened.append(replace(boundary, devices=tuple(devices)))
    return tuple(shortened)
