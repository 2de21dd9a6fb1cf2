"""What was counted in a stretch of time, over steps of equal length that all readings share. Pure; nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise


def steps_of(start_us: int, end_us: int, step_us: int) -> Iterator[tuple[int, int]]:
    """The steps that a stretch lies in, each by its beginning, with how much of the stretch is in it. A stretch of no
    time lies in one step.

    >>> list(steps_of(50, 130, 60))
    [(0, 10), (60, 60), (120, 10)]
    >>> list(steps_of(70, 70, 60))
    [(60, 0)]
    """
    first_us = start_us // step_us * step_us
    edges = [start_us, *range(first_us + step_us, end_us, step_us), max(end_us, start_us)]
    for left_us, right_us in pairwise(edges):
        yield left_us // step_us * step_us, right_us - left_us


def parted(whole: int, weights: Sequence[int]) -> list[int]:
    """`whole` in parts as the weights are, which add up to it; all in the first one where there is no weight.

    >>> parted(10, [1, 1, 1])
    [3, 3, 4]
    >>> parted(10, [0, 0])
    [10, 0]
    """
    total = sum(weights)
    if total == 0:
        return [whole, *[0] * (len(weights) - 1)]
    parts, done, reached = [], 0, 0
    for weight in weights:
        reached += weight
        upto = whole * reached // total
        parts.append(upto - done)
        done = upto
    return parts
