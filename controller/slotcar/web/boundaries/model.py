"""A boundary as a page shows it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from slotcar.base.timebase import iso
from slotcar.desk.overview import BoundaryView
from slotcar.views.boundary import LONGEST_BODY, DiffGroup
from slotcar.views.phases import Phase
from slotcar.web.words import PHASES, StateMark

#: More names than these hide what a sentence says.
NAMES_SHOWN = 5
#: Devices of one page.
DEVICES_SHOWN = 50


@dataclass(frozen=True, slots=True)
class DeviceRow:
    """Attributes:
    added, removed: lines; None for who may not see configurations.
    anchor: where its diff stands on the page; empty where nothing changes on it.
    """

    device: str
    mark: StateMark
    lag: timedelta | None
    message: str
    added: int | None
    removed: int | None
    anchor: str


@dataclass(frozen=True, slots=True)
class GroupRows:
    """Devices that change alike; `long`: its body is shown when it is asked for.

    Attributes:
        folded: the page has enough lines without it.
    """

    number: int
    group: DiffGroup
    folded: bool = False

    @property
    def long(self) -> bool:
        return self.folded or self.group.length > LONGEST_BODY


@dataclass(frozen=True, slots=True)
class BoundaryRows:
    """A page of a boundary's devices, by name, and the diffs of these.

    Attributes:
        after: the last device of the page before. following: the last one of this page; empty where none comes after it.
    """

    at: datetime
    mark: StateMark
    what: str
    starting: tuple[str, ...]
    ending: tuple[str, ...]
    changing: tuple[str, ...]
    active: int
    devices: tuple[DeviceRow, ...]
    groups: tuple[GroupRows, ...] | None
    after: str = ""
    following: str = ""

    @property
    def address(self) -> str:
        return iso(self.at)


def boundary_rows(view: BoundaryView, after: str = "", most: int = DEVICES_SHOWN) -> BoundaryRows:
    """The first `most` devices after that name."""
    item, groups = view.item, view.groups or ()
    of = {name: (place, group) for place, group in enumerate(groups, 1) for name in group.devices}
    by_device = {one.device: one for one in item.devices} if item else {}
    rows = []
    names = sorted(name for name in {*by_device, *of} if name > after)
    for name in names[:most]:
        place, group = of.get(name, (0, None))
        at_boundary = by_device.get(name)
        rows.append(
            DeviceRow(
                name,
                PHASES[at_boundary.phase if at_boundary else Phase.PLANNED],
                timedelta(microseconds=at_boundary.lag_us) if at_boundary and at_boundary.lag_us is not None else None,
                at_boundary.message if at_boundary else "",
                None if view.groups is None else group.added if group else 0,
                None if view.groups is None else group.removed if group else 0,
                f"diff-{place}" if group else "",
            )
        )
    starting, ending, changing = (item.starting, item.ending, item.changing) if item else ((), (), ())
    return BoundaryRows(
        view.at, PHASES[item.phase if item else Phase.PLANNED], what_happens(starting, ending, changing), starting, ending,
        changing, item.active if item else 0, tuple(rows),
        None if view.groups is None else tuple(_folded(groups, names[:most])), after,
        names[most - 1] if len(names) > most else "",
    )  # fmt: skip


def _folded(groups: Sequence[DiffGroup], devices: Sequence[str]) -> Iterator[GroupRows]:
    """Those with one of the devices, numbered among all; open as long as all that are have `LONGEST_BODY` lines at most."""
    lines = 0
    for place, one in enumerate(groups, 1):
        if set(devices).isdisjoint(one.devices):
            continue
        folded = lines + one.length > LONGEST_BODY
        lines += 0 if folded else one.length
        yield GroupRows(place, one, folded)


def what_happens(starting: Sequence[str], ending: Sequence[str], changing: Sequence[str]) -> str:
    """`hep/cms starts; astro/vlbi ends`, the first few by name."""
    parts = [
        f"{_some(names)} {one if len(names) == 1 else many}"
        for names, one, many in (
            (starting, "starts", "start"),
            (ending, "ends", "end"),
            (changing, "changes", "change"),
        )
        if names
    ]
    return "; ".join(parts) or "No reservation starts or ends"


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMES_SHOWN
    return ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
