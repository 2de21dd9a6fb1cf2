"""What is known of the ways between end systems, as of an instant: samples out of the ledger, estimates, closeness."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from itertools import product

from slotcar.measuring.costs.closeness import Closeness, Metrics, closeness
from slotcar.measuring.costs.estimates import Estimate, loss, round_trip, throughput
from slotcar.measuring.costs.network_costs import Cost, cost_of
from slotcar.network.model import Network
from slotcar.store.measurements import MeasuredWay, Measurements, ProbeSample, TransferSample

#: How old a sample may be where nobody says.
TOLERANCE = timedelta(days=30)


def way_between(network: Network, source: str, destination: str) -> MeasuredWay:
    """
    Raises:
        KeyError: no such end system.
    """
    ends = network.hosts[source], network.hosts[destination]
    return MeasuredWay(source, destination, ends[0].measured_in, ends[1].measured_in)


def is_local(network: Network, way: MeasuredWay) -> bool:
    """One host, or two behind the same edge interface, which is a LAN."""
    ends = network.hosts.get(way.source), network.hosts.get(way.destination)
    return way.source == way.destination or (
        None not in ends and ends[0].attached_to == ends[1].attached_to  # type: ignore[union-attr]
    )


@dataclass(frozen=True)
class KnownWays:
    """Samples of the ways from some hosts to others.

    Attributes:
        tools: only samples of these count; of all tools where there is none.
    """

    network: Network
    moved: Sequence[TransferSample]
    probed: Sequence[ProbeSample]
    tools: Collection[str] = ()
    _metrics: dict[MeasuredWay, Metrics] = field(default_factory=dict, repr=False)

    def way(self, source: str, destination: str) -> MeasuredWay:
        return way_between(self.network, source, destination)

    def metrics(self, way: MeasuredWay) -> Metrics:
        if way not in self._metrics:
            probes = self.probes_of(way)
            self._metrics[way] = Metrics(
                rtt=round_trip(way, probes, self.tools),
                throughput=throughput(way, self.transfers_of(way), probes, self.tools),
                loss=loss(way, probes, self.tools),
                local=is_local(self.network, way),
            )
        return self._metrics[way]

    def cost(self, way: MeasuredWay, volume_bytes: int) -> Cost | None:
        return cost_of(volume_bytes, self.throughput(way))

    def throughput(self, way: MeasuredWay) -> Estimate | None:
        return self.metrics(way).throughput

    def near(self, source: str, destination: str, alpha_ppm: int) -> Closeness | None:
        return closeness(self.metrics(self.way(source, destination)), alpha_ppm)

    def time_us(self, source: str, destination: str, volume_bytes: int) -> int | None:
        """0 on one host; None where the way is not measured."""
        if source == destination:
            return 0
        cost = self.cost(self.way(source, destination), volume_bytes)
        return cost.cost_us if cost else None

    def transfers_of(self, way: MeasuredWay) -> list[TransferSample]:
        return [one for one in self.moved if _is_along(one.way, way)]

    def probes_of(self, way: MeasuredWay) -> list[ProbeSample]:
        return [one for one in self.probed if _is_along(one.way, way)]


def _is_along(measured: MeasuredWay, way: MeasuredWay) -> bool:
    return measured[:2] == way[:2] or measured[2:] == way[2:]


def known_ways(
    measurements: Measurements, network: Network, sources: Collection[str], destinations: Collection[str],
    now: datetime, tolerance: timedelta = TOLERANCE, tools: Collection[str] = (),
) -> KnownWays:  # fmt: skip
    """What was measured before `now`, and no longer before than `tolerance`.

    Raises:
        KeyError: no such end system. LedgerUnavailable.
    """
    ways = set(map(partial(_way, network), product(sources, destinations)))
    if not ways:
        return KnownWays(network, (), (), tools)
    since = now - tolerance
    return KnownWays(network, measurements.transfers(ways, since, now), measurements.probes(ways, since, now), tools)


def _way(network: Network, ends: tuple[str, str]) -> MeasuredWay:
    return way_between(network, *ends)
