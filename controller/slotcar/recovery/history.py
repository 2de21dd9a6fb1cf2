"""Which routers carry which reservations, and since when, from the archive alone: the ledger may be dead."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import get_close_matches

from slotcar.planning.errors import NotPossible
from slotcar.rollout.archive import Archive
from slotcar.rollout.device_folder import DeviceFolder, FolderUnreadable
from slotcar.rollout.holding import Removal
from slotcar.rollout.model import ConfiguredReservation

#: A revision, or a look, and the reservations by handle that its router was configured for after it.
Step = tuple[str, Mapping[str, ConfiguredReservation]]
#: More reservations than these are no help to somebody who mistyped one.
NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Before:
    """Where a router goes back to: what it had after `revision`, or (`first`) before it, because none is earlier."""

    revision: str
    first: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """What the archive knows of reservations.

    Attributes:
        of: for each router its revisions, oldest first.
        later_looks: for each router that was last seen to have what no revision of this archive gave it, that look: another
            controller pushed it, or this one did after the backup that it was restored from. Nobody can go back to a look.
    """

    of: Mapping[str, Sequence[Step]]
    later_looks: Mapping[str, Step] = field(default_factory=dict)

    def _steps(self, device: str) -> Sequence[Step]:
        look = (self.later_looks[device],) if device in self.later_looks else ()
        return (*self.of.get(device, ()), *look)

    def now(self, device: str) -> Mapping[str, ConfiguredReservation]:
        """What the router carries by its last revision, or as it was seen since."""
        steps = self._steps(device)
        return steps[-1][1] if steps else {}

    def carriers(self, reservation: ConfiguredReservation) -> Sequence[str]:
        """The routers of its path that carry it."""
        return [name for name in reservation.devices if reservation.handle in self.now(name)]

    def find(self, which: str) -> ConfiguredReservation:
        """The reservation of a handle or of `OWNER/NAME` (the latest of that name), as its last revision has it.

        Raises:
            NotPossible: the archive knows of none.
        """
        reservations_by_key = dict(sorted(self._by_revision()))
        named = [one for _, one in sorted(reservations_by_key.items()) if which in (one.handle, one.name)]
        if named:
            return named[-1]
        latest = list(dict.fromkeys(one.name for _, one in sorted(reservations_by_key.items(), reverse=True)))
        handles = {one.handle for one in reservations_by_key.values()}
        raise NotPossible(
            f"no push that the archive keeps configured a reservation {which}; {_near(which, latest, handles)}"
        )

    def last_versions(self) -> dict[str, int]:
        """By handle, the last form that is known of each reservation."""
        versions: dict[str, int] = {}
        for _, one in self._by_revision():
            versions[one.handle] = max(one.version, versions.get(one.handle, 0))
        return versions

    def _by_revision(self) -> Iterator[tuple[tuple[str, str], ConfiguredReservation]]:
        """Every reservation at every revision; keys sort by time."""
        for device in {**self.of, **self.later_looks}:
            for revision, by_handle in self._steps(device):
                for handle, one in by_handle.items():
                    yield (revision, handle), one

    def before(self, reservation: ConfiguredReservation) -> dict[str, Before]:
        """For each router that carries the reservation, the last configuration that it had without; of one that was only
        ever seen with it the archive knows none.

        A router of the path that was not pushed to since the reservation came has not changed by it, and keeps what it
        had last.

        Raises:
            NotPossible: no router carries it any more.
        """
        places = {name: self._since(name, reservation) for name in self.carriers(reservation)}
        if not places:
            raise NotPossible(
                f"by the archive no router carries {reservation.name} any more: {self._removal(reservation)}; say with"
                " --to where its routers are to go"
            )
        first = min(self._steps(name)[place][0] for name, place in places.items())
        targets = {
            name: Before(revisions[place - 1][0]) if place else Before(revisions[0][0], first=True)
            for name, place in places.items()
            if (revisions := self.of.get(name))
        }
        for name in reservation.devices:
            steps = self._steps(name)
            if name not in places and name not in self.later_looks and steps and steps[-1][0] < first:
                targets[name] = Before(steps[-1][0])
        return targets

    def _since(self, device: str, reservation: ConfiguredReservation) -> int:
        """The place of the router's first step of those last ones that all carry the reservation."""
        steps = self._steps(device)
        place = len(steps) - 1
        while place and reservation.handle in steps[place - 1][1]:
            place -= 1
        return place

    def _removal(self, reservation: ConfiguredReservation) -> str:
        """What took it away, in words."""
        step = min(one for name in reservation.devices if (one := self._removed_in(name, reservation)))
        if step in {look for look, _ in self.later_looks.values()}:
            return "they were seen without it since"
        return f"revision {step} took it away"

    def _removed_in(self, device: str, reservation: ConfiguredReservation) -> str:
        """The first step of the router after the last with the reservation; none where none has it."""
        steps = self._steps(device)
        places = [place for place, (_, by_handle) in enumerate(steps) if reservation.handle in by_handle]
        return steps[places[-1] + 1][0] if places else ""


