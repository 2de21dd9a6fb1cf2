"""One boundary: what starts and ends, how far each device is, and one diff in which equal changes stand once. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from slotcar.base.timebase import MICROSECOND
from slotcar.book.crowds import Crowd
from slotcar.book.model import Entry, State
from slotcar.network.model import Network
from slotcar.platforms.intent.flows import first_ingress
from slotcar.rollout.configuring import devices_of_slss_between
from slotcar.views.configurations import DeviceDiff, Differences, transitions
from slotcar_client.wire import documents

#: A body with more lines is shown when it is asked for.
LONGEST_BODY = 400


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines that stand together, with three lines of context; `first_line` counts from 1 in what was there before."""

    first_line: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DiffGroup:
    """Devices whose configuration changes by the very same lines."""

    devices: tuple[str, ...]
    hunks: tuple[Hunk, ...]
    notes: tuple[str, ...] = ()

    @property
    def added(self) -> int:
        return sum(line.startswith("+") for hunk in self.hunks for line in hunk.lines)

    @property
    def removed(self) -> int:
        return sum(line.startswith("-") for hunk in self.hunks for line in hunk.lines)

    @property
    def length(self) -> int:
        return sum(len(hunk.lines) for hunk in self.hunks)


def groups_of(devices: Iterable[DeviceDiff]) -> tuple[DiffGroup, ...]:
    """Groups of devices with equal differences, in the order of the first device of each."""
    devices_of: dict[tuple[tuple[Hunk, ...], tuple[str, ...]], list[str]] = {}
    for one in devices:
        notes = tuple(note.words for note in one.approximations)
        devices_of.setdefault((tuple(hunks_of(one.diff)), notes), []).append(one.device)
    return tuple(DiffGroup(tuple(names), hunks, notes) for (hunks, notes), names in devices_of.items())


def hunks_of(diff: Sequence[str]) -> Iterator[Hunk]:
    """The parts of a unified diff, each behind its `@@ -LINE,COUNT +LINE,COUNT @@`."""
    first, lines = 0, []
    for line in diff:
        if not line.startswith("@@"):
            lines.append(line)
            continue
        if lines:
            yield Hunk(first, tuple(lines))
        first, lines = int(line.split()[1].removeprefix("-").partition(",")[0]), []
    if lines:
        yield Hunk(first, tuple(lines))


def devices_changing(entries: Iterable[Entry], network: Network, at: datetime) -> set[str]:
    """The devices that can change at an instant: on the path of what begins, ends or changes its rate there, and those
    with an SLS that does."""
    changing = (one for one in entries if any(at in tuple(slot) for slot in one.reservation.slots))
    return {device for one in changing for device in one.devices} | devices_of_slss_between(
        network, at - MICROSECOND, at
    )


def entering(crowds: Iterable[Crowd], network: Network, devices: Collection[str]) -> tuple[list[int], list[Crowd]]:
    """The numbers of those in crowds that enter at one of the devices, which are configured for each of them; and the other
    crowds."""
    numbers: list[int] = []
    others = []
    for one in crowds:
        ingresses = [first_ingress(path, network) for path in one.paths]
        if any(ingress is not None and ingress.device in devices for ingress in ingresses):
            numbers.extend(one.numbers)
        else:
            others.append(one)
    return sorted(numbers), others


def differences_at(
    entries: Sequence[Entry], differences: Differences, at: datetime, crowds: Sequence[Crowd] = ()
) -> tuple[DeviceDiff, ...]:
    """What changes at an instant, as the ledger says today what was or will be in force then.

    Args:
        crowds: what is in force beside the entries and enters at none of `devices_changing`.

    Raises:
        Unrenderable.
    """
    then = [one for one in (_as_of(entry, at) for entry in entries) if one is not None]
    return next((boundary.devices for boundary in transitions(then, [at], differences, crowds)), ())


def _as_of(entry: Entry, at: datetime) -> Entry | None:
    """The entry as a committed one where it was in force before `at`: an ended one was, a cancelled one until it was."""
    if entry.state is State.COMMITTED:
        return entry
    in_force = entry.state is State.ENDED or (entry.state is State.CANCELLED and at - MICROSECOND < entry.changed_at)
    return replace(entry, state=State.COMMITTED) if in_force else None


def groups_document(groups: Sequence[DiffGroup], whole: bool = True) -> list[documents.DiffGroup]:
    """The documents of groups. Without `whole`, a body above `LONGEST_BODY` lines is left out, and its length is said."""
    return [
        {
            "devices": list(group.devices),
            "added": group.added,
            "removed": group.removed,
            "lines": group.length,
            "notes": list(group.notes),
            "hunks": [{"first_line": hunk.first_line, "lines": list(hunk.lines)} for hunk in group.hunks]
            if whole or group.length <= LONGEST_BODY
            else [],
        }
        for group in groups
    ]
