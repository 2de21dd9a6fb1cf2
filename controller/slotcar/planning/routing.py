"""A reservation with its paths and demands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from slotcar.admission import demands
from slotcar.admission.model import Demand
from slotcar.book.model import Entry, State
from slotcar.network.model import Network
from slotcar.network.path import find_paths
from slotcar.network.path.candidates import candidate_paths
from slotcar.network.path.model import Hop, Path, ends_of
from slotcar.reservation.model import Reservation, Slot, constant_slots


@dataclass(frozen=True, slots=True)
class RoutedReservation:
    """A reservation, the paths of its directions, and what it demands of each resource on them."""

    reservation: Reservation
    paths: tuple[Path, ...]
    demands: tuple[Demand, ...]

    def entry(self, handle: str, number: int, now: datetime, state: State = State.COMMITTED) -> Entry:
        """The entry that the ledger would have of it."""
        return Entry(
            handle=handle,
            number=number,
            state=state,
            version=1,
            reservation=self.reservation,
            paths=self.paths,
            demands=self.demands,
            created_at=now,
            changed_at=now,
        )


def highest_slots(reservation: Reservation, paths: Sequence[Path], network: Network) -> tuple[Slot, ...]:
    """The slots; of a background reservation with the highest rate that it may get on these paths."""
    share = reservation.share
    if share is None:
        return reservation.slots
    name = reservation.assured_class or ""
    parts_bps = [network.interface(end).share_bps(reservation.service, name) for end in ends_of(paths)]
    return constant_slots(reservation.windows, min([share.at_most_bps, *parts_bps]), reservation.direction)


def route(reservation: Reservation, network: Network, paths: Sequence[Path] | None = None) -> RoutedReservation:
    """The reservation with its paths, which are found here unless the request has found them already.

    Raises:
        NoPath: the endpoints are not connected, or not known. NoSuchResource: of a claim.
    """
    paths = tuple(paths) if paths is not None else _paths(reservation, network)
    return RoutedReservation(reservation, paths, demands(reservation, paths, network))


def _paths(reservation: Reservation, network: Network) -> tuple[Path, ...]:
    """The paths of a reservation; a claim has none."""
    return tuple(find_paths(reservation, network)) if reservation.claim is None else ()


def ways(
    reservation: Reservation,
    network: Network,
    most: int,
    present: Sequence[Path] = (),
    shortest: Sequence[Path] | None = None,
) -> tuple[tuple[Path, ...], ...]:
    """Up to `most` ways that the reservation may take, the shortest first, then by their metrics (ADR 25).

    Args:
        present: the paths of the reservation that it is another form of: where they are among the ways, they come first.
        shortest: its paths by `find_paths`, where they are known.

    Raises:
        NoPath: see `find_paths`.
    """
    shortest = tuple(shortest) if shortest is not None else _paths(reservation, network)
    if most <= 1 or reservation.claim is not None:
        return (shortest,)
    choices = (shortest, *candidate_paths(reservation, network, shortest, most - 1))
    return tuple(
        sorted(choices, key=lambda paths: hops_of(paths) != hops_of(present))
    )  # stable: the others keep their order


def hops_of(paths: Sequence[Path]) -> tuple[tuple[Hop, ...], ...]:
    """What makes two ways the same."""
    return tuple(path.hops for path in paths)


def routed_ways(
    shortest: RoutedReservation, network: Network, most: int, present: Sequence[Path] = ()
) -> tuple[RoutedReservation, ...]:
    """The choices of `ways` for what is routed along its shortest way, each with its demands."""
    choices = ways(shortest.reservation, network, most, present, shortest.paths)
    return tuple(
        shortest if paths is shortest.paths else route(shortest.reservation, network, paths) for paths in choices
    )
