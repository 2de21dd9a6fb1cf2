"""`Topology`: routers, hosts, links and the static routes that join them; neutral, frozen, without I/O."""

from __future__ import annotations

import hashlib
import itertools
import os
from enum import StrEnum
from ipaddress import IPv4Interface, IPv4Network
from typing import NamedTuple, Self

import networkx as nx
from pydantic import BaseModel, ConfigDict, Field, model_validator

from slotcar_lab.errors import LabError

#: IFNAMSIZ less the terminating zero.
LONGEST_INTERFACE_NAME = 15


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Kind(StrEnum):
    """A router forwards and answers ssh; a host sends and receives."""

    ROUTER = "router"
    HOST = "host"


class Node(Frozen):
    """A router or a host.

    Attributes:
        management_port: port of 127.0.0.1 where a router answers ssh; 0 takes one that is free.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9.-]{0,40}$")
    kind: Kind
    domain: str = ""
    management_port: int = Field(default=0, ge=0, le=65_535)


class End(Frozen):
    """One end of a link; `metric` is the cost of sending out of it."""

    node: str
    interface: str = Field(min_length=1, max_length=LONGEST_INTERFACE_NAME, pattern=r"^[^/\s:]+$")
    address: IPv4Interface
    metric: int = Field(default=10, ge=1)


class Link(Frozen):
    """A wire between two ends, or a LAN of more.

    Attributes:
        rate_bps: line rate in each direction, layer 2; 0 is as fast as the kernel goes.
        delay_us: one-way propagation delay.
        queue_packets: what waits for the line before the tail is dropped, when nobody schedules in front of it.
    """

    ends: tuple[End, ...] = Field(min_length=2)
    rate_bps: int = Field(default=0, ge=0)
    delay_us: int = Field(default=0, ge=0)
    queue_packets: int = Field(default=500, ge=1)

    @property
    def shaped(self) -> bool:
        return bool(self.rate_bps or self.delay_us)

    @property
    def bridged(self) -> bool:
        """Whether the lab's wiring must stand between the ends; two unshaped ends are one veth pair."""
        return self.shaped or len(self.ends) > 2

    @property
    def network(self) -> IPv4Network:
        return self.ends[0].address.network


class Route(NamedTuple):
    """A static route of a node: `destination` through the neighbour's address `via`."""

    destination: IPv4Network
    via: str


