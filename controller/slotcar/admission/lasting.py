"""What is free as a profile may have it: in parts that last, and in no more of them than a profile has steps.

Nowhere more than is free. What is lost is as little as joining a part with its neighbours one by one can do, or a grid of
minutes where that leaves more, or where many parts are short.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from slotcar.admission.free import Free
from slotcar.admission.rates import RateStep
from slotcar.admission.steady import MINUTE_US, coarse, on_grid
from slotcar.admission.step_rules import LEAST_STEP_US, MOST_STEPS

#: More parts than this are not joined one by one: it would take longer than a caller waits.
MOST_SHORT, MOST_PARTS = 64, 200


class _Change(NamedTuple):
    """A way to have one part less: the volume that is lost, and the steps that stand for those from `first` to `last`."""

    lost: int
    first: int
    last: int
    steps: tuple[RateStep, ...]


def lasting(free: Free) -> Free:
    """The same with parts that last a minute, those in which nothing is free too; one part where all is shorter."""
    least_us = min(LEAST_STEP_US, free.end_us - int(free.starts_us[0]))
    short = int((free.ends_us - free.starts_us < least_us).sum())
    if not short:
        return free
    rough = on_grid(free, MINUTE_US)
    if short > MOST_SHORT:
        return rough
    parts = list(free.profile())
    while changes := [
        change
        for number, part in enumerate(parts)
        if part.end_us - part.start_us < least_us
        for change in (*_joined(parts, number), *_drawn_out(parts, number, least_us))
    ]:
        _make(parts, min(changes))
    exact = Free.of(parts)
    return exact if exact.microbits >= rough.microbits else rough


def few(free: Free, most: int = MOST_STEPS) -> Free:
    """The same with at most so many parts in which something is free."""
    if int((free.rates_bps > 0).sum()) <= most:
        return free
    parts = list(coarse(free, MOST_PARTS).profile())
    while sum(1 for part in parts if part.rate_bps) > most:
        changes = [
            change
            for number, part in enumerate(parts)
            if part.rate_bps
            for change in (*_joined(parts, number), _Change(part.microbits, number, number, (_at(part, 0),)))
        ]
        _make(parts, min(changes))
    return Free.of(parts)


def _at(part: RateStep, rate_bps: int) -> RateStep:
    return part._replace(rate_bps=rate_bps)


def _joined(parts: list[RateStep], number: int) -> Iterator[_Change]:
    """The part and a neighbour at the lower of their rates."""
    for first in (number - 1, number):
        if 0 <= first < len(parts) - 1:
            before, after = parts[first : first + 2]
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
            yield _Change((before.rate_bps - part.rate_bps) * missing_us, number - 1, number, steps)
    if number + 1 < len(parts):
        after = parts[number + 1]
        border_us = part.end_us + missing_us
        if after.rate_bps > part.rate_bps and after.end_us - border_us >= least_us:
            steps = (part._replace(end_us=border_us), after._replace(start_us=border_us))
            yield _Change((after.rate_bps - part.rate_bps) * missing_us, number, number + 1, steps)


def _make(parts: list[RateStep], change: _Change) -> None:
    """Makes the change, and joins what has the same rate then."""
    first, last = max(0, change.first - 1), min(len(parts), change.last + 2)
    inside = [*parts[first : change.first], *change.steps, *parts[change.last + 1 : last]]
    joined = inside[:1]
    for part in inside[1:]:
        if part.rate_bps == joined[-1].rate_bps:
            joined[-1] = joined[-1]._replace(end_us=part.end_us)
        else:
            joined.append(part)
    parts[first:last] = joined
