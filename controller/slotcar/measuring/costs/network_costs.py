"""What moving a volume costs in time (D7.3 §10.1, `getNetworkCosts`): `bytes × 8 / throughput`, with its error. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from slotcar.base.timebase import MICROSECOND
from slotcar.measuring.costs.estimates import MILLION, Estimate, Interval, Sample, estimate
from slotcar.planning.enquiry import FreeStep
from slotcar.store.measurements import TransferSample


@dataclass(frozen=True, slots=True)
class Cost:
    """Times, in microseconds.

    Attributes:
        middle68, nine_in_ten: as of the throughput.
        throughput: what it rests on.
    """

    cost_us: int
    middle68: Interval
    nine_in_ten: Interval | None
    throughput: Estimate

    @property
    def error_us(self) -> int:
        """How far the farther end of the middle 68 % is."""
        return max(self.middle68.high - self.cost_us, self.cost_us - self.middle68.low)


def cost_of(volume_bytes: int, throughput: Estimate | None) -> Cost | None:
    """None where the throughput is not known, or nothing came through at all."""
    if throughput is None or throughput.value <= 0:
        return None
    bounds = throughput.nine_in_ten
    return Cost(
        time_us(volume_bytes, throughput.value),
        _times(volume_bytes, throughput.middle68),
        _times(volume_bytes, bounds) if bounds else None,
        throughput,
    )


def time_us(volume_bytes: int, rate_bps: int) -> int:
    """Rounded up."""
    return -(-volume_bytes * 8 * MILLION // max(1, rate_bps))


def _times(volume_bytes: int, rates: Interval) -> Interval:
    return Interval(time_us(volume_bytes, rates.high), time_us(volume_bytes, rates.low))


@dataclass(frozen=True, slots=True)
class ReservedCost:
    """What it would cost with a reservation that is made now.

    Attributes:
        cost_us, middle68: from now until the last byte arrives. rate_bps: the mean payload rate meanwhile.
        kept: what part of the promised rate the transfers had that were reserved, parts per million; None where there
            was none, and all of the promised rate is counted on.
    """

    cost_us: int
    middle68: Interval
    rate_bps: int
    kept: Estimate | None


def reserved_cost(
    volume_bytes: int, steps: Sequence[FreeStep], transfers: Sequence[TransferSample]
) -> ReservedCost | None:
    """What the volume takes at the rates that are free from now on, in order and without a gap; None where it does not fit.

    Transfers use somewhat less than they are promised: what part it was before it is taken to be again.
    """
    kept = kept_of_promise(transfers)
    share_ppm = kept.value if kept else MILLION
    wanted = _finishing_us(volume_bytes, steps, share_ppm)
    if wanted is None:
        return None
    ends = [_finishing_us(volume_bytes, steps, one) for one in (kept.middle68.high, kept.middle68.low)] if kept else []
    quick, slow = (ends[0] or wanted, ends[1] or wanted) if ends else (wanted, wanted)
    mean_bps = volume_bytes * 8 * MILLION // max(1, wanted)
    return ReservedCost(wanted, Interval(min(quick, wanted), max(slow, wanted)), mean_bps, kept)


def kept_of_promise(transfers: Sequence[TransferSample]) -> Estimate | None:
    """Of the transfers with a reservation, what part of the promised rate they had, parts per million, at most all."""
    samples = [
        Sample(min(MILLION, one.throughput_bps * MILLION // one.reserved_bps), one.ended_at, one.tool, one.way)
        for one in transfers
        if one.reserved_bps
    ]
    return estimate(samples, "transfers", "hosts") if samples else None


def _finishing_us(volume_bytes: int, steps: Sequence[FreeStep], share_ppm: int) -> int | None:
    """From the first step's start until all is moved."""
    left = volume_bytes * 8 * MILLION * MILLION
    for step in steps:
        per_us = step.rate_bps * share_ppm
        length_us = (step.window.end - step.window.start) // MICROSECOND
        if per_us and left <= per_us * length_us:
            return (step.window.start - steps[0].window.start) // MICROSECOND - (-left // per_us)
        left -= per_us * length_us
    return None