class Topology(Frozen):
    """The whole lab. Node names are unique; each interface is on one link; each link is one subnet."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]

    @property
    def routers(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.nodes if node.kind is Kind.ROUTER)

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(node.name for node in self.nodes if node.kind is Kind.HOST)

    def ends_of(self, node: str) -> tuple[End, ...]:
        """The node's interfaces, in the order of the links."""
        return tuple(end for link in self.links for end in link.ends if end.node == node)

    def address_of(self, node: str) -> str:
        """The node's first address, without its prefix length.

        Raises:
            KeyError: no such node, or it is on no link.
        """
        ends = self.ends_of(node)
        if not ends:
            raise KeyError(node)
        return str(ends[0].address.ip)

    def fingerprint(self) -> str:
        """Equal for equal topologies: tells whether the lab that runs is the one that is asked for."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()[:16]

    def routes(self, node: str) -> tuple[Route, ...]:
        """Static routes of a node to every subnet that it is not on, along the shortest path by metric.

        Ties go to the path that is first in the order of the links, so that every build gives the same routes.
        """
        graph = self._graph()
        distance, path = nx.single_source_dijkstra(graph, node, weight="metric")
        static_routes = []
        for link in self.links:
            names = [end.node for end in link.ends]
            reachable = [name for name in names if name in distance]
            if node in names or not reachable:
                continue
            nearest = min(reachable, key=lambda name: distance[name])
            static_routes.append(Route(link.network, graph.edges[node, path[nearest][1]]["via"]))
        return tuple(sorted(static_routes))

    def _graph(self) -> nx.DiGraph:
        """Who can hand a packet to whom; hosts forward nothing, so no edge leaves a host but from its own traffic."""
        graph = nx.DiGraph()
        graph.add_nodes_from(node.name for node in self.nodes)
        for link in self.links:
            for near in link.ends:
                for far in link.ends:
                    if near is far or graph.has_edge(near.node, far.node):
                        continue
                    metric = near.metric + (0 if far.node in self.routers else 1_000_000)
                    graph.add_edge(near.node, far.node, metric=metric, via=str(far.address.ip))
        return graph

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [node.name for node in self.nodes]
        doubled = {name for name in names if names.count(name) > 1}
        if doubled:
            raise ValueError(f"nodes named twice: {', '.join(sorted(doubled))}")
        interfaces = [(end.node, end.interface) for link in self.links for end in link.ends]
        for node, interface in interfaces:
            if node not in names:
                raise ValueError(f"a link ends at {node}:{interface}, but there is no node {node}")
            if interfaces.count((node, interface)) > 1:
                raise ValueError(f"{node}:{interface} is on more than one link")
        for link in self.links:
            if len({end.address.network for end in link.ends}) > 1:
                raise ValueError(
                    f"the ends of one link are in different subnets: {[str(e.address) for e in link.ends]}"
                )
            if len({end.address.ip for end in link.ends}) < len(link.ends):
                raise ValueError(f"one address twice on a link: {[str(e.address) for e in link.ends]}")
        subnets = [link.network for link in self.links]
        if len(set(subnets)) < len(subnets):
            raise ValueError("two links share one subnet")
        return self


#: Moves the routers' management ports, here and in `inventories/lab` alike: the first router is at base + 1.
PORT_BASE_VARIABLE = "SLOTCAR_LAB_PORT_BASE"
DEFAULT_PORT_BASE = 2200


def port_base(default: int = DEFAULT_PORT_BASE) -> int:
    """The base that the environment names, else the default.

    Raises:
        LabError: it names something that is no port number with room above it.
    """
    text = os.environ.get(PORT_BASE_VARIABLE) or str(default)
    if not text.isascii() or not text.isdigit() or not 1_024 <= int(text) <= 65_000:
        raise LabError(f"{PORT_BASE_VARIABLE} is {text!r}; it must be a port number from 1024 to 65000, such as 2300")
    return int(text)


def garnet(
    rates_bps: tuple[int, int, int] = (100_000_000, 60_000_000, 60_000_000), first_port: int | None = None
) -> Topology:
    """GARNET in small (GARA Fig. 3), as `inventories/lab` describes it, for where no inventory is at hand.

    Args:
        rates_bps: line rates between the four routers: a Fast Ethernet, then the 60 Mb/s VC of GARA §5.3.
        first_port: management port of the first router; the environment's `port_base()` + 1 unless given.
    """
    domain = {"anl-edge": "anl", "anl-border": "anl", "esnet-hub": "esnet", "lbnl-edge": "lbnl"}
    chain = list(domain)
    first_port = port_base() + 1 if first_port is None else first_port
    nodes = [
        Node(name=name, kind=Kind.ROUTER, domain=domain[name], management_port=port)
        for port, name in enumerate(chain, start=first_port)
    ]
    links = []
    for index, (left, right) in enumerate(itertools.pairwise(chain)):
        near = End(
            node=left,
            interface="eth2" if index else "eth1",
            address=IPv4Interface(f"10.10.{index + 1}.1/30"),
        )
        far = End(node=right, interface="eth1", address=IPv4Interface(f"10.10.{index + 1}.2/30"))
        links.append(Link(ends=(near, far), rate_bps=rates_bps[index]))
    for edge, tens in (("anl-edge", 10), ("lbnl-edge", 20)):
        for number, role in enumerate(("premium", "traffic"), start=1):
            host = f"{domain[edge]}-{role}"
            nodes.append(Node(name=host, kind=Kind.HOST, domain=domain[edge]))
            subnet = f"10.10.{tens + number}"
            router_end = End(node=edge, interface=f"eth{number + 1}", address=IPv4Interface(f"{subnet}.1/24"))
            links.append(
                Link(ends=(router_end, End(node=host, interface="eth1", address=IPv4Interface(f"{subnet}.2/24"))))
            )
    return Topology(nodes=tuple(nodes), links=tuple(links))
