"""The demo's figures: phases of the run, throughput in each, and the verdicts that follow. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean


@dataclass(frozen=True, slots=True)
class Sample:
    """What an end counted over one interval that ended at `at_s` (seconds since the run's start)."""

    at_s: float
    received_bps: float


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow's samples, of what was received and of what was sent.

    `offered_bps` is what its sender was told to send (payload); on a busy machine it may not manage to.
    """

    name: str
    offered_bps: int
    samples: tuple[Sample, ...]
    sent: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the run in which nothing changes, `[start_s, end_s)`.

    `late_s` is how long after its start the last router was, by its own account, still as it was before.
    """

    name: str
    start_s: float
    end_s: float
    late_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    claim: str
    holds: bool
    evidence: str


#: Seconds left out at each end of a phase: queues drain, and a sample may straddle the boundary.
SETTLE_S = 1.5


def phases_of(bounds_s: Sequence[float], late_s: Mapping[str, float]) -> tuple[Phase, ...]:
    """The run's phases between the five moments that bound them; `late_s` of those that began with a boundary."""
    names = ("alone", "congested", "reserved", "after")
    return tuple(
        Phase(name, start_s, end_s, late_s.get(name, 0.0))
        for name, (start_s, end_s) in zip(names, pairwise(bounds_s), strict=True)
    )


def mean_bps(samples: Sequence[Sample], phase: Phase, settle_s: float = SETTLE_S) -> float | None:
    """Mean rate in a phase, once it is in force; None where no sample lies well inside it."""
    start_s = phase.start_s + phase.late_s + settle_s
    inside = [s.received_bps for s in samples if start_s <= s.at_s < phase.end_s - settle_s / 2]
    return fmean(inside) if inside else None


#: "Kept": so much of what was sent arrives. "Lost": no more than so much, while the load is there.
KEPT, LOST = 0.97, 0.88
#: Below it the machine was too busy to send what the demo wanted, and the figures say so.
SENT_ENOUGH = 0.90


def verdicts(premium: Flow, phases: Sequence[Phase]) -> tuple[Verdict, ...]:
    """What the run shows of the premium flow: kept in its slot, lost outside it, each of what was sent."""
    shown: list[Verdict] = []
    for phase in phases:
        keeps = phase.name in ("alone", "reserved")
        received, sent = mean_bps(premium.samples, phase), mean_bps(premium.sent, phase)
        ratio = received / sent if received is not None and sent else None
        holds = ratio is not None and (ratio >= KEPT if keeps else ratio <= LOST)
        verb = "keeps its rate" if keeps else "loses its rate"
        evidence = "no sample"
        if received is not None and sent:
            evidence = f"{received / 1e6:.1f} of {sent / 1e6:.1f} Mb/s"
        shown.append(Verdict(f"{phase.name}: the premium flow {verb}", holds, evidence))
    return tuple(shown)


def too_busy(flow: Flow, phases: Sequence[Phase]) -> bool:
    """Whether the sender could not send what it was told, because the machine had other things to do."""
    means = [mean_bps(flow.sent, phase) for phase in phases]
    return any(mean is not None and mean < SENT_ENOUGH * flow.offered_bps for mean in means)