def history_of(archive: Archive) -> History:
    """
    Raises:
        InvalidInput: a file of the archive cannot be read.
    """
    revisions: dict[str, list[Step]] = {}
    for revision in archive.revisions():
        for name, some in archive.reservations_of(revision).items():
            revisions.setdefault(name, []).append((revision, {one.handle: one for one in some}))
    looks = _good_now(archive).items()
    later_looks = {name: look for name, look in looks if name not in revisions or revisions[name][-1][0] < look[0]}
    return History(revisions, later_looks)


def _good_now(archive: Archive) -> dict[str, Step]:
    """Each router's last push that was verified, or last look that was kept: that is none of the archive's revisions.
    Without the routers whose files are broken."""
    good_by_device: dict[str, Step] = {}
    for folder in sorted(archive.known_good.glob("[!.]*")):
        with suppress(FolderUnreadable):
            good = DeviceFolder(folder)
            good_by_device[good.name] = good.program().revision, {one.handle: one for one in good.reservations()}
    return good_by_device


def taken_from(now: Mapping[str, ConfiguredReservation], then: Iterable[ConfiguredReservation]) -> tuple[str, ...]:
    """The handles of what a router loses, or has in another form, that was configured for `now` and is for `then`."""
    kept = {(one.handle, one.version) for one in then}
    return tuple(sorted(handle for handle, one in now.items() if (handle, one.version) not in kept))


def removal(
    now: Mapping[str, ConfiguredReservation], then: Collection[ConfiguredReservation], versions: Mapping[str, int]
) -> Removal:
    """What becomes of a router's reservations that was configured for `now` and is for `then`.

    Args:
        versions: `History.last_versions`.
    """
    as_last_known = sorted(one.handle for one in then if one.version >= versions.get(one.handle, 0))
    return Removal(taken_from(now, then), tuple(as_last_known))


def taken_with(archive: Archive, revision: str, before: History, names: Iterable[str]) -> dict[str, Removal]:
    """By router, what it lost when this revision was taken back, also where that is done a second time.

    Args:
        before: as it was until then.

    Raises:
        InvalidInput: a file of the archive cannot be read.
    """
    whole, after = archive.reservations_of(revision), history_of(archive)
    versions = after.last_versions()
    return {
        name: removal(
            {one.handle: one for one in whole.get(name, ())} | dict(before.now(name)),
            after.now(name).values(),
            versions,
        )
        for name in names
    }


def consequences(
    now: Mapping[str, Mapping[str, ConfiguredReservation]],
    then: Mapping[str, Iterable[ConfiguredReservation]],
    but: str = "",
) -> tuple[str, ...]:
    """In words, whom else it concerns when routers configured for `now` go back to what was for `then`; `but` is a handle
    that is known to go."""
    lost: dict[str, list[str]] = {}
    changed: dict[str, list[str]] = {}
    back: dict[str, list[str]] = {}
    for device, goal in sorted(then.items()):
        wanted, has = {one.handle: one for one in goal}, now.get(device, {})
        for handle, one in sorted({**has, **wanted}.items(), key=lambda item: item[1].name):
            if handle == but or (handle in has and handle in wanted and has[handle].version == wanted[handle].version):
                continue
            kind = back if handle not in has else lost if handle not in wanted else changed
            kind.setdefault(one.name, []).append(device)
    kinds = ((lost, "takes away"), (changed, "gives an earlier form of"), (back, "brings back"))
    return tuple(
        f"{verb} {name} on {', '.join(devices)}" for kind, verb in kinds for name, devices in sorted(kind.items())
    )


def _near(which: str, names: Sequence[str], handles: Collection[str]) -> str:
    if not names:
        return "it tells of no reservation at all; name routers with --device"
    close = get_close_matches(which, [*names, *sorted(handles)], n=NAMES_SHOWN, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"the latest are {', '.join(names[:NAMES_SHOWN])}"
