"""A network as the controller of one domain has it: the other domains are drawn in it, and are other controllers'."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar.base.problems import InvalidInput, Problem
from slotcar.network.model import Network
from slotcar.network.path.model import Path


def seen_by(network: Network, domain: str) -> Network:
    """The network with all domains but one elsewhere, and only the SLSs that this one is a side of.

    What is written of a neighbour may be a sketch: a router at the other end of each link, and edge interfaces with the
    prefixes that are reached through it.

    Raises:
        InvalidInput: there is no such domain.
    """
    if domain not in network.domains:
        hint = f"say one of {', '.join(network.domains)}"
        raise InvalidInput([Problem("SLOTCAR_DOMAIN", 0, "", "is no domain of the inventory", domain, hint)])
    domains = {
        name: each if name == domain else each.model_copy(update={"elsewhere": True})
        for name, each in network.domains.items()
    }
    sls = {name: each for name, each in network.sls.items() if domain in (each.upstream, each.downstream)}
    return network.model_copy(update={"domains": domains, "sls": sls})


def neighbours_of(network: Network, domain: str) -> tuple[str, ...]:
    """The domains that a link of the domain leads to, by name."""
    links = (
        interface.neighbour
        for device in network.devices.values()
        if device.domain == domain
        for interface in device.interfaces.values()
    )
    others = {network.domain_of(other).name for other in links if other is not None}
    return tuple(sorted(others - {domain}))


def leaves(paths: Iterable[Path], network: Network) -> bool:
    """Whether a path crosses another controller's domain."""
    return any(network.domains[network.devices[hop.device].domain].elsewhere for path in paths for hop in path.hops)
