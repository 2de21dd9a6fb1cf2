"""A network as a picture, whose places do not move from one drawing to the next. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import networkx

from slotcar.admission.resource_id import INTERFACE
from slotcar.network.model import InterfaceId, Network
from slotcar.views.capacity import Course
from slotcar.views.device_states import KnownState
from slotcar.views.topology import links_of
from slotcar.web.links.pages import THRESHOLDS, level_of, percent_of
from slotcar.web.words import DEVICES, Mark

#: The picture's own measure, and what is left free around the devices, for their names.
WIDTH, HEIGHT, MARGIN = 1000, 560, 70
#: Of what is laid out by itself: the same network is laid out alike each time.
_SEED = 7


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    x: float
    y: float
    domain: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Edge:
    """A link: from device to device, with the most that is in use of any service either way, in per cent."""

    first: InterfaceId
    second: InterfaceId
    x1: float
    y1: float
    x2: float
    y2: float
    percent: int
    resource: str

    @property
    def level(self) -> int:
        return level_of(self.percent)

    @property
    def mark(self) -> Mark:
        return THRESHOLDS[self.level][1]


@dataclass(frozen=True, slots=True)
class Picture:
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    placed: bool


def picture_of(network: Network, states: Mapping[str, KnownState], courses: Mapping[str, Course]) -> Picture:
    """`states` by device; `courses` by resource."""
    places = places_of(network)
    nodes = tuple(
        Node(name, *places[name], device.domain, DEVICES[states[name].state])
        for name, device in sorted(network.devices.items())
    )
    edges = []
    for first, second in links_of(network):
        used = [(percent_of(one), name) for name, one in courses.items() if _is_at(one, first) or _is_at(one, second)]
        percent, resource = max(used, default=(0, ""))
        edges.append(Edge(first, second, *places[first.device], *places[second.device], percent, resource))
    placed = any(device.position for device in network.devices.values())
    return Picture(nodes, tuple(edges), placed)


def _is_at(course: Course, end: InterfaceId) -> bool:
    return course.resource.kind == INTERFACE and course.resource.place == str(end)


def places_of(network: Network) -> dict[str, tuple[float, float]]:
    """Where each device stands in the picture: as the inventory says, else laid out by its links."""
    said = {name: device.position for name, device in network.devices.items() if device.position}
    graph = networkx.Graph()
    graph.add_nodes_from(sorted(network.devices))
    graph.add_edges_from((first.device, second.device) for first, second in links_of(network))
    start = {name: (float(x), float(y)) for name, (x, y) in said.items()}
    if start and len(start) == len(network.devices):
        found = start
    else:
        span = max((max(x, y) for x, y in start.values()), default=1.0) or 1.0
        known = {name: (x / span, y / span) for name, (x, y) in start.items()}
        found = networkx.spring_layout(
            graph, pos=known or None, fixed=sorted(known) or None, seed=_SEED, iterations=300, method="force"
        )
    return _fitted({name: (float(x), float(y)) for name, (x, y) in found.items()})


def _fitted(places: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """The places stretched to the picture, each way by itself."""

    def stretched(values: Mapping[str, float], length: int) -> dict[str, float]:
        low, high = min(values.values(), default=0.0), max(values.values(), default=0.0)
        span = high - low
        inner = length - 2 * MARGIN
        return {
            name: round(MARGIN + (one - low) / span * inner if span > 1e-9 else length / 2, 1)
            for name, one in values.items()
        }

    xs = stretched({name: x for name, (x, _) in places.items()}, WIDTH)
    ys = stretched({name: y for name, (_, y) in places.items()}, HEIGHT)
    return {name: (xs[name], ys[name]) for name in places}
