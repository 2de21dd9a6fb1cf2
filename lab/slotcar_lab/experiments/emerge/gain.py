"""Gain, loss and their ratio: EMERGE 3, the third experiment of the EMERGE paper.

"We define the Gain in using DiffServ as the amount of recovery that occurs when DiffServ was applied to the foreground
traffic. And we define the Loss as the performance degradation in the non-DiffServ background traffic. Ideally the ratio
of gain to loss should be greater than or equal to 1."

The paper monitored throughput and latency. Both figures here are differences between the stage with the reservation and
the congested one before it, in the unit of what is compared. Sampling: one figure of each flow and stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf


@dataclass(frozen=True, slots=True)
class Stage:
    """One figure of both flows in one stage, in one unit: rates in bits a second, or delays in microseconds."""

    foreground: float
    background: float


def gain(congested: Stage, reserved: Stage, *, more_is_better: bool = True) -> float:
    """How much of it the foreground recovered.

    Args:
        congested: before the reservation.
        reserved: with it.
        more_is_better: True of a rate, False of a delay.
    """
    recovered = reserved.foreground - congested.foreground
    return recovered if more_is_better else -recovered


def loss(congested: Stage, reserved: Stage, *, more_is_better: bool = True) -> float:
    """How much of it the background lost; negative where it gained."""
    degraded = congested.background - reserved.background
    return degraded if more_is_better else -degraded


def ratio(gained: float, lost: float) -> float | None:
    """Gain over loss; the paper wants at least 1.

    Infinite where the background lost nothing and the foreground did not either: that costs nobody anything. None where
    the foreground lost although the background lost nothing, which no ratio describes.
    """
    if lost > 0:
        return gained / lost
    return inf if gained >= 0 else None
