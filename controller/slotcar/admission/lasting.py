"""What is free as a profile may have it: in parts that last, and in no more of them than a profile has steps.

Nowhere more than is free. What is lost is as little as joining a part with its neighbours one by one can do, or a grid of
minutes where that leaves more, or where many parts are short.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from slotcar.admission.free import Free
from slotcar.admission.rates import Profile, RateStep
from slotcar.admission.steady import MINUTE_US, coarse, on_grid
from slotcar.admission.step_rules import LEAST_STEP_US, MOST_STEPS

#: More parts than this are not joined one by one: it would take longer than a caller waits.
MOST_SHORT, MOST_PARTS = 64, 200


class _Change(NamedTuple):
    """A way to have one part less: the volume that is lost, and the steps that stand for those from `first` to `last`,
    which are counted from the part whose way it is.
    """

    lost: int
    first: int
    last: int
    steps: tuple[RateStep, ...]


#: The ways that a part has, by what stands on both its sides.
_Ways = Callable[[list[RateStep], int], Iterable[_Change]]


def lasting(free: Free) -> Free:
    """The same with parts that last a minute, those in which nothing is free too; one part where all is shorter."""
    least_us = min(LEAST_STEP_US, free.end_us - int(free.starts_us[0]))
    short = int((free.ends_us - free.starts_us < least_us).sum())
    if not short:
        return free
    rough = on_grid(free, MINUTE_US)
    if short > MOST_SHORT:
        return rough

    def ways(parts: list[RateStep], number: int) -> Iterator[_Change]:
        if parts[number].end_us - parts[number].start_us < least_us:
            yield from _joined(parts, number)
            yield from _drawn_out(parts, number, least_us)

    exact = Free.of(_fewer(free.profile(), ways, lambda parts: False))
    return exact if exact.microbits >= rough.microbits else rough


def few(free: Free, most: int = MOST_STEPS) -> Free:
    """The same with at most so many parts in which something is free."""
    if int((free.rates_bps > 0).sum()) <= most:
        return free

    def ways(parts: list[RateStep], number: int) -> Iterator[_Change]:
        part = parts[number]
        if part.rate_bps:
            yield from _joined(parts, number)
            yield _Change(part.microbits, 0, 0, (_at(part, 0),))

    def enough(parts: list[RateStep]) -> bool:
        return sum(1 for part in parts if part.rate_bps) <= most

    return Free.of(_fewer(coarse(free, MOST_PARTS).profile(), ways, enough))


def _fewer(profile: Profile, ways: _Ways, enough: Callable[[list[RateStep]], bool]) -> list[RateStep]:
    """Makes the change that loses least, the earliest of several, until there are few enough parts or no more ways.

    A part's ways are looked up again only where it or a neighbour changed.
    """

    def best(number: int) -> _Change | None:
        return min(ways(parts, number), default=None)

    parts = list(profile)
    known = [best(number) for number in range(len(parts))]
    while not enough(parts) and (
        placed := [
            (way.lost, number + way.first, number + way.last, way.steps)
            for number, way in enumerate(known)
            if way is not None
        ]
    ):
        _, first, last, steps = min(placed)
        begin, end = max(0, first - 1), min(len(parts), last + 2)
        inside = _one_each([*parts[begin:first], *steps, *parts[last + 1 : end]])
        parts[begin:end] = inside
        known[begin:end] = [None] * len(inside)
        for number in range(max(0, begin - 1), min(len(parts), begin + len(inside) + 1)):
            known[number] = best(number)
    return parts


def _one_each(parts: Sequence[RateStep]) -> list[RateStep]:
    """The parts, those of one rate beside each other joined."""
    joined = [parts[0]]
    for part in parts[1:]:
        if part.rate_bps == joined[-1].rate_bps:
            joined[-1] = joined[-1]._replace(end_us=part.end_us)
        else:
            joined.append(part)
    return joined


def _at(part: RateStep, rate_bps: int) -> RateStep:
    return part._replace(rate_bps=rate_bps)


def _joined(parts: list[RateStep], number: int) -> Iterator[_Change]:
    """The part and a neighbour at the lower of their rates."""
    for first in (-1, 0):
        if 0 <= number + first < len(parts) - 1:
            before, after = parts[number + first : number + first + 2]
            joined = RateStep(before.start_us, after.end_us, min(before.rate_bps, after.rate_bps))
            lost = before.microbits + after.microbits - joined.microbits
            yield _Change(lost, first, first + 1, (joined,))


def _drawn_out(parts: list[RateStep], number: int, least_us: int) -> Iterator[_Change]:
    """The part as long as it must be, at the cost of a neighbour that has more and lasts all the same."""
    part = parts[number]
    missing_us = least_us - (part.end_us - part.start_us)
    if number:
        before = parts[number - 1]
        border_us = part.start_us - missing_us
        if before.rate_bps > part.rate_bps and border_us - before.start_us >= least_us:
            steps = (before._replace(end_us=border_us), part._replace(start_us=border_us))
            yield _Change((before.rate_bps - part.rate_bps) * missing_us, -1, 0, steps)
    if number + 1 < len(parts):
        after = parts[number + 1]
        border_us = part.end_us + missing_us
        if after.rate_bps > part.rate_bps and after.end_us - border_us >= least_us:
            steps = (part._replace(end_us=border_us), after._replace(start_us=border_us))
            yield _Change((after.rate_bps - part.rate_bps) * missing_us, 0, 1, steps)
