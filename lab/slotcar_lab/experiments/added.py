"""What a load adds to a class's delay: with it, less without it, in the same slot. Pure.

What the routers take for each packet is in both, and the difference shows what the queues add.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from statistics import fmean, median

from slotcar.measuring.metrics.model import Delay
from slotcar_lab.experiments.figures import MILLISECOND

#: Of values in ms, none of which there may not be.
Statistic = Callable[[Sequence[float]], float]


@dataclass(frozen=True, slots=True)
class Pair:
    """A stream in one slot with the load beside it, and with so little beside it that no queue of the path fills."""

    loaded: tuple[Delay, ...]
    unloaded: tuple[Delay, ...]


@dataclass(frozen=True, slots=True)
class Figure:
    """What is said of a stream: a statistic of its delays, or of the absolute IPDV of its consecutive packets."""

    statistic: Statistic
    varies: bool = False

    def of(self, stream: Sequence[Delay]) -> float | None:
        """In ms, of the packets that arrived; None where none did."""
        delays_us = [packet.delay_us for packet in stream]
        if self.varies:
            values_us = [abs(b - a) for a, b in pairwise(delays_us) if a is not None and b is not None]
        else:
            values_us = [one for one in delays_us if one is not None]
        return self.statistic([one / MILLISECOND for one in values_us]) if values_us else None


def percentile_95(values: Sequence[float]) -> float:
    """The least value that 95 of 100 do not exceed (RFC 2330 §11.3)."""
    return sorted(values)[ceil(0.95 * len(values)) - 1]


MEDIAN = Figure(median)
HIGH = Figure(percentile_95)
HIGH_IPDV = Figure(percentile_95, varies=True)
MEAN_IPDV = Figure(fmean, varies=True)


def added(pair: Pair, figure: Figure) -> float | None:
    """What the load added in the slot, ms; None where nothing arrived."""
    loaded, unloaded = figure.of(pair.loaded), figure.of(pair.unloaded)
    return None if loaded is None or unloaded is None else loaded - unloaded
