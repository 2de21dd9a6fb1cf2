"""What a load adds to a class's delay: with it, less without it, in the same slot, and how sure that is. Pure.

The machine that emulates the routers adds some milliseconds of its own to every delay, others in every run. In one slot,
under one configuration, it adds them to both, and the difference shows what the queues add.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from statistics import fmean, median

from slotcar_lab.experiments.figures import MILLISECOND
from slotcar_lab.metrics.model import Delay

#: Delays that follow each other are alike: what is drawn again is a second of them, not a packet.
BLOCK_US = 1_000_000
#: An interval of 95 % is between the 2.5th and the 97.5th percentile of so many draws.
DRAWS = 400
CONFIDENCE = 0.95
#: Fewer seconds with values in them say nothing of how they vary.
LEAST_BLOCKS = 4

Blocks = tuple[tuple[float, ...], ...]
#: Of values in ms, none of which there may not be.
Statistic = Callable[[Sequence[float]], float]


@dataclass(frozen=True, slots=True)
class Pair:
    """A stream in one slot with the load beside it, and with so little beside it that no queue of the path fills."""

    loaded: tuple[Delay, ...]
    unloaded: tuple[Delay, ...]


@dataclass(frozen=True, slots=True)
class Added:
    """The difference in ms, its interval of 95 %, and of how many slots it is."""

    value: float
    low: float
    high: float
    slots: int

    @property
    def width(self) -> float:
        return self.high - self.low

    def __str__(self) -> str:
        slots = f"{self.slots} slot{'s' if self.slots != 1 else ''}"
        return f"95 % between {self.low:.1f} and {self.high:.1f} ms, of {slots}"


@dataclass(frozen=True, slots=True)
class Figure:
    """What is said of a stream: a statistic of its delays, or of the absolute IPDV of its consecutive packets."""

    statistic: Statistic
    varies: bool = False

    def blocks(self, stream: Sequence[Delay]) -> Blocks:
        """The values of each second of the stream in ms, by when the packet was sent; of those that arrived."""
        if self.varies:
            pairs = [(one, other) for one, other in pairwise(stream)]
            values = [
                (other.sent_us, abs(other.delay_us - one.delay_us))
                for one, other in pairs
                if one.delay_us is not None and other.delay_us is not None
            ]
        else:
            values = [(packet.sent_us, packet.delay_us) for packet in stream if packet.delay_us is not None]
        by_second: dict[int, list[float]] = {}
        for sent_us, value_us in values:
            by_second.setdefault(sent_us // BLOCK_US, []).append(value_us / MILLISECOND)
        return tuple(tuple(block) for block in by_second.values())


def percentile_95(values: Sequence[float]) -> float:
    """The least value that 95 of 100 do not exceed (RFC 2330 §11.3)."""
    return sorted(values)[ceil(0.95 * len(values)) - 1]


MEDIAN = Figure(median)
HIGH = Figure(percentile_95)
HIGH_IPDV = Figure(percentile_95, varies=True)
MEAN_IPDV = Figure(fmean, varies=True)


def added(pairs: Sequence[Pair], figure: Figure, beside: Sequence[Pair] = ()) -> Added | None:
    """What the load added in these slots; where `beside` is given, less what it added in those.

    The interval is of a block bootstrap: seconds of each part are drawn again, with the same draws in every run.

    Returns:
        None where too little arrived to say.
    """
    parts = [
        (sign, tuple(block for pair in slots for block in figure.blocks(side(pair))))
        for sign, slots, side in (
            (1, pairs, _loaded), (-1, pairs, _unloaded), (-1, beside, _loaded), (1, beside, _unloaded),
        )
        if slots
    ]  # fmt: skip
    if not parts or any(len(blocks) < LEAST_BLOCKS for _, blocks in parts):
        return None
    chance = random.Random(0)  # noqa: S311 - not for secrets
    drawn = sorted(
        sum(sign * _of(figure, chance.choices(blocks, k=len(blocks))) for sign, blocks in parts) for _ in range(DRAWS)
    )
    outside = round(DRAWS * (1 - CONFIDENCE) / 2)
    value = sum(sign * _of(figure, blocks) for sign, blocks in parts)
    return Added(value, drawn[outside], drawn[-1 - outside], len(pairs))


def _of(figure: Figure, blocks: Sequence[Sequence[float]]) -> float:
    return figure.statistic([value for block in blocks for value in block])


def _loaded(pair: Pair) -> tuple[Delay, ...]:
    return pair.loaded


def _unloaded(pair: Pair) -> tuple[Delay, ...]:
    return pair.unloaded
