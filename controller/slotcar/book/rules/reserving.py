"""What the site's policies are told of a reservation, and the totals of those that are live beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from slotcar.network.path.model import Path
from slotcar.policy.questions import Uid
from slotcar.policy.site import Site
from slotcar.reservation.model import Reservation, Slot

#: A reservation that claims nothing of a host is of this kind.
FLOW = "flow"


@dataclass(frozen=True, slots=True)
class ReservingRules:
    """Attributes:
    domains: of each device.
    agreements: by neighbour, what was agreed with it; see `Domain` of the schema.
    """

    site: Site = field(default_factory=Site)
    domains: Mapping[str, str] = field(default_factory=dict)
    agreements: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def needs(self, reservation: Reservation, paths: Sequence[Path]) -> tuple[Uid, ...]:
        """What a reservation on these paths is in: its service, SLSs, links, domains, hosts and kind, each once."""
        claim = reservation.claim
        needs: list[Uid] = [("Service", reservation.service.value), ("Kind", claim.kind if claim else FLOW)]
        if claim is not None:
            needs.append(("Host", claim.place))
        for path in paths:
            needs += [("Host", path.source), ("Host", path.destination), *(("Sls", name) for name in path.sls)]
            for hop in path.hops:
                needs += [("Link", str(hop.egress)), ("Domain", self.domains.get(hop.device, ""))]
        return tuple(dict.fromkeys(needs))


@dataclass(frozen=True, slots=True)
class LiveRates:
    """What a live reservation has when. `forms`: the counted slots of what it is, and of what it may become."""

    owner: str
    asked_by: str | None
    forms: tuple[tuple[Slot, ...], ...]


def peak_bps(forms: Iterable[Sequence[Sequence[Slot]]], during: Sequence[Slot]) -> int:
    """The highest sum of rates, of one direction each, at an instant of `during`. `forms`: for each reservation the slots
    of what it is and of what it may become; the greater counts at each instant."""
    steps: list[tuple[datetime, int]] = []
    for of_one in forms:
        steps += _steps(of_one)
    steps.sort()
    highest, rate_bps, at = 0, 0, 0
    for window in sorted(during):
        while at < len(steps) and steps[at][0] <= window.start:
            rate_bps += steps[at][1]
            at += 1
        highest = max(highest, rate_bps)
        while at < len(steps) and steps[at][0] < window.end:
            moment = steps[at][0]
            while at < len(steps) and steps[at][0] == moment:
                rate_bps += steps[at][1]
                at += 1
            highest = max(highest, rate_bps)
    return highest


def _steps(forms: Sequence[Sequence[Slot]]) -> list[tuple[datetime, int]]:
    """By how much the rate changes at which instants."""
    slots = [slot for form in forms for slot in form]
    instants = sorted({moment for slot in slots for moment in (slot.start, slot.end)})
    if len(forms) == 1:
        return [step for slot in slots for step in ((slot.start, max(slot.rates)), (slot.end, -max(slot.rates)))]
    steps, before = [], 0
    for moment in instants:
        rate_bps = max((max(slot.rates) for slot in slots if slot.start <= moment < slot.end), default=0)
        steps.append((moment, rate_bps - before))
        before = rate_bps
    return steps
