"""The lab's domains without an SLS between two of them, which they may agree on."""

from __future__ import annotations

from slotcar.network import Network
from tests.unit.domains.networks import lab_of

MBPS = 1_000_000


def without_border(domain: str) -> Network:
    """The lab with no SLS between anl and esnet; what esnet and lbnl agree on stays in their inventories."""
    network = lab_of(domain)
    sls = {name: each for name, each in network.sls.items() if "anl" not in (each.upstream, each.downstream)}
    domains = {name: each.model_copy(update={"sls_at_most_bps": 40 * MBPS}) for name, each in network.domains.items()}
    return network.model_copy(update={"sls": sls, "domains": domains})
