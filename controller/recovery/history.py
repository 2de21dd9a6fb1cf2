"""Which routers carry which reservations, and since when, from the archive alone: the ledger may be dead."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from controller.planning.errors import NotPossible
from controller.rollout.archive import Archive
from controller.rollout.model import Carried

#: More reservations than these are no help to somebody who mistyped one.
NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Before:
    """Where a router goes back to: what it had after `revision`, or (`first`) before it, because none is earlier."""

    revision: str
    first: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """What the archive tells of reservations.

    Attributes:
        of: for each router its revisions, oldest first, each with the reservations that it carried after it, by handle.
    """

    of: Mapping[str, Sequence[tuple[str, Mapping[str, Carried]]]]

    def now(self, device: str) -> Mapping[str, Carried]:
        """What the router carries by its last revision."""
        told = self.of.get(device)
        return told[-1][1] if told else {}

    def find(self, which: str) -> Carried:
        """The reservation of a handle or of `OWNER/NAME` (the latest of that name), as it was told of last.

        Raises:
            NotPossible: the archive tells of none.
        """
        known = dict(sorted(self._told()))
        found = [one for _, one in sorted(known.items()) if which in (one.handle, one.name)]
        if found:
            return found[-1]
        latest = list(dict.fromkeys(one.name for _, one in sorted(known.items(), reverse=True)))
        handles = {one.handle for one in known.values()}
        raise NotPossible(
            f"no push that the archive keeps carried a reservation {which}; {_near(which, latest, handles)}"
        )

    def _told(self) -> Iterator[tuple[tuple[str, str], Carried]]:
        """Every reservation at every revision; keys sort by time."""
        for told in self.of.values():
            for revision, carried in told:
                for handle, one in carried.items():
                    yield (revision, handle), one

    def before(self, asked: Carried) -> dict[str, Before]:
        """For each router that carries the reservation, the last configuration that it had without.

        A router of the path that was not pushed to since the reservation came has not changed by it, and keeps what it
        had last.

        Raises:
            NotPossible: no router carries it any more.
        """
        carriers = {name: self._since(name, asked) for name in asked.devices if asked.handle in self.now(name)}
        if not carriers:
            gone = min(revision for name in asked.devices if (revision := self._gone(name, asked)))
            raise NotPossible(
                f"by the archive no router carries {asked.name} any more: revision {gone} took it away; say with --to"
                " where its routers are to go"
            )
        came = min(self.of[name][place][0] for name, place in carriers.items())
        found = {
            name: Before(self.of[name][place - 1][0]) if place else Before(self.of[name][0][0], first=True)
            for name, place in carriers.items()
        }
        for name in asked.devices:
            told = self.of.get(name, ())
            if name not in carriers and told and told[-1][0] < came:
                found[name] = Before(told[-1][0])
        return found

    def _since(self, device: str, asked: Carried) -> int:
        """The place of the router's first revision of those last ones that all carry the reservation."""
        told = self.of[device]
        place = len(told) - 1
        while place and asked.handle in told[place - 1][1]:
            place -= 1
        return place

    def _gone(self, device: str, asked: Carried) -> str:
        """The first revision of the router after the last that carried the reservation; none where none did."""
        told = self.of.get(device, ())
        places = [place for place, (_, carried) in enumerate(told) if asked.handle in carried]
        return told[places[-1] + 1][0] if places else ""


def history_of(archive: Archive) -> History:
    """
    Raises:
        InvalidInput: a file of the archive cannot be read.
    """
    found: dict[str, list[tuple[str, Mapping[str, Carried]]]] = {}
    for revision in archive.revisions():
        for name, carried in archive.carried_by(revision).items():
            found.setdefault(name, []).append((revision, {one.handle: one for one in carried}))
    return History(found)


def consequences(
    now: Mapping[str, Mapping[str, Carried]], then: Mapping[str, Iterable[Carried]], but: str = ""
) -> tuple[str, ...]:
    """In words, whom else it concerns when routers that carry `now` go back to what was for `then`; `but` is a handle
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
    told = ((lost, "takes away"), (changed, "gives an earlier form of"), (back, "brings back"))
    return tuple(
        f"{verb} {name} on {', '.join(devices)}" for kind, verb in told for name, devices in sorted(kind.items())
    )


def _near(which: str, names: Sequence[str], handles: Collection[str]) -> str:
    if not names:
        return "it tells of no reservation at all; name routers with --device"
    close = get_close_matches(which, [*names, *sorted(handles)], n=NAMES_SHOWN, cutoff=0.6)
    return f"did you mean {' or '.join(close)}?" if close else f"the latest are {', '.join(names[:NAMES_SHOWN])}"
