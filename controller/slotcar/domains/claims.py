"""Claims of what hosts have, over domains: where the host is, who is asked next on the way to its domain. Pure.

The domains on that way hold nothing: each hands the request on, and its answer back. Only the domain that has the host
knows by which name, and what the host has; others know its address.
"""

from __future__ import annotations

from collections import deque

from slotcar.domains.errors import NotThatWay
from slotcar.managers import request_of
from slotcar.network import Network
from slotcar.network.elsewhere import neighbours_of
from slotcar.network.path.finding import domain_of_place
from slotcar.reservation.model import Reservation


def domain_of(reservation: Reservation, network: Network) -> str:
    """The domain of a claim's host.

    Raises:
        NoPath: the host is neither in the inventory, nor an address behind one of its edge interfaces.
    """
    assert reservation.claim is not None
    return domain_of_place(reservation.claim.place, network).name


def with_address(reservation: Reservation, network: Network) -> Reservation:
    """A claim with its host's address in the place of the name.

    Raises:
        NoPath: see `domain_of`. NotThatWay: the host is elsewhere, and the inventory has no address of it.
    """
    assert reservation.claim is not None
    place = reservation.claim.place
    host, domain = network.hosts.get(place), domain_of_place(place, network)
    if host is not None:
        return _at(reservation, str(host.address))
    if place in network.devices and domain.elsewhere:
        raise NotThatWay(f"the inventory has no address of {place}, by which {domain.name} knows it")
    return reservation


def with_name(reservation: Reservation, network: Network) -> Reservation:
    """A claim with its host's name, where the inventory has one of its address."""
    assert reservation.claim is not None
    place = reservation.claim.place
    names = [name for name, host in network.hosts.items() if str(host.address) == place]
    return _at(reservation, names[0]) if names else reservation


def next_towards(domain: str, own: str, network: Network) -> str:
    """The neighbour on a way over the fewest domains; among equals the first by name.

    Raises:
        NotThatWay: there is none.
    """
    ways = deque((one, one) for one in neighbours_of(network, own))
    visited = {own}
    while ways:
        first, at = ways.popleft()
        if at == domain:
            return first
        if at not in visited:
            visited.add(at)
            ways.extend((first, other) for other in neighbours_of(network, at))
    raise NotThatWay(f"{own}: no link of the inventory leads to {domain}")


def _at(reservation: Reservation, place: str) -> Reservation:
    claim = reservation.claim
    assert claim is not None
    for key in (key for key, value in claim.request.items() if value == claim.place):
        request = {**claim.request, key: place}
        read = request_of(claim.kind, request)
        if read is not None and read.place == place:
            ends = {
                name: getattr(reservation, name).model_copy(update={"host": place})
                for name in ("source", "destination")
            }
            moved_claim = claim.model_copy(update={"place": place, "request": request})
            return reservation.model_copy(update={"claim": moved_claim, **ends})
    raise NotThatWay(f"a request for {claim.kind} cannot say its host by address, and so crosses no domains")
