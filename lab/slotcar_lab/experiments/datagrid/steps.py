"""Slots that follow each other while traffic passes: what the sweeps of D7.3 §8.1.1 are made of."""

from __future__ import annotations

from collections.abc import Sequence

from slotcar_lab import traffic
from slotcar_lab.experiments.bench import SLOT_SETTLE_S, Slot
from slotcar_lab.experiments.figures import Phase

#: Left out at a slot's start, where queues also drain that were filled under another weight; and at its end.
SETTLE_S = SLOT_SETTLE_S
BEFORE_END_S = 0.3


def phase(slot: Slot) -> Phase:
    """The part of a slot in which nothing changes."""
    return Phase(slot.name, slot.start + SETTLE_S, slot.end - BEFORE_END_S)


def mean_bps(samples: Sequence[traffic.Sample], during: Phase) -> float:
    """Mean rate of the samples that lie in the phase; 0 where none does."""
    inside = [s for s in samples if during.start <= s.ended_at - s.interval_s and s.ended_at <= during.end]
    return traffic.mean_bps(inside)
