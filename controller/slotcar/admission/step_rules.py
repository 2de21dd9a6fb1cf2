"""What steps a profile has: each border is a change on every router of the path (ADR 24).

A step lasts a minute at least, and so does a pause, and there are at most 32 steps. How slow a step may be is said by the
transfer's `at_least_bps`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from slotcar.admission.free import Free
from slotcar.admission.rates import Profile, RateStep, merged
from slotcar.base.timebase import Window

LEAST_STEP_US = 60_000_000
#: Each step is a boundary on every device of a path.
MOST_STEPS = 32


def first_border_us(profile: Sequence[RateStep], now_us: int, frozen_until_us: int) -> int:
    """From when on a profile may be another one: not before `frozen_until_us`, and where a change announced before then
    has lasted.
    """
    borders = [border for step in profile for border in step[:2] if now_us < border <= frozen_until_us]
    last_us = max(borders, default=frozen_until_us)
    return frozen_until_us if last_us == frozen_until_us else last_us + LEAST_STEP_US


def keeps_rules(profile: Profile, window: Window) -> bool:
    """Whether a profile that is new in a window, up to its deadline, has steps there, and pauses between them, that last.

    Where the window is shorter than a step, one step takes all of it.
    """
    steps, from_us = merged(profile), window.start_us
    borders = {border for step in steps for border in step[:2] if border >= from_us} | {from_us}
    return len(steps) <= MOST_STEPS and _last(borders, min(LEAST_STEP_US, window.end_us - from_us))


def lasts(profile: Profile, window: Window) -> bool:
    """As `keeps_rules`, of a profile before which nothing is in its window: its first step is its first border."""
    steps = merged(profile)
    borders = {border for step in steps for border in step[:2]}
    return len(steps) <= MOST_STEPS and _last(borders, min(LEAST_STEP_US, window.end_us - window.start_us))


def _last(borders: Iterable[int], least_us: int) -> bool:
    return all(end - start >= least_us for start, end in pairwise(sorted(borders)))


def lengthened(profile: Profile, usable: Free, at_least_bps: int) -> Profile:
    """The same with a last and a first step that last, at a lower rate, where that is usable for so long.

    `usable`: nowhere below the profile.
    """
    steps, first_us = list(profile), int(usable.starts_us[0])
    least_us = min(LEAST_STEP_US, usable.end_us - first_us)
    for place, backwards in ((-1, False), (0, True)):
        start_us, end_us, _ = step = steps[place]
        if end_us - start_us >= least_us:
            continue
        start_us = end_us - least_us if backwards else start_us
        end_us = start_us + least_us
        rate_bps = max(at_least_bps, -(-step.microbits // least_us))
        inside = first_us <= start_us and end_us <= usable.end_us
        if inside and usable.least_bps(start_us, end_us) >= rate_bps:
            steps[place] = RateStep(start_us, end_us, rate_bps)
    return merged(steps)
