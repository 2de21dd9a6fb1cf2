"""What platforms say of a priority queue that has no ceiling."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slotcar.base.vocabulary import Service
from slotcar.network.variables import format_share
from slotcar.platforms.intent.model import Egress
from slotcar.platforms.model import Approximation


def without_ceiling(egresses: Iterable[Egress], device: str) -> Iterator[Approximation]:
    """Of the interfaces on which premium stands before all others, whatever comes, and may have less than all."""
    places: dict[int, list[str]] = {}
    for egress in egresses:
        premium = next(queue for queue in egress.queues if queue.service is Service.IP_PREMIUM)
        if premium.share_ppm and premium.ceiling_bps < egress.capacity_bps:
            places.setdefault(premium.share_ppm, []).append(egress.interface.name)
    if places:
        shares = [f"{format_share(ppm)} of {' and '.join(names)}" for ppm, names in places.items()]
        if len(shares) == 1:
            shares = [f"{format_share(next(iter(places)))} of the link"]  # the same of all routers like it
        words = (
            "strict priority has no ceiling for ip-premium: the policers at the edges alone hold it to its share,"
            f" {', '.join(shares)}"
        )
        yield Approximation(device, "ip-premium ceiling", words)
