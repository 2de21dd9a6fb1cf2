"""What the site's policies are told of a reservation, and the totals of those that are live beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any, NamedTuple

from slotcar.base.timebase import Window, to_us
from slotcar.network.path.model import Path
from slotcar.policy.questions import Uid
from slotcar.policy.reserving import Total
from slotcar.policy.site import Site
from slotcar.reservation.model import Reservation, Slot

#: A reservation that claims nothing of a host is of this kind.
FLOW = "flow"
#: The kind of `Whose` of what a neighbour asked for.
BY_NEIGHBOUR = "by-neighbour"


@dataclass(frozen=True, slots=True)
class ReservingRules:
    """Attributes:
    domains: of each device.
    hosts: the inventory's, by their addresses: a policy about a host is about it however a request calls it.
    agreements: by neighbour, what was agreed with it; see `Domain` of the schema.
    """

    site: Site = field(default_factory=Site)
    domains: Mapping[str, str] = field(default_factory=dict)
    agreements: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    hosts: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def needs(self, reservation: Reservation, paths: Sequence[Path]) -> tuple[Uid, ...]:
        """What a reservation on these paths is in: its service, SLSs, links, domains, hosts and kind, each once."""
        claim = reservation.claim
        needs: list[Uid] = [("Service", reservation.service.value), ("Kind", claim.kind if claim else FLOW)]
        if claim is not None:
            needs += self._host(claim.place, claim.place)
        for path in paths:
            needs += self._host(path.source, path.source_address)
            needs += self._host(path.destination, path.destination_address)
            needs += [("Sls", name) for name in path.sls]
            for hop in path.hops:
                needs += [("Link", str(hop.egress)), ("Domain", self.domains.get(hop.device, ""))]
        return tuple(dict.fromkeys(needs))

    def _host(self, written: str, address: str) -> list[Uid]:
        return [("Host", name) for name in (written, address, *self.hosts.get(address, ()))]


class Whose(NamedTuple):
    """Whose reservations count together.

    Attributes:
        kind: `owner`, `community` or `domain`, of which an owner is a part; or `by-neighbour`, what a neighbour asked for.
    """

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class LiveAmount:
    """What a live reservation counts with in totals.

    Attributes:
        end_us: when it is over. volume_bits: rate times time, of the greater where a change waits.
        steps: start and end in microseconds and bits per second, of one direction; none overlaps another.
    """

    owner: str
    asked_by: str | None
    end_us: int
    volume_bits: int
    steps: tuple[tuple[int, int, int], ...] = ()

    def whose(self, site: Site) -> tuple[Whose, ...]:
        """All in whose totals it counts."""
        return *whose_of(site, self.owner), *(
            [Whose(BY_NEIGHBOUR, self.asked_by)] if self.asked_by is not None else ()
        )


def whose_of(site: Site, owner: str) -> tuple[Whose, ...]:
    """The owner, its community and its domain."""
    above = ("community", site.community_of(owner)), ("domain", site.domain_of(owner))
    return Whose("owner", owner), *(Whose(kind, name) for kind, name in above if name is not None)


def total_of(live: Iterable[LiveAmount], during: Sequence[Window], now: datetime) -> Total:
    """What these have together, found by looking at each; `Total.peak_bps` is that in the windows."""
    listed = list(live)
    left = [one for one in listed if one.end_us > to_us(now)]
    return Total(len(left), peak_bps(listed, during), sum(one.volume_bits for one in left))


def peak_bps(live: Iterable[LiveAmount], during: Sequence[Window]) -> int:
    """The highest sum of rates at an instant of `during`, found by looking at each reservation."""
    changes = sorted(
        change
        for one in live
        for start, end, rate_bps in one.steps
        for change in ((start, rate_bps), (end, -rate_bps))
    )
    highest, rate_bps, at = 0, 0, 0
    for window in sorted(during):
        while at < len(changes) and changes[at][0] <= window.start_us:
            rate_bps += changes[at][1]
            at += 1
        highest = max(highest, rate_bps)
        while at < len(changes) and changes[at][0] < window.end_us:
            moment = changes[at][0]
            while at < len(changes) and changes[at][0] == moment:
                rate_bps += changes[at][1]
                at += 1
            highest = max(highest, rate_bps)
    return highest


def steps_of(forms: Sequence[Sequence[Slot]]) -> tuple[tuple[int, int, int], ...]:
    """See `LiveAmount`. `forms`: the counted slots of what it is, and of what it may become; the greater counts at each
    instant.
    """
    slots = [(slot.start_us, slot.end_us, max(slot.rates)) for form in forms for slot in form]
    if len(forms) == 1:
        return tuple(one for one in slots if one[2])
    instants = sorted({moment for start, end, _ in slots for moment in (start, end)})
    steps = (
        (moment, until, max((rate for start, end, rate in slots if start <= moment < end), default=0))
        for moment, until in pairwise(instants)
    )
    return tuple(one for one in steps if one[2])
