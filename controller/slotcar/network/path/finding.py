"""Finds what a reservation's traffic crosses: hops by the shortest way, and the SLSs where it enters a domain."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from ipaddress import IPv4Address
from itertools import pairwise

from slotcar.base.vocabulary import DSCP, RESERVED_SERVICES, Direction, Service
from slotcar.network.model import Domain, InterfaceId, Network, Sls
from slotcar.network.path.errors import NoPath
from slotcar.network.path.model import Hop, Path
from slotcar.network.path.topology import Step, Topology, topology_of
from slotcar.reservation.model import Endpoint, Reservation

#: More names than this in one sentence hide what it says.
NAMES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class End:
    """An endpoint that was found: its name as the reservation has it, its address, and the edge that it is behind."""

    name: str
    address: IPv4Address
    edge: InterfaceId


def find_paths(reservation: Reservation, network: Network) -> tuple[Path, ...]:
    """One path for each reserved direction, forward first; `via` is crossed in order, backwards on the way back. Of a
    multicast reservation one to each receiver, see `_tree`.

    The way is the one with the least sum of the metrics of the interfaces that it leaves by; among equals the first by
    name. Its two directions differ where metrics do. At each crossing of domains the service's SLS is collected, at
    most one, by the interface that is entered; of several that follow each other in time, the one that holds over the
    reservation's windows.

    Raises:
        NoPath: an endpoint or a router of `via` is not known, there is no way, or a domain is entered without an SLS
            by a service that needs one (D7.3 §3.2.1: none where a side is over-provisioned).
    """
    topology = topology_of(network)
    if reservation.receivers:
        return _tree(reservation, topology)
    source, destination = ends_of(reservation, network)
    if source.edge == destination.edge:
        both = f"{source.name} and {destination.name}"
        raise NoPath(
            f"{both} are both behind {source.edge}: what they send each other crosses no router", "destination"
        )
    for key, why in _via_problems(reservation.via, network):
        raise NoPath(why, key)
    paths = []
    if reservation.direction is not Direction.REVERSE:
        steps = _steps(source, destination, reservation.via, topology)
        paths.append(path_along(steps, reservation, source, destination, topology))
    if reservation.direction is not Direction.FORWARD:
        steps = _steps(destination, source, reservation.via[::-1], topology)
        paths.append(path_along(steps, reservation, destination, source, topology))
    return tuple(paths)


def _tree(reservation: Reservation, topology: Topology) -> tuple[Path, ...]:
    """The path to each receiver, in the receivers' order: together the tree that multicast routing builds.

    A router takes a group's packets from where its own best way to the source leads (the reverse path of RFC 7761 §4),
    so two of the paths that have parted never meet again, and where metrics differ by direction those of the way back
    count.

    Raises:
        NoPath: an end is not known or has no way to the source, or a domain is entered without an SLS.
    """
    source = _end("source", reservation.source, topology)
    paths = []
    for name in reservation.receivers:
        receiver = _end("receivers", Endpoint(host=name), topology)
        if receiver.edge == source.edge:
            raise NoPath(
                f"{source.name} and {name} are both behind {source.edge}: what they send each other crosses no router",
                "receivers",
            )
        back = topology.shortest(receiver.edge.device, source.edge.device)
        if back is None:
            raise NoPath(
                _no_leg(receiver, source, receiver.edge.device, source.edge.device, (), topology), "receivers"
            )
        steps = [(metric, leaves.device, enters, leaves) for metric, _, leaves, enters in reversed(back)]
        paths.append(path_along(steps, reservation, source, receiver, topology))
    return tuple(paths)


def ends_of(reservation: Reservation, network: Network) -> tuple[End, End]:
    """Source and destination.

    Raises:
        NoPath: one of them is not known.
    """
    topology = topology_of(network)
    return _end("source", reservation.source, topology), _end("destination", reservation.destination, topology)


def domain_of_place(place: str, network: Network) -> Domain:
    """The domain of a host that something beside the network is reserved of.

    Raises:
        NoPath: it is neither in the inventory, nor an address behind an edge interface.
    """
    device = network.devices.get(place)
    if device is not None:
        return network.domains[device.domain]
    return network.domain_of(_end("source", Endpoint(host=place), topology_of(network)).edge)


def end_problems(
    source: Endpoint | None,
    destination: Endpoint | None,
    receivers: Sequence[str],
    via: Sequence[str],
    network: Network,
) -> Iterator[tuple[str, str]]:
    """What each end and each router of `via` has wrong by itself, all of them: keys and sentences. None: not known."""
    topology = topology_of(network)
    group = destination is not None and destination.is_group  # of it nothing is known but its receivers
    ends = [("source", source), ("destination", None if group else destination)]
    for key, endpoint in (*ends, *(("receivers", Endpoint(host=name)) for name in receivers)):
        try:
            if endpoint is not None:
                _end(key, endpoint, topology)
        except NoPath as error:
            yield error.key, str(error)
    yield from _via_problems(via, network)


def _end(key: str, endpoint: Endpoint, topology: Topology) -> End:
    name, address = endpoint.host, endpoint.address
    host = topology.network.hosts.get(name)
    if host is not None:
        return End(name, host.address, host.attached_to)
    if address is None:
        raise NoPath(_unknown_name(name, topology.network), key)
    if not isinstance(address, IPv4Address):
        raise NoPath(
            f"{name} is an IPv6 address, and this network is IPv4: name the end system or its IPv4 address", key
        )
    edge = topology.locate(address)
    if edge is None:
        raise NoPath(f"{name} is behind no edge interface of this network; {_edges(topology)}", key)
    interface = topology.network.interface(edge)
    if interface.address is not None and interface.address.ip == address:
        raise NoPath(f"{name} is the address of the router interface {edge}, not of an end system behind it", key)
    return End(name, address, edge)


def _unknown_name(name: str, network: Network) -> str:
    if name in network.devices:
        return f"{name} is a router, not an end system; end systems are {_some(network.hosts)}"
    close = get_close_matches(name, sorted(network.hosts), n=3, cutoff=0.6)
    if close:
        return f"there is no end system {name}; did you mean {' or '.join(close)}?"
    hint = f"end systems are {_some(network.hosts)}" if network.hosts else "the inventory names none"
    return f"there is no end system {name}; {hint}, and any address behind an edge interface will do"


def _edges(topology: Topology) -> str:
    if not topology.behind:
        return "no edge interface has an address or prefixes"
    return f"behind edge interfaces are {_some(f'{network} ({edge})' for network, edge in topology.behind)}"


def _some(names: Iterable[str]) -> str:
    sorted_names = sorted(names)
    rest = len(sorted_names) - NAMES_SHOWN
    return ", ".join(sorted_names) if rest <= 0 else f"{', '.join(sorted_names[:NAMES_SHOWN])} and {rest} more"


def _via_problems(via: Sequence[str], network: Network) -> Iterator[tuple[str, str]]:
    for index, name in enumerate(via):
        if name in via[:index]:
            yield "via", f"the path is to go via {name} twice, and a path crosses a router once"
        elif name not in network.devices:
            close = get_close_matches(name, sorted(network.devices), n=3, cutoff=0.6)
            hint = f"did you mean {' or '.join(close)}?" if close else f"routers are {_some(network.devices)}"
            yield "via", f"the path is to go via {name}, and there is no such router; {hint}"


def path_along(
    steps: Sequence[Step], reservation: Reservation, source: End, destination: End, topology: Topology
) -> Path:
    """The path of these steps between two ends.

    Raises:
        NoPath: a domain is entered without an SLS by a service that needs one, or serves no such class.
    """
    network = topology.network
    hops = _hops(source, destination, steps)
    domains = {hop.device: network.domains[network.devices[hop.device].domain] for hop in hops}
    require_class(reservation, domains.values())
    return Path(
        source=source.name,
        destination=destination.name,
        source_address=str(source.address),
        destination_address=str(destination.address),
        service=reservation.service,
        hops=hops,
        sls=_all_sls(reservation, hops, topology, destination.name if reservation.receivers else ""),
        unreserved_devices=frozenset(device for device, domain in domains.items() if domain.is_unreserved),
    )


def _hops(source: End, destination: End, steps: Iterable[Step]) -> tuple[Hop, ...]:
    hops, ingress = [], source.edge
    for _, _, leaves, enters in steps:
        hops.append(Hop(device=ingress.device, ingress=ingress, egress=leaves))
        ingress = enters
    return (*hops, Hop(device=ingress.device, ingress=ingress, egress=destination.edge))


def _steps(source: End, destination: End, via: Sequence[str], topology: Topology) -> tuple[Step, ...]:
    """The steps from the source's router over the pinned ones to the destination's; each leg is the shortest.

    A leg avoids what was crossed before it and what is pinned after it: no router is crossed twice.
    """
    first, last = source.edge.device, destination.edge.device
    stops = [first, *via[1 if via[:1] == (first,) else 0 :]]
    stops += [] if stops[-1] == last else [last]
    if first == last and len(stops) > 1:
        raise NoPath(f"the path cannot go via {', '.join(via)}: both ends are behind {first} itself")
    if last in stops[:-1] or first in stops[1:]:
        misplaced = last if last in stops[:-1] else first
        raise NoPath(f"the path cannot go via {misplaced} there: it is where the path ends or begins")
    steps: list[Step] = []
    for index, (leg_start, leg_end) in enumerate(pairwise(stops)):
        crossed = {first, *(step[1] for step in steps)} - {leg_start}
        avoided = crossed | set(stops[index + 2 :])
        leg = topology.shortest(leg_start, leg_end, avoided)
        if leg is None:
            raise NoPath(_no_leg(source, destination, leg_start, leg_end, via, topology))
        steps += leg
    return tuple(steps)


def _no_leg(
    source: End, destination: End, leg_start: str, leg_end: str, via: Sequence[str], topology: Topology
) -> str:
    between = f"from {source.name} (behind {source.edge}) to {destination.name} (behind {destination.edge})"
    if topology.shortest(source.edge.device, destination.edge.device) is None:
        return f"there is no way {between}: no chain of links joins their routers"
    pinned = ", ".join(via)
    if topology.shortest(leg_start, leg_end) is None:
        return f"there is no way {between} via {pinned}: no chain of links leads from {leg_start} to {leg_end}"
    turn = f"from {leg_start} it cannot reach {leg_end} without crossing a router twice"
    return f"there is no way {between} via {pinned}: {turn}; leave one out, or name more of the routers on the way"


def _all_sls(reservation: Reservation, hops: Sequence[Hop], topology: Topology, receiver: str = "") -> tuple[str, ...]:
    """Names of the SLSs that bind the crossings, in order; the error lists every crossing that lacks one. `receiver`: of a
    multicast group the one that the path leads to.
    """
    network, names, missing = topology.network, [], []
    for hop, next_hop in pairwise(hops):
        upstream, downstream = network.domain_of(hop.egress), network.domain_of(next_hop.ingress)
        if upstream.name == downstream.name or (upstream.elsewhere and downstream.elsewhere):
            continue
        candidates = [
            sls
            for sls in topology.sls_at.get(next_hop.ingress, ())
            if (sls.service, sls.assured_class) == (reservation.service, _class_in(downstream, reservation))
            and (sls.upstream, sls.downstream) == (upstream.name, downstream.name)
        ]
        if candidates:
            names.append(_fitting(candidates, reservation).name)
        elif _is_opened_with_it(reservation, upstream, downstream):
            names.append(sls_to_be(reservation.service, upstream.name, downstream.name))
        elif not (upstream.over_provisioned or downstream.over_provisioned):
            missing.append(f"from {upstream.name} into {downstream.name} at {next_hop.ingress}")
    if missing and reservation.service in RESERVED_SERVICES:  # each needs an SLS wherever it enters a domain
        ends = f"{reservation.source.host} and {receiver or reservation.destination.host}"
        raise NoPath(
            f"there is no SLS for {reservation.service_class} {', nor '.join(missing)}, on the way between {ends}"
        )
    return tuple(names)


def _is_opened_with_it(reservation: Reservation, upstream: Domain, downstream: Domain) -> bool:
    """Whether the controllers of the two open the SLS that is missing with the reservation."""
    neighbour = upstream if upstream.elsewhere else downstream
    return neighbour.elsewhere and reservation.service in neighbour.sls_with_reservations


def sls_to_be(service: Service, upstream: str, downstream: str) -> str:
    """How a path names an SLS that is not there yet. No SLS has such a name, and admission finds nothing free in it."""
    return f"for {service} from {upstream} into {downstream}, which is not opened yet"


def _class_in(domain: Domain, reservation: Reservation) -> str:
    return (reservation.assured_class or "") if domain.assured_classes else ""


def require_class(reservation: Reservation, domains: Iterable[Domain]) -> None:
    """That each domain of a path can serve the reservation as one of its classes.

    Raises:
        NoPath: it names none of a domain's classes, or one where none has any; or a class has the service's code point.
    """
    reserved = list({domain.name: domain for domain in domains if not domain.is_unreserved}.values())
    name = reservation.assured_class
    for domain in reserved:
        classes = list(domain.assured_classes)
        if reservation.service is Service.ASSURED_RATE and classes and name not in classes:
            problem = f"no assured class {name}" if name else "several classes of the assured rate"
            raise NoPath(f"{domain.name} has {problem}: say `assured_class`, one of {', '.join(classes)}")
        for one in domain.assured_classes.values():
            if reservation.service is Service.QBSS and DSCP[Service.QBSS] in one.dscps:
                raise NoPath(
                    f"{domain.name} does not offer qbss: its code point is that of the assured class {one.name}"
                )
    if name and reserved and not any(domain.assured_classes for domain in reserved):
        raise NoPath(f"no domain on the way has an assured class {name}: leave `assured_class` out")


def _fitting(candidates: Sequence[Sls], reservation: Reservation) -> Sls:
    """The SLS that is valid over all windows, among those that follow each other in time; admission refuses the others."""
    holding = (sls for sls in candidates if all(sls.valid_over(window) for window in reservation.windows))
    return next(holding, candidates[0])
