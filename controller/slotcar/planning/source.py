"""Reservation files as a declarative source: what they want, and what they speak for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path as FilePath
from typing import Any

from slotcar.admission import capacities
from slotcar.admission.resources import UnknownClaimedResource
from slotcar.network.model import Network
from slotcar.network.path import NoPath, find_paths
from slotcar.network.path.finding import domain_of_place, end_problems
from slotcar.network.path.model import Path
from slotcar.planning.matching import Scope
from slotcar.planning.never_fits import never_fits, never_fits_on_any
from slotcar.planning.routing import RoutedReservation, route, routed_ways
from slotcar.reservation import read_body, read_files
from slotcar.reservation.entry import Ends
from slotcar.reservation.loading import NO_CONTENTS, Loaded, read_group_documents
from slotcar.reservation.model import Reservation

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ReservationSource:
    """Attributes:
    relative: keys of reservations of which the files give a time relative to now.
    paths: by key, those that were found while the files were checked against the network.
    """

    reservations: tuple[Reservation, ...]
    scope: Scope
    relative: frozenset[Key] = frozenset()
    paths: Mapping[Key, tuple[Path, ...]] = field(default_factory=dict)


def read_source(
    files: Sequence[FilePath],
    now: datetime,
    network: Network,
    set_name: str | None = None,
    owners: Iterable[str] = (),
    most_paths: int = 1,
    contents: Mapping[FilePath, bytes] = NO_CONTENTS,
) -> ReservationSource:
    """
    Args:
        contents: what files hold that were read already.
        most_paths: ways that a reservation may take; a volume that none of them could carry in time is wrong input.

    Raises:
        InvalidInput: anything in any file is wrong, or names what the network has not; all of it is listed.
    """
    paths: dict[Key, tuple[Path, ...]] = {}
    known_capacities = cache(lambda: capacities(network))

    def routed(reservation: Reservation) -> Iterator[tuple[str, str]]:
        if reservation.claim is not None:
            try:
                paths[reservation.key] = route(reservation, network).paths
            except UnknownClaimedResource as error:
                yield "claim", str(error)
            return
        try:
            own_paths = paths[reservation.key] = tuple(find_paths(reservation, network))
        except NoPath as error:
            yield error.key, str(error)
            return
        if reservation.need is None:
            return
        shortest = route(reservation, network, own_paths)
        wrong = never_fits(shortest, known_capacities(), now)
        if wrong is not None and most_paths > 1:
            wrong = never_fits_on_any(routed_ways(shortest, network, most_paths), known_capacities(), now)
        if wrong is not None:
            yield "volume", "; ".join(wrong)

    def check_ends(ends: Ends) -> Iterator[tuple[str, str]]:
        return end_problems(*ends, network)

    loaded = read_files(files, now, routed, check_ends, contents)
    return _source(loaded, set_name or default_set_name(files), owners, paths)


def source_of_body(
    body: Mapping[str, Any] | str, now: datetime, set_name: str, max_windows: int, owners: Iterable[str] = ()
) -> ReservationSource:
    """The source of a reservation file that came as a request's JSON or as a pasted text. `owners`: those that it speaks
    for beside the owners in it.

    Raises:
        InvalidInput: anything in it is wrong, or it has more windows than `max_windows`.
    """
    return _source(read_body(body, now, max_windows), set_name, owners)


def members_of_groups(
    groups: Sequence[object], now: datetime, max_windows: int, network: Network, *, over_domains: bool = False
) -> tuple[RoutedReservation, ...]:
    """The members of groups that came as a request's JSON, in the keys that a group has in a file.

    Args:
        over_domains: what is claimed of a host elsewhere is left to the host's own domain to look at.

    Raises:
        InvalidInput: anything in it is wrong, or names what the inventory has not.
    """
    members: list[RoutedReservation] = []

    def check_path(one: Reservation) -> Iterator[tuple[str, str]]:
        try:
            place = one.claim.place if one.claim else ""
            elsewhere = over_domains and bool(place) and domain_of_place(place, network).elsewhere
            members.append(RoutedReservation(one, (), ()) if elsewhere else route(one, network))
        except UnknownClaimedResource as error:
            yield "claim", str(error)
        except NoPath as error:
            yield error.key, str(error)

    read_group_documents(groups, now, max_windows, check_path)
    return tuple(members)


def _source(
    loaded: Loaded, set_name: str, owners: Iterable[str] = (), paths: Mapping[Key, tuple[Path, ...]] | None = None
) -> ReservationSource:
    scope = Scope(set_name, frozenset(one.owner for one in loaded.reservations) | frozenset(owners))
    return ReservationSource(tuple(loaded.reservations), scope, frozenset(loaded.relative), paths or {})


def default_set_name(files: Sequence[FilePath]) -> str:
    """The folder's or file's own name, whatever the way to it: the same set on every machine and from every folder."""
    return "+".join(sorted(file.resolve().name for file in files))
