"""A reservation with its paths and demands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from controller.admission import demands
from controller.admission.model import Demand
from controller.ledger.model import Entry, State
from controller.network.model import Network
from controller.path import find_paths
from controller.path.candidates import candidate_paths
from controller.path.model import Hop, Path
from controller.reservation.model import Reservation


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


def route(reservation: Reservation, network: Network, paths: Sequence[Path] | None = None) -> RoutedReservation:
    """The reservation with its paths, which are found here unless the request has found them already.

    Raises:
        NoPath: the endpoints are not connected, or not known.
    """
    paths = tuple(paths) if paths is not None else find_paths(reservation, network)
    return RoutedReservation(reservation, paths, demands(reservation, paths, network))


def ways(
    reservation: Reservation, network: Network, most: int, present: Sequence[Path] = ()
) -> tuple[tuple[Path, ...], ...]:
    """Up to `most` ways that the reservation may take, the shortest first, then by their metrics (ADR 25).

    Args:
        present: the paths of the reservation that it is another form of: where they are among the ways, they come first.

    Raises:
        NoPath: see `find_paths`.
    """
    shortest = find_paths(reservation, network)
    if most <= 1:
        return (shortest,)
    found = (shortest, *candidate_paths(reservation, network, shortest, most - 1))
    return tuple(
        sorted(found, key=lambda paths: hops_of(paths) != hops_of(present))
    )  # stable: the others keep their order


def hops_of(paths: Sequence[Path]) -> tuple[tuple[Hop, ...], ...]:
    """What makes two ways the same."""
    return tuple(path.hops for path in paths)


def routed_ways(
    reservation: Reservation, network: Network, most: int, present: Sequence[Path] = ()
) -> tuple[RoutedReservation, ...]:
    """As `ways`, each with its demands."""
    return tuple(route(reservation, network, paths) for paths in ways(reservation, network, most, present))
