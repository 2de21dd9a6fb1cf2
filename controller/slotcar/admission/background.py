"""Background shares: what each gets, at any instant, of the bandwidth that the slot tables leave.

GARA §4.1 gave one background reservation 0.9 of the premium bandwidth that the foreground left over (40.5 of 45 Mb/s).
Here any number share it: weighted max-min over every resource of their paths. All rise together, each in proportion to
its weight and between its bounds; where a resource is full, those that cross it stay, and the others go on.

Rounding: the common level is a whole number of millionths of a bit/s for each unit of weight, a share's rate is rounded
down to whole bits per second, and what it takes of a resource is rounded up. What a full resource has left then is less
than `(weight / 10**6 + 1) * wire / payload + 1` bit/s for each share that it stopped; it is given to the one with the least
for its weight, as far as it goes. So no resource is exceeded, and nobody can be raised by 1 bit/s.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

from slotcar.admission.rates import Crossing, Profile, RateStep, merged
from slotcar.admission.resource_id import ResourceId
from slotcar.admission.tables import SlotTables
from slotcar.base.timebase import Window
from slotcar.base.units import MAX_RATE_BPS
from slotcar.network.model import BACKGROUND_PPM

MILLION = 1_000_000
#: The common level counts millionths of a bit/s: finer than any weight up to a million can show.
_LEVEL_PER_BPS = 1_000_000

#: `(time_us, amount)` of a window's start and of each change in it.
AmountSteps: TypeAlias = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Share:
    """One background reservation.

    Attributes:
        crossings: the resources of its path, each once.
        weight: its part of what is left, against the others' weights.
        at_least_bps: what it always has: it occupies the slot tables. at_most_bps: what it can use.
        windows: when it is open, ascending and disjoint.

    Raises:
        ValueError: a weight under 1, or bounds that no rate meets.
    """

    name: str
    crossings: tuple[Crossing, ...]
    windows: tuple[Window, ...] = ()
    weight: int = 1
    at_least_bps: int = 0
    at_most_bps: int = MAX_RATE_BPS

    def __post_init__(self) -> None:
        if self.weight < 1:
            raise ValueError(f"{self.name}: a weight is at least 1 (got {self.weight})")
        if not 0 <= self.at_least_bps <= self.at_most_bps:
            raise ValueError(f"{self.name}: at_least {self.at_least_bps} is above at_most {self.at_most_bps}")

    def rate_bps(self, level: int) -> int:
        """Its rate where all have risen to a level."""
        return min(self.at_most_bps, max(self.at_least_bps, self.weight * level // _LEVEL_PER_BPS))

    def open_at(self, moment_us: int) -> bool:
        number = bisect_right(self.windows, moment_us, key=lambda window: window.start_us) - 1
        return number >= 0 and moment_us < self.windows[number].end_us


def shares_bps(
    shares: Sequence[Share],
    free: Mapping[ResourceId, int],
    factor_ppm: Mapping[ResourceId, int] | None = None,
) -> dict[str, int]:
    """What each share gets at an instant at which all of them are open, bits per second of payload.

    Args:
        free: what the slot tables leave of every crossed resource, in which the shares' `at_least` count as taken.
        factor_ppm: the operator's part of a resource that background may have, parts per million; GARA's 900,000 where
            none is said. It holds
            for all that foreground leaves, `at_least` included; but nobody gets less than his `at_least`.

    Raises:
        ValueError: a factor outside 0 .. 1,000,000. KeyError: a resource that `free` lacks.
    """
    crossing_it: dict[ResourceId, list[tuple[Share, Crossing]]] = {}
    for share in shares:
        for crossing in share.crossings:
            crossing_it.setdefault(crossing.resource, []).append((share, crossing))
    pools = {
        resource: _pool(free[resource], crossed, (factor_ppm or {}).get(resource, BACKGROUND_PPM))
        for resource, crossed in crossing_it.items()
    }
    stopped = _fill(shares, crossing_it, pools)
    rates = {share.name: stopped.get(share.name, share.at_most_bps) for share in shares}
    return _give_out_rest(shares, crossing_it, pools, rates)


def _pool(free: int, crossed: Sequence[tuple[Share, Crossing]], factor_ppm: int) -> int:
    if not 0 <= factor_ppm <= MILLION:
        raise ValueError(f"a factor is from 0 to {MILLION} parts per million (got {factor_ppm})")
    floors = sum(crossing.amount(share.at_least_bps) for share, crossing in crossed)
    return max(floors, (max(0, free) + floors) * factor_ppm // MILLION)


def _fill(
    shares: Sequence[Share],
    crossing_it: Mapping[ResourceId, Sequence[tuple[Share, Crossing]]],
    pools: Mapping[ResourceId, int],
) -> dict[str, int]:
    """The rates of all shares that a full resource stopped. As many rounds as resources, at most."""
    top = max((-(-share.at_most_bps * _LEVEL_PER_BPS // share.weight) for share in shares), default=0)
    stopped: dict[str, int] = {}
    levels = dict.fromkeys(
        crossing_it, 0
    )  # each at most the highest that its resource carries, and exactly so if fresh
    fresh: set[ResourceId] = set()
    while levels:
        resource = min(levels, key=lambda one: levels[one])
        if resource not in fresh:
            levels[resource] = _highest_level(crossing_it[resource], stopped, pools[resource], levels[resource], top)
            fresh.add(resource)
            continue
        level = levels.pop(resource)
        if level >= top:
            break
        for share, _ in crossing_it[resource]:
            if share.name not in stopped:
                stopped[share.name] = share.rate_bps(level)
                # Who stops leaves the others more.
                fresh.difference_update(crossing.resource for crossing in share.crossings)
    return stopped


def _highest_level(
    crossed: Sequence[tuple[Share, Crossing]], stopped: Mapping[str, int], pool: int, low: int, top: int
) -> int:
    """The highest level at which one resource carries all that cross it; `top` where it never stops them.

    `low`: a level that it carries.
    """
    rising = [
        (share.weight, share.at_least_bps, share.at_most_bps, crossing.wire_bytes, crossing.payload_bytes)
        for share, crossing in crossed
        if share.name not in stopped
    ]
    rest = pool - sum(crossing.amount(stopped[share.name]) for share, crossing in crossed if share.name in stopped)

    def carries(level: int) -> bool:  # `Share.rate_bps` and `Crossing.amount`, without a call: this is the inner loop
        load = 0
        for weight, least, most, wire, payload in rising:
            load -= -min(most, max(least, weight * level // _LEVEL_PER_BPS)) * wire // payload
        return load <= rest

    if carries(top):
        return top
    high, step = top, _LEVEL_PER_BPS
    while low + step < high and carries(low + step):
        low, step = low + step, 4 * step
    high = min(high, low + step)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if carries(middle) else (low, middle)
    return low


def _give_out_rest(
    shares: Sequence[Share],
    crossing_it: Mapping[ResourceId, Sequence[tuple[Share, Crossing]]],
    pools: Mapping[ResourceId, int],
    rates: dict[str, int],
) -> dict[str, int]:
    remaining = {
        resource: pools[resource] - sum(crossing.amount(rates[share.name]) for share, crossing in crossed)
        for resource, crossed in crossing_it.items()
    }
    for share in sorted(shares, key=lambda share: (Fraction(rates[share.name], share.weight), share.name)):
        rate = rates[share.name]
        most = [one.rate_bps(remaining[one.resource] + one.amount(rate)) for one in share.crossings]
        rates[share.name] = min([share.at_most_bps, *most])
        for one in share.crossings:
            remaining[one.resource] -= one.amount(rates[share.name]) - one.amount(rate)
    return rates


def shares_over(
    shares: Sequence[Share],
    free: Mapping[ResourceId, AmountSteps],
    window: Window,
    factor_ppm: Mapping[ResourceId, int] | None = None,
) -> dict[str, Profile]:
    """What each share gets over a window: constant between the instants at which something changes.

    Args:
        free: what the slot tables leave of every crossed resource, from the window's start on (`free_amounts`).

    Raises:
        ValueError, KeyError: as `shares_bps`.
    """
    inside = {time for steps in free.values() for time, _ in steps}
    inside |= {border for share in shares for one in share.windows for border in (one.start_us, one.end_us)}
    ends = {window.start_us, window.end_us}
    borders = sorted({time for time in inside if window.start_us < time < window.end_us} | ends)
    steps: dict[str, list[RateStep]] = {share.name: [] for share in shares}
    for start_us, end_us in pairwise(borders):
        is_open = [share for share in shares if share.open_at(start_us)]
        remaining = {resource: _amount_at(amounts, start_us) for resource, amounts in free.items()}
        for name, rate_bps in shares_bps(is_open, remaining, factor_ppm).items():
            steps[name].append(RateStep(start_us, end_us, rate_bps))
    return {name: merged(each) for name, each in steps.items()}


def _amount_at(steps: AmountSteps, moment_us: int) -> int:
    return steps[max(0, bisect_right(steps, moment_us, key=lambda step: step[0]) - 1)][1]


def free_amounts(tables: SlotTables, resource: ResourceId, window: Window) -> tuple[tuple[int, int], ...]:
    """What the slot tables leave of a resource over a window: `(time_us, amount)` of its start and of each change."""
    capacity = tables.capacity(resource)
    steps = tables.steps(resource, window) or ((window.start_us, 0),)
    return tuple((time_us, max(0, capacity - reserved)) for time_us, reserved in steps)
