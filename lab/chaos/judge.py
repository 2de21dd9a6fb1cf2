"""Was every reservation where it should be, when it should be? Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: After a slot's end, or before its start, a router may carry it for so long: its timer's lag.
OUTSIDE_S = 3.0
#: So long a slot may be on one edge and not on the other: a controller is started again, reads, pushes.
PARTIAL_S = 60.0
#: After a cancel, so long until it is gone.
CANCEL_S = 60.0


@dataclass(frozen=True, slots=True)
class Sample:
    """At `at_s` (s since the epoch) a router had policers for these ports."""

    at_s: float
    router: str
    ports: frozenset[int]


@dataclass(frozen=True, slots=True)
class Slot:
    """What the ledger says of a reservation in the end."""

    name: str
    port: int
    start_s: float
    end_s: float
    cancelled_s: float | None = None

    @property
    def until_s(self) -> float:
        return self.end_s if self.cancelled_s is None else min(self.end_s, self.cancelled_s + CANCEL_S)


def judge(samples: Sequence[Sample], slots: Iterable[Slot], routers: Sequence[str]) -> list[str]:
    """What was wrong, in words; nothing where nothing was. `samples` are ordered by time."""
    found = []
    known = {slot.port: slot for slot in slots}
    for sample in samples:
        for port in sorted(sample.ports - set(known)):
            found.append(f"{sample.router} carries port {port}, of which the ledger knows nothing")
        for port in sorted(sample.ports & set(known)):
            slot = known[port]
            if not slot.start_s - OUTSIDE_S <= sample.at_s <= slot.until_s + OUTSIDE_S:
                early = sample.at_s - slot.start_s
                late = sample.at_s - slot.until_s
                found.append(f"{slot.name} is on {sample.router} {max(-early, late):.1f} s outside of its window")
    for slot in known.values():
        found += _partial(slot, samples, routers)
    return found


def _partial(slot: Slot, samples: Sequence[Sample], routers: Sequence[str]) -> list[str]:
    """Whether the slot was on some of its routers only, for longer than a push and a restart take."""
    latest: dict[str, bool] = {}
    since: float | None = None
    worst = 0.0
    for sample in samples:
        if not slot.start_s <= sample.at_s <= slot.until_s:
            continue
        latest[sample.router] = slot.port in sample.ports
        mixed = len(latest) == len(routers) and len(set(latest.values())) > 1
        since = (since if since is not None else sample.at_s) if mixed else None
        if since is not None:
            worst = max(worst, sample.at_s - since)
    return [f"{slot.name} was on some of its routers only for {worst:.0f} s"] if worst > PARTIAL_S else []


def was_active(slot: Slot, samples: Iterable[Sample], routers: Iterable[str]) -> bool:
    """Whether it was seen on all of `routers`: chaos may keep a slot from its routers, but not all slots."""
    return set(routers) <= {sample.router for sample in samples if slot.port in sample.ports}
