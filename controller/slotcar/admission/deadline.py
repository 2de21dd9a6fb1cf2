"""Deadline transfers: a profile of rates that moves a volume in time over what the slot tables leave.

On a fixed path the volume can be moved by the deadline exactly when the sum of min(at_most, free) over the window
reaches it; filling earliest first shows it, and ends earliest (Chen & Primet, doi 10.1109/CCGRID.2007.102). What is
free counts in parts that last (`lasting`), so that each step of a profile does. Earliest completion is the test and need
not be the promise: three shapes of profile are offered. The rate that a transfer needs
is its remaining volume / its remaining time, computed anew at every report (NICT, deadline transfers over AF).

Rates are payload rates: `arithmetic` counts the headers on every resource, as it does for a fixed request. A step has
`at_least` or nothing: where less is free, the transfer pauses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from slotcar.admission.arithmetic import scaled_up
from slotcar.admission.free import Free, free_in, whole_seconds
from slotcar.admission.lasting import few, lasting
from slotcar.admission.model import TransferRefused
from slotcar.admission.rates import (
    MICROBITS_PER_BYTE,
    Crossing,
    Profile,
    RateStep,
    clipped,
    excess,
    merged,
    microbits,
)
from slotcar.admission.steady import GRIDS_US, on_grid, steady_profile
from slotcar.admission.step_rules import MOST_STEPS, lasts, lengthened
from slotcar.admission.tables import SlotTables
from slotcar.base.timebase import Window, from_us, to_us
from slotcar.base.units import MAX_RATE_BPS
from slotcar.base.vocabulary import Shape
from slotcar.network.model import Sls

#: A profile whose rest moves what remains and at most this much more stays as it is, in thousandths.
KEPT_ABOVE_PERMILLE = 10
#: A `latest` profile leaves this part of what it could use at a moment, so that it can catch up: one in so many.
LATE_SPARE = 10


@dataclass(frozen=True, slots=True)
class Transfer:
    """A volume of payload to be moved within a window, whose end is the deadline.

    Attributes:
        crossings: the resources of its path, each once; each direction that is reserved moves the volume.
        at_least_bps: no step is slower. at_most_bps: none is faster.

    Raises:
        ValueError: no volume, or bounds that no rate meets.
    """

    volume_bytes: int
    window: Window
    crossings: tuple[Crossing, ...]
    at_least_bps: int = 0
    at_most_bps: int = MAX_RATE_BPS
    shape: Shape = Shape.STEADY

    def __post_init__(self) -> None:
        if self.volume_bytes < 1:
            raise ValueError(f"a volume is at least 1 byte (got {self.volume_bytes})")
        if not 0 <= self.at_least_bps <= self.at_most_bps or not self.at_most_bps:
            raise ValueError(f"at_least {self.at_least_bps} is above at_most {self.at_most_bps}, or both are 0")

    @property
    def microbits(self) -> int:
        return self.volume_bytes * MICROBITS_PER_BYTE

    @property
    def needed_bps(self) -> int:
        """Volume / time, rounded up: the constant rate that ends at the deadline."""
        return scaled_up(1, self.microbits, self.window.end_us - self.window.start_us)

    def usable(self, free: Free) -> Free:
        """What the transfer can use of the free rates in its window: min(at_most, free), and nothing under `at_least`."""
        return free.within(*self.span_us).between(self.at_least_bps, self.at_most_bps)

    def promisable(self, free: Free) -> Free:
        """As `usable`, in parts that last: what a profile fills."""
        return lasting(self.usable(free))

    def counted_on(self, usable: Free) -> Free:
        """What a profile of its shape fills: `latest` nine tenths of what is usable, where these move the volume.

        Without, whoever falls behind by a little just before his deadline has nothing left that could be raised.
        """
        if self.shape is not Shape.LATEST:
            return usable
        less = Free(usable.starts_us, usable.rates_bps - usable.rates_bps // LATE_SPARE, usable.end_us)
        part = less.between(self.at_least_bps, self.at_most_bps)
        return part if part.microbits >= self.microbits else usable

    @property
    def span_us(self) -> tuple[int, int]:
        return self.window.start_us, self.window.end_us


def plan_transfer(
    tables: SlotTables, transfer: Transfer, *, horizon: datetime, sls: Mapping[str, Sls] | None = None
) -> Profile | TransferRefused:
    """A profile of the asked shape that moves the volume by the deadline, or why there is none. Changes nothing.

    Args:
        horizon: until when an earliest deadline is looked for.
        sls: the network's SLSs, by name; outside its validity one leaves nothing.
    """
    free = free_in(tables, transfer.crossings, transfer.window, sls)
    return shaped(transfer, free) or refusal(tables, transfer, horizon=horizon, sls=sls)


def shaped(transfer: Transfer, free: Free) -> Profile | None:
    """A profile of the transfer's shape over free rates, whose steps and pauses last; None where its volume does not fit
    in such a one (exactly then, where what is free has few parts that last).
    """
    usable = transfer.promisable(free)
    if usable.microbits < transfer.microbits:
        return None
    steady = transfer.shape is Shape.STEADY
    profile = steady_profile(usable, transfer.microbits, transfer.at_least_bps) if steady else None
    profile = profile or filled(transfer.counted_on(usable), transfer.microbits, transfer.shape)
    if profile is None and transfer.shape is Shape.LATEST:
        profile = filled(usable, transfer.microbits, transfer.shape)
    if profile is None:
        return None
    profile = lengthened(profile, usable, transfer.at_least_bps)
    rounded = whole_seconds(profile, usable)
    return rounded if lasts(rounded, transfer.window) else profile


def filled(usable: Free, needed_microbits: int, shape: Shape) -> Profile | None:
    """Filled from its end (`latest`) or its beginning, on the finest grid that needs few steps, else where most is free;
    None where no profile of few steps that was found moves the volume. `usable` suffices.
    """
    late = shape is Shape.LATEST

    def part_of(free: Free) -> Profile:
        return free.tail(needed_microbits) if late else free.head(needed_microbits)

    def fill(part: Profile) -> Profile:
        return latest(part, needed_microbits) if late else earliest(part, needed_microbits)

    whole = part_of(usable)
    if len(whole) <= 2 * MOST_STEPS and len(exact := fill(whole)) <= MOST_STEPS:  # every other one may be a pause
        return exact
    for grid_us in GRIDS_US:
        rough = part_of(on_grid(usable, grid_us))
        if len(rough) <= 2 * MOST_STEPS and microbits(rough) >= needed_microbits:
            steps = fill(rough)
            if len(steps) <= MOST_STEPS:
                return steps
    rough = part_of(few(usable))
    return fill(rough) if microbits(rough) >= needed_microbits else None


def earliest(usable: Sequence[RateStep], needed_microbits: int) -> Profile:
    """Fills from the beginning; all that is usable where that does not suffice. The last step ends when it is done."""
    return merged(_filled(usable, needed_microbits))


def latest(usable: Sequence[RateStep], needed_microbits: int) -> Profile:
    """Fills from the end; the first step begins as late as may be."""
    mirror = [RateStep(-end_us, -start_us, rate_bps) for start_us, end_us, rate_bps in reversed(usable)]
    back = reversed(list(_filled(mirror, needed_microbits)))
    return merged(RateStep(-end_us, -start_us, rate_bps) for start_us, end_us, rate_bps in back)


def _filled(usable: Sequence[RateStep], needed_microbits: int) -> Iterator[RateStep]:
    for step in usable:
        if needed_microbits <= 0:
            return
        if step.rate_bps:
            length_us = min(step.end_us - step.start_us, -(-needed_microbits // step.rate_bps))
            yield step._replace(end_us=step.start_us + length_us)
            needed_microbits -= length_us * step.rate_bps


def refusal(
    tables: SlotTables, transfer: Transfer, *, horizon: datetime, sls: Mapping[str, Sls] | None = None
) -> TransferRefused:
    """The numbers of a transfer that does not fit."""

    def left(*crossings: Crossing) -> Free:
        return transfer.promisable(free_in(tables, crossings, transfer.window, sls))

    def most_bytes(free: Free) -> int:
        return few(free).microbits // MICROBITS_PER_BYTE

    alone = [(left(crossing), crossing.resource) for crossing in transfer.crossings]
    unlimited = left()
    # By all that it leaves: to draw each into few steps would take most of a refusal's time.
    least, tightest = min(alone, key=lambda one: one[0].microbits, default=(unlimited, None))
    tightest_bytes = most_bytes(least)
    return TransferRefused(
        asked_bytes=transfer.volume_bytes,
        deadline=transfer.window.end,
        most_bytes=most_bytes(left(*transfer.crossings)),
        earliest_deadline=_earliest_deadline(tables, transfer, horizon, sls),
        tightest=tightest if tightest_bytes < most_bytes(unlimited) else None,
        tightest_bytes=tightest_bytes,
        horizon=horizon,
    )


def _earliest_deadline(
    tables: SlotTables, transfer: Transfer, horizon: datetime, sls: Mapping[str, Sls] | None
) -> datetime | None:
    """Looked for in twice the time, and again in twice that, up to the horizon."""
    start, length = transfer.window.start, transfer.window.duration
    while start < horizon:
        length = min(2 * length, horizon - start)
        longer = replace(transfer, window=Window(start, start + length), shape=Shape.EARLIEST)
        profile = shaped(longer, free_in(tables, longer.crossings, longer.window, sls))
        if profile:
            end = from_us(profile[-1].end_us)
            by_then = replace(transfer, window=Window(start, end))
            if shaped(by_then, free_in(tables, by_then.crossings, by_then.window, sls)):
                return end
        if start + length >= horizon:
            break
    return None


@dataclass(frozen=True, slots=True)
class ReportedProgress:
    """What becomes of a transfer at a report of its remaining volume.

    Attributes:
        needed_bps: remaining volume / remaining time (NICT).
        profile: from now on. raised, given_back: where and by how much it is above and below the one before.
        missing_bytes: what the profile does not move by the deadline; it takes all that is free then.
    """

    needed_bps: int
    profile: Profile
    raised: Profile
    given_back: Profile
    missing_bytes: int = 0


def progress(
    transfer: Transfer, profile: Profile, remaining_bytes: int, now: datetime, free: Free
) -> ReportedProgress:
    """The transfer's new profile: what is done early is given back, what has fallen behind asks for more.

    Args:
        profile: its present one.
        free: payload rates that the tables leave it from `now` to the deadline, without its present profile.

    Raises:
        ValueError: the deadline has passed, or a negative volume remains.
    """
    now_us, by_us = to_us(now), transfer.window.end_us
    if now_us >= by_us or remaining_bytes < 0:
        raise ValueError(f"{remaining_bytes} bytes cannot remain at {now.isoformat()}")
    before = clipped(profile, now_us, by_us)
    if not remaining_bytes:
        return ReportedProgress(0, (), (), before)
    start = max(now, transfer.window.start)
    # A late profile that has begun goes on: to put it off at each report would switch it off and on.
    begun = transfer.shape is Shape.LATEST and bool(before) and before[0].start_us <= now_us
    shape = Shape.STEADY if begun else transfer.shape
    rest = replace(transfer, volume_bytes=remaining_bytes, window=Window(start, transfer.window.end), shape=shape)
    after, missing = before, 0
    if not 0 <= (microbits(before) - rest.microbits) * 1000 <= rest.microbits * KEPT_ABOVE_PERMILLE:
        after = shaped(rest, free) or merged(few(rest.promisable(free)).profile())  # or all that there is
        missing = max(0, -((microbits(after) - rest.microbits) // MICROBITS_PER_BYTE))
    return ReportedProgress(rest.needed_bps, after, excess(after, before), excess(before, after), missing)
