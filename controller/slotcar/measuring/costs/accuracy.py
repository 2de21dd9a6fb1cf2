"""How good the estimates were, by the transfers that followed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from slotcar.measuring.costs.estimates import MILLION
from slotcar.store.measurements import TransferSample


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Of the transfers without a reservation.

    Attributes:
        estimated: of so many something was said when they began; `unknown`: of so many nothing.
        within68: so many took what the 68 % interval said. bounded: of so many the interval of nine in ten was said, and
            `within_nine_in_ten` took what that said.
        off_ppm: the median of how far the estimates were off, parts per million of what it took; None of none.
    """

    estimated: int
    unknown: int
    within68: int
    bounded: int
    within_nine_in_ten: int
    off_ppm: int | None


def accuracy(transfers: Sequence[TransferSample]) -> Accuracy:
    """Each estimate was made of what was known when its transfer began, and kept with it."""
    plain = [one for one in transfers if one.reserved_bps is None]
    known = [one for one in plain if one.estimated_us is not None]
    bounded = [one for one in known if one.most_us is not None]
    off = [abs((one.estimated_us or 0) - one.took_us) * MILLION // one.took_us for one in known]
    return Accuracy(
        estimated=len(known),
        unknown=len(plain) - len(known),
        within68=sum(_within(one.low_us, one.took_us, one.high_us) for one in known),
        bounded=len(bounded),
        within_nine_in_ten=sum(_within(one.least_us, one.took_us, one.most_us) for one in bounded),
        off_ppm=int(median(off)) if off else None,
    )


def _within(low_us: int | None, took_us: int, high_us: int | None) -> bool:
    return (low_us or 0) <= took_us <= (high_us or 0)
