"""Which routers carry which reservations, and since when, from the archive alone: the ledger may be dead."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from slotcar.planning.errors import NotPossible
from slotcar.rollout.archive import Archive
from slotcar.rollout.model import ConfiguredReservation

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
        of: for each router its revisions, oldest first, each with the reservations by handle that it was configured for
            after it.
    """

    of: Mapping[str, Sequence[tuple[str, Mapping[str, ConfiguredReservation]]]]

    def now(self, device: str) -> Mapping[str, ConfiguredReservation]:
        """What the router carries by its last revision."""
        revisions = self.of.get(device)
        return revisions[-1][1] if revisions else {}

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

    def _by_revision(self) -> Iterator[tuple[tuple[str, str], ConfiguredReservation]]:
        """Every reservation at every revision; keys sort by time."""
        for revisions in self.of.values():
            for revision, by_handle in revisions:
                for handle, one in by_handle.items():
                    yield (revision, handle), one

    def before(self, reservation: ConfiguredReservation) -> dict[str, Before]:
        """For each router that carries the reservation, the last configuration that it had without.

        A router of the path that was not pushed to since the reservation came has not changed by it, and keeps what it
        had last.

        Raises:
            NotPossible: no router carries it any more.
        """
        carriers = {
            name: self._since(name, reservation)
            for name in reservation.devices
            if reservation.handle in self.now(name)
        }
        if not carriers:
            removal = min(
                revision for name in reservation.devices if (revision := self._removed_in(name, reservation))
            )
            raise NotPossible(
                f"by the archive no router carries {reservation.name} any more: revision {removal} took it away; say with"
                " --to where its routers are to go"
            )
        first = min(self.of[name][place][0] for name, place in carriers.items())
        targets = {
            name: Before(self.of[name][place - 1][0]) if place else Before(self.of[name][0][0], first=True)
            for name, place in carriers.items()
        }
        for name in reservation.devices:
            revisions = self.of.get(name, ())
            if name not in carriers and revisions and revisions[-1][0] < first:
                targets[name] = Before(revisions[-1][0])
        return targets

    def _since(self, device: str, reservation: ConfiguredReservation) -> int:
        """The place of the router's first revision of those last ones that all carry the reservation."""
        revisions = self.of[device]
        place = len(revisions) - 1
        while place and reservation.handle in revisions[place - 1][1]:
            place -= 1
        return place

    def _removed_in(self, device: str, reservation: ConfiguredReservation) -> str:
        """The first revision of the router after the last that configured the reservation; none where none did."""
        revisions = self.of.get(device, ())
        places = [place for place, (_, by_handle) in enumerate(revisions) if reservation.handle in by_handle]
        return revisions[places[-1] + 1][0] if places else ""


def history_of(archive: Archive) -> History:
    """
    Raises:
        InvalidInput: a file of the archive cannot be read.
    """
    revisions: dict[str, list[tuple[str, Mapping[str, ConfiguredReservation]]]] = {}
    for revision in archive.revisions():
        for name, some in archive.reservations_of(revision).items():
            revisions.setdefault(name, []).append((revision, {one.handle: one for one in some}))
    return History(revisions)


def taken_from(now: Mapping[str, ConfiguredReservation], then: Iterable[ConfiguredReservation]) -> tuple[str, ...]:
    """The handles of what a router loses, or has in another form, that was configured for `now` and is for `then`."""
    kept = {(one.handle, one.version) for one in then}
    return tuple(sorted(handle for handle, one in now.items() if (handle, one.version) not in kept))


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
