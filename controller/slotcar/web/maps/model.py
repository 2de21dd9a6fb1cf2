"""A network as a picture, whose places do not move from one drawing to the next. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import networkx

from slotcar.network.model import InterfaceId, Network
from slotcar.views.capacity import Course
from slotcar.views.device_states import KnownState
from slotcar.views.topology import links_of
from slotcar.web.links.pages import THRESHOLDS, level_of, percent_of
from slotcar.web.words import DEVICES, StateMark

#: The picture's own measure, and what is left free around the devices, for their names.
WIDTH, HEIGHT, MARGIN = 1000, 560, 70
#: So many links and devices are drawn each by itself; the page has 1,500 elements at most. Of more, those that an operator
#: looks for: devices that are not as they are to be, and links with the most use.
MOST = 100
_URGENCY = ("bad", "wait", "soft", "good")
#: Of what is laid out by itself: the same network is laid out alike each time.
_SEED = 7


@dataclass(frozen=True, slots=True)
class MapNode:
    name: str
    x: float
    y: float
    domain: str
    mark: StateMark


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
    def look(self) -> str:
        return f"u{self.level}"

    @property
    def mark(self) -> StateMark:
        return THRESHOLDS[self.level][1]


@dataclass(frozen=True, slots=True)
class MapShape:
    """Links of one level, or devices with one mark, as one SVG path.

    Attributes:
        look: its style's class, as of one alone.
    """

    look: str
    path: str


@dataclass(frozen=True, slots=True)
class MapPicture:
    """
    Attributes:
        nodes: every device. edges: every link.
        drawn_nodes, drawn_edges: those that are drawn each by itself, with a name and an address.
        other_nodes, other_edges: the rest, drawn together.
        placed: whether the inventory says where devices stand.
    """

    nodes: tuple[MapNode, ...]
    edges: tuple[Edge, ...]
    drawn_nodes: tuple[MapNode, ...]
    drawn_edges: tuple[Edge, ...]
    other_nodes: tuple[MapShape, ...]
    other_edges: tuple[MapShape, ...]
    placed: bool


def picture_of(network: Network, states: Mapping[str, KnownState], courses: Mapping[str, Course]) -> MapPicture:
    """`states` by device; `courses` by resource."""
    places = places_of(network)
    nodes = tuple(
        MapNode(name, *places[name], device.domain, DEVICES[states[name].state])
        for name, device in sorted(network.devices.items())
    )
    edges = tuple(_edges(network, places, _most_used(courses)))
    placed = any(device.position for device in network.devices.values())
    first_nodes, last_nodes = _chosen_nodes(nodes, edges)
    by_use = sorted(edges, key=lambda edge: -edge.percent)
    others = {edge.look: "" for edge in sorted(by_use[MOST:], key=lambda edge: edge.level)}
    for edge in by_use[MOST:]:
        others[edge.look] += f"M{edge.x1} {edge.y1}L{edge.x2} {edge.y2}"
    return MapPicture(
        nodes, edges, first_nodes, tuple(by_use[:MOST]), last_nodes,
        tuple(MapShape(look, path) for look, path in others.items()), placed,
    )  # fmt: skip


def _edges(
    network: Network, places: Mapping[str, tuple[float, float]], used: Mapping[InterfaceId, tuple[int, str]]
) -> Iterable[Edge]:
    for first, second in links_of(network):
        percent, resource = max(used.get(end, (0, "")) for end in (first, second))
        yield Edge(first, second, *places[first.device], *places[second.device], percent, resource)


def _most_used(courses: Mapping[str, Course]) -> dict[InterfaceId, tuple[int, str]]:
    """By interface, the most that is in use of one of its resources, in per cent, and which that is."""
    used: dict[InterfaceId, tuple[int, str]] = {}
    for name, course in courses.items():
        place = course.resource.interface
        if place is not None:
            used[place] = max(used.get(place, (0, "")), (percent_of(course), name))
    return used


def _chosen_nodes(
    nodes: tuple[MapNode, ...], edges: Iterable[Edge]
) -> tuple[tuple[MapNode, ...], tuple[MapShape, ...]]:
    """The nodes that are drawn with a name; others are dots. Troubled nodes come first, then those with most links."""
    if len(nodes) <= MOST:
        return nodes, ()
    links = Counter(name for edge in edges for name in (edge.first.device, edge.second.device))
    ranked = sorted(nodes, key=lambda node: (_URGENCY.index(node.mark.look), -links[node.name], node.name))
    dots: dict[str, str] = {}
    for node in ranked[MOST:]:
        dots[node.mark.look] = dots.get(node.mark.look, "") + f"M{node.x} {node.y}h0"
    return tuple(ranked[:MOST]), tuple(MapShape(look, path) for look, path in dots.items())


def places_of(network: Network) -> dict[str, tuple[float, float]]:
    """Where each device stands in the picture: as the inventory says, else laid out by its links."""
    positions = {name: device.position for name, device in network.devices.items() if device.position}
    start = {name: (float(x), float(y)) for name, (x, y) in positions.items()}
    if start and len(start) == len(network.devices):
        return _fitted(start)
    links = tuple((first.device, second.device) for first, second in links_of(network))
    return _fitted(_laid_out(tuple(sorted(network.devices)), links, tuple(sorted(start.items()))))


@lru_cache(maxsize=4)
def _laid_out(
    devices: tuple[str, ...], links: tuple[tuple[str, str], ...], start: tuple[tuple[str, tuple[float, float]], ...]
) -> dict[str, tuple[float, float]]:
    """By the links' pull. It takes longer than all else of the page, and changes with the inventory alone."""
    graph = networkx.Graph()
    graph.add_nodes_from(devices)
    graph.add_edges_from(links)
    span = max((max(x, y) for _, (x, y) in start), default=1.0) or 1.0
    fixed_places = {name: (x / span, y / span) for name, (x, y) in start}
    places = networkx.spring_layout(
        graph, pos=fixed_places or None, fixed=sorted(fixed_places) or None, seed=_SEED, iterations=300, method="force"
    )
    return {name: (float(x), float(y)) for name, (x, y) in places.items()}


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
