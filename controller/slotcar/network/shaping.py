"""Aggregates that are shaped where they leave a domain: to what the SLS at the link's other end lets in.

The policer at the SLS's ingress counts IP bytes, a shaper counts more of each packet. So a shaper is told the rate that
full packets take in its own count: then no packets up to that length come faster than the SLS's rate. Shorter ones take
more of the shaper than of the SLS, and admission counts that against the SLS.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from slotcar.base.registry import ShaperFacts, facts_of
from slotcar.base.vocabulary import ETHERNET_HEADER_BYTES, LONGEST_PACKET_BYTES
from slotcar.network.model import Interface, Network, Sls


@dataclass(frozen=True, slots=True, order=True)
class Shaper:
    """What an aggregate is held to.

    Attributes:
        rate_bps: as the platform's shaper counts packets, in the step that it takes.
        burst_bytes: what the policer behind it lets through at once, IP: more may not leave at once.
    """

    rate_bps: int
    burst_bytes: int


def shaping_interface(sls: Sls, network: Network) -> Interface | None:
    """The interface of the upstream domain that shapes what leaves towards the SLS; None where none does."""
    if not network.has([sls.ingress]):
        return None
    other = network.interface(sls.ingress).neighbour
    if other is None or not network.has([other]) or not network.interface(other).shapes_to_sls:
        return None
    domain = network.domain_of(other)
    return network.interface(other) if domain.name == sls.upstream and not domain.is_unreserved else None


def shaper_towards(sls: Sls, interface: Interface, network: Network) -> Shaper:
    """What the aggregate of the SLS is held to on the interface that shapes it.

    Raises:
        ValueError: its platform has no shaper; `shaping_checks` notes that of every inventory.
    """
    facts = shaper_facts(network.devices[interface.id.device].platform)
    rate_bps = sls.rate_bps * (LONGEST_PACKET_BYTES + _counted_bytes(facts, interface)) // LONGEST_PACKET_BYTES
    return Shaper(max(1, rate_bps // facts.grain_bps(rate_bps)) * facts.grain_bps(rate_bps), sls.burst_bytes)


def shapers_at(network: Network, at: datetime | None = None) -> Iterator[tuple[Interface, Sls, Shaper]]:
    """All shapers towards SLSs that are valid at the instant; towards all SLSs without one."""
    for sls in network.sls.values():
        interface = shaping_interface(sls, network)
        if interface is not None and (at is None or sls.validity is None or sls.validity.contains(at)):
            yield interface, sls, shaper_towards(sls, interface, network)


def devices_of(sls: Sls, network: Network) -> set[str]:
    """The devices whose configuration depends on the SLS: that which polices it, and that which shapes towards it."""
    shaping = shaping_interface(sls, network)
    return {sls.ingress.device} | ({shaping.id.device} if shaping else set())


def extra_bytes(sls: Sls, packet_bytes: int, network: Network) -> int:
    """What an IP packet of this size counts against the SLS beside itself, rounded up: 0 where nothing shapes towards it,
    and for full packets where the shaper takes every rate.

    All packets of a set that fits the SLS by this count fit the shaper. With o bytes of overhead on the line, c that the
    shaper counts of them, R the SLS's rate, C the shaper's and N the longest packet, a rate r of packets of p bytes counts
    r (p + o) / p x R / C x (N + c) / (N + o). If these add up to at most R, then the r (p + c) / p to at most C.
    """
    interface = shaping_interface(sls, network)
    if interface is None:
        return 0
    facts = shaper_facts(network.devices[interface.id.device].platform)
    counted, overhead = _counted_bytes(facts, interface), interface.overhead_bytes
    rate_bps = shaper_towards(sls, interface, network).rate_bps
    wanted = (packet_bytes + max(overhead, counted)) * sls.rate_bps * (LONGEST_PACKET_BYTES + counted)
    given = rate_bps * (LONGEST_PACKET_BYTES + max(overhead, counted))
    return max(0, -(-wanted // given) - packet_bytes)


def shaper_facts(platform: str) -> ShaperFacts:
    """
    Raises:
        ValueError: the platform has no shaper.
    """
    facts = facts_of(platform).shaper
    if facts is None:
        raise ValueError(f"{platform} cannot shape an aggregate")
    return facts


def _counted_bytes(facts: ShaperFacts, interface: Interface) -> int:
    line_bytes = max(interface.overhead_bytes, ETHERNET_HEADER_BYTES)
    return line_bytes if facts.overhead_bytes is None else facts.overhead_bytes
