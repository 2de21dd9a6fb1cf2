"""The lab's domains without an SLS between two of them, which they may agree on."""

from __future__ import annotations

from slotcar.base.vocabulary import Service
from slotcar.network import Network
from tests.unit.domains.networks import lab_of

MBPS = 1_000_000


def without_border(domain: str) -> Network:
    """The lab with no SLS between anl and esnet; what esnet and lbnl agree on stays in their inventories."""
    network = lab_of(domain)
    sls = {name: each for name, each in network.sls.items() if "anl" not in (each.upstream, each.downstream)}
    domains = {name: each.model_copy(update={"sls_at_most_bps": 40 * MBPS}) for name, each in network.domains.items()}
    return network.model_copy(update={"sls": sls, "domains": domains})


def with_reservations(domain: str) -> Network:
    """As `without_border`, and SLSs between anl and esnet go with reservations."""
    return going_with(without_border(domain), {"anl", "esnet"})


def without_any(domain: str) -> Network:
    """No SLS at all: all of them go with reservations."""
    network = without_border(domain)
    return going_with(network.model_copy(update={"sls": {}}), {"anl", "esnet", "lbnl"})


def going_with(network: Network, names: set[str]) -> Network:
    bursts = {"sls_with_reservations": {Service.IP_PREMIUM: 500_000}}
    domains = {
        name: each.model_copy(update=bursts) if name in names else each for name, each in network.domains.items()
    }
    return network.model_copy(update={"domains": domains})
