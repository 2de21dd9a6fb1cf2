"""Was every reservation where it should be, when it should be; did the controllers end as they should? Pure."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

#: After a slot's end, or before its start, a router may carry it for so long: its timer's lag.
OUTSIDE_S = 3.0
#: So long a slot may be on one edge and not on the other: a controller is started again, reads, pushes.
PARTIAL_S = 60.0
#: After a cancel, so long until it is gone, at a pace of 1: a full disk, and turns, last longer at a slower one.
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
    pace: float = 1.0

    @property
    def until_s(self) -> float:
        if self.cancelled_s is None:
            return self.end_s
        return min(self.end_s, self.cancelled_s + CANCEL_S * max(1.0, self.pace))


def judge(samples: Sequence[Sample], slots: Iterable[Slot], routers: Sequence[str]) -> list[str]:
    """What was wrong, in words; nothing where nothing was. `samples` are ordered by time."""
    findings = []
    known = {slot.port: slot for slot in slots}
    for sample in samples:
        for port in sorted(sample.ports - set(known)):
            findings.append(f"{sample.router} carries port {port}, of which the ledger knows nothing")
        for port in sorted(sample.ports & set(known)):
            slot = known[port]
            if not slot.start_s - OUTSIDE_S <= sample.at_s <= slot.until_s + OUTSIDE_S:
                early = sample.at_s - slot.start_s
                late = sample.at_s - slot.until_s
                findings.append(f"{slot.name} is on {sample.router} {max(-early, late):.1f} s outside of its window")
    for slot in known.values():
        findings += _partial(slot, samples, routers)
    return findings


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


def quiet_since(slots: Sequence[Slot], now_s: float, since_s: float) -> float | None:
    """From which instant on, `since_s` at the earliest, a reading tells that nothing of these slots is left; None where
    one is to come or open."""
    if any(slot.end_s > now_s and slot.cancelled_s is None for slot in slots):
        return None
    return max([since_s, *(slot.end_s for slot in slots if slot.end_s <= now_s)])


class Cause(StrEnum):
    """Why a controller ended."""

    KILLED = "was killed"
    STOPPED = "was told to stop"
    ITSELF = "ended by itself"


@dataclass(frozen=True, slots=True)
class End:
    """How a controller ended.

    Attributes:
        status: as Python gives it: below zero, the signal.
        took_s: from SIGTERM to its end.
        timeout_s: after so long a supervisor kills a controller that was told to stop.
        processes: command lines of what it had started and what lived longer than it.
        folders: those of its plays that it left behind.
    """

    who: str
    cause: Cause
    status: int
    took_s: float = 0.0
    timeout_s: float = 30.0
    processes: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


#: A supervisor takes these for a stop that went well (systemd.service(5), `SuccessExitStatus=`).
STOPPED_WELL = (0, 128 + signal.SIGTERM)


def judge_end(end: End) -> list[str]:
    """What was wrong with it, in words. A controller that is killed can do nothing about what it leaves."""
    if end.cause is Cause.KILLED:
        return []
    findings = []
    if end.cause is Cause.ITSELF and end.status == 0:
        findings.append(f"{end.who} ended by itself with status 0: its supervisor would not start it again")
    if end.cause is Cause.STOPPED and end.took_s > end.timeout_s:
        findings.append(f"{end.who} was told to stop and still ran after {end.timeout_s:g} s")
    elif end.cause is Cause.STOPPED and end.status not in STOPPED_WELL:
        findings.append(f"{end.who} was told to stop and ended with status {end.status}")
    findings += [f"{end.who} has ended, and what it had started runs on: {command}" for command in end.processes]
    findings += [f"{end.who} has ended and left the folder {name} of a play behind" for name in end.folders]
    return findings


def never_happened(happened: Mapping[str, int], kinds: Sequence[str], rounds: int) -> list[str]:
    """The kinds of faults that a long run lacks: each is drawn at least twice in as many rounds as two times the kinds."""
    return [kind for kind in kinds if not happened.get(kind)] if rounds >= 2 * len(kinds) else []
