"""A network as a graph of routers, with what a search needs laid ready, kept as long as the network is in use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network
from itertools import pairwise
from typing import Any

from slotcar.base.vocabulary import InterfaceRole
from slotcar.network.model import InterfaceId, Network, Sls

#: One step: what sending out costs, the router that it leads to, and the interfaces that it leaves and enters.
Step = tuple[int, str, InterfaceId, InterfaceId]


class Topology:
    """Links, edges and distances of one network. Immutable but for its memory of distances."""

    def __init__(self, network: Network) -> None:
        import networkx as nx  # here: what only needs this room's model is spared a quarter of a second

        self.network = network
        self.steps = {name: sorted(_steps(network, name), key=_by_name) for name in network.devices}
        self.by_address = {host.address: host.attached_to for host in network.hosts.values()}
        self._sls: tuple[Mapping[str, Sls], Mapping[InterfaceId, Sequence[Sls]]] = ({}, {})
        # The longest prefix first, as a router looks addresses up.
        self.behind = sorted(_behind(network), key=lambda one: (-one[0].prefixlen, str(one[1])))
        # Towards: an edge leads from a router to those that send to it, so that one search serves every source.
        self._networkx: Any = nx
        self._towards: Any = nx.DiGraph()
        self._towards.add_nodes_from(sorted(network.devices))
        for name, steps in self.steps.items():
            for metric, other, *_ in steps:
                edge = self._towards.get_edge_data(other, name, {"weight": metric})
                self._towards.add_edge(other, name, weight=min(metric, edge["weight"]))
        self._distances: dict[str, Mapping[str, int]] = {}

    @property
    def sls_at(self) -> Mapping[InterfaceId, Sequence[Sls]]:
        """The SLSs of each interface, as the network has them now: domains may have agreed on others."""
        of, at = self._sls
        if of is not self.network.sls:
            of, by_ingress = self.network.sls, dict[InterfaceId, list[Sls]]()
            for _, sls in sorted(of.items()):
                by_ingress.setdefault(sls.ingress, []).append(sls)
            at = by_ingress
            self._sls = of, at
        return at

    def locate(self, address: IPv4Address) -> InterfaceId | None:
        """The edge interface that the address is behind."""
        if address in self.by_address:
            return self.by_address[address]
        return next((interface for network, interface in self.behind if address in network), None)

    def shortest(self, source: str, destination: str, avoided: Collection[str] = ()) -> tuple[Step, ...] | None:
        """The steps from router to router with the least sum of metrics, None where there is no way.

        Among equals the first by name, router by router and then by interface, whatever the inventory's order.
        """
        distances = self._distances_to(destination, avoided)
        if source not in distances:
            return None
        steps, here = [], source
        while here != destination:
            remaining_metric = distances[here]
            step = next(
                step
                for step in self.steps[here]
                if distances.get(step[1], remaining_metric) + step[0] == remaining_metric
            )
            steps.append(step)
            here = step[1]
        return tuple(steps)

    def routes(self, source: str, destination: str) -> Iterator[tuple[str, ...]]:
        """Router by router every way that crosses none twice, the least sum of metrics first (Yen). There may be many."""
        if source == destination or not self._networkx.has_path(self._towards, destination, source):
            return
        for backwards in self._networkx.shortest_simple_paths(self._towards, destination, source, weight="weight"):
            yield tuple(reversed(backwards))

    def along(self, way: Sequence[str]) -> tuple[Step, ...]:
        """The steps from router to router of a way; of links side by side the one with the least metric, then by name."""
        return tuple(
            min(
                (step for step in self.steps[router] if step[1] == next_router),
                key=lambda step: (step[0], step[2].name),
            )
            for router, next_router in pairwise(way)
        )

    def _distances_to(self, destination: str, avoided: Collection[str]) -> Mapping[str, int]:
        search = self._networkx.single_source_dijkstra_path_length
        if avoided:
            excluded = [name for name in avoided if name in self._towards]
            return dict(search(self._networkx.restricted_view(self._towards, excluded, []), destination))
        if destination not in self._distances:
            self._distances[destination] = dict(search(self._towards, destination))
        return self._distances[destination]


class _Same:
    """A network as a key by identity: it is frozen, but its dictionaries make it unhashable."""

    def __init__(self, network: Network) -> None:
        self.network = network

    def __hash__(self) -> int:
        return id(self.network)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.network is self.network


def topology_of(network: Network) -> Topology:
    """The network's topology, built once for each network that is in use."""
    return _built(_Same(network))


@lru_cache(maxsize=4)
def _built(same: _Same) -> Topology:
    return Topology(same.network)


def _steps(network: Network, device: str) -> Iterator[Step]:
    for interface in network.devices[device].interfaces.values():
        other = interface.neighbour
        if other is not None and other.device in network.devices:
            yield interface.metric, other.device, interface.id, other


def _by_name(step: Step) -> tuple[str, str]:
    return step[1], step[2].name


def _behind(network: Network) -> Iterator[tuple[IPv4Network, InterfaceId]]:
    for device in network.devices.values():
        for interface in device.interfaces.values():
            if interface.role is InterfaceRole.EDGE:
                for prefix in interface.behind:
                    yield prefix, interface.id
