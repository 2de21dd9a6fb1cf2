"""The next ways of a reservation's traffic, for networks that send a flow along the way that is reserved for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from slotcar.base.vocabulary import Direction
from slotcar.network.model import Network
from slotcar.network.path.errors import NoPath
from slotcar.network.path.finding import End, ends_of, path_along
from slotcar.network.path.model import Path
from slotcar.network.path.topology import Topology, topology_of
from slotcar.reservation.model import Reservation

#: So many ways are looked at: most of a large mesh's differ in routers that do not matter.
MOST_LOOKED_AT = 100


def candidate_paths(
    reservation: Reservation, network: Network, first: Sequence[Path], most: int
) -> Iterator[tuple[Path, ...]]:
    """Up to `most` ways beside `first`, by their metrics; each as `find_paths` gives one, `via` crossed in its order.

    Both directions cross the same routers. A way that lacks an SLS is left out. Of a multicast reservation there is none.
    """
    if reservation.receivers:
        return  # where a group's packets go, routers find by themselves
    topology = topology_of(network)
    source, destination = ends_of(reservation, network)
    first_ways = {tuple(hop.device for hop in path.hops) for path in first}
    count = 0
    for way in islice(topology.routes(source.edge.device, destination.edge.device), MOST_LOOKED_AT):
        # The first path may be that of the way back alone.
        if way in first_ways or way[::-1] in first_ways or not _crosses(way, reservation.via):
            continue
        try:
            paths = _both_ways(way, reservation, source, destination, topology)
        except NoPath:
            continue
        yield paths
        count += 1
        if count == most:
            return


def _both_ways(
    way: Sequence[str], reservation: Reservation, source: End, destination: End, topology: Topology
) -> tuple[Path, ...]:
    ends = {Direction.FORWARD: (way, source, destination), Direction.REVERSE: (way[::-1], destination, source)}
    return tuple(
        path_along(topology.along(routers), reservation, sender, receiver, topology)
        for routers, sender, receiver in (ends[one] for one in reservation.direction.ways)
    )


def _crosses(way: Sequence[str], via: Sequence[str]) -> bool:
    """Whether the routers of `via` are on the way, in their order."""
    rest = iter(way)
    return all(name in rest for name in via)
