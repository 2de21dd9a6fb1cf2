"""Reservation files as a declarative source: what they want, and what they speak for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from controller.network.model import Network
from controller.path import NoPath, find_paths
from controller.planning.matching import Scope
from controller.reservation import load_files
from controller.reservation.model import Reservation

#: Read twice, this far apart: a start that moved along is relative to now.
_PROBE = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Source:
    """Attributes:
    relative: keys of reservations whose start the files give relative to now.
    """

    reservations: tuple[Reservation, ...]
    scope: Scope
    relative: frozenset[tuple[str, str]] = frozenset()


def read_source(
    paths: Sequence[Path],
    now: datetime,
    network: Network,
    set_name: str | None = None,
    owners: Iterable[str] = (),
) -> Source:
    """
    Raises:
        InvalidInput: anything in any file is wrong, or names what the network has not; all of it is listed.
    """
    wanted = load_files(paths, now, lambda reservation: _no_path(reservation, network))
    later = {reservation.key: reservation.slots for reservation in load_files(paths, now + _PROBE)}
    relative = frozenset(r.key for r in wanted if later.get(r.key) != r.slots)
    return source_of(wanted, set_name or default_set_name(paths), owners, relative)


def _no_path(reservation: Reservation, network: Network) -> Iterator[tuple[str, str]]:
    try:
        find_paths(reservation, network)
    except NoPath as error:
        yield error.key, str(error)


def source_of(
    wanted: Sequence[Reservation],
    set_name: str,
    owners: Iterable[str] = (),
    relative: frozenset[tuple[str, str]] = frozenset(),
) -> Source:
    scope = Scope(set_name, frozenset(reservation.owner for reservation in wanted) | frozenset(owners))
    return Source(tuple(wanted), scope, relative)


def default_set_name(paths: Sequence[Path]) -> str:
    """The folder's or file's own name, whatever the way to it: the same set on every machine and from every folder."""
    return "+".join(sorted(path.resolve().name for path in paths))
