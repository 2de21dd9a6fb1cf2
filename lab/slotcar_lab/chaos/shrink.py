"""The shortest history that still fails: actions are left out one by one, unless it is in order without them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def shrunk(history: Sequence[T], fails: Callable[[Sequence[T]], bool], more: Callable[[], bool]) -> list[T]:
    """A part of `history` that fails, in its order: none of its actions could be left out, or there was no more time.

    Args:
        fails: plays a history anew; `history` itself is taken to fail.
        more: whether there is time for another play.
    """
    left, position = list(history), len(history) - 1
    # From the end: what comes last most often has nothing to do with it.
    while position >= 0 and more():
        without = [*left[:position], *left[position + 1 :]]
        if fails(without):
            left = without
        position -= 1
    return left
