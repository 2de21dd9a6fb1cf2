"""A throughput with its error, out of transfers that were and of probes (D7.3 §5.2.3, §10.1). Pure.

Several samples: their median, with the interval of the middle 68 % of them. One sample: the accuracy of the tool. Between
the two hosts where anything is known of these, else between their monitoring domains; transfers before probes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean, median, stdev

from slotcar.store.measurements import MeasuredWay, ProbeSample, TransferSample

MILLION = 1_000_000
#: What of one sample's value may be wrong, parts per million, by the tool; what is not here has the last.
ACCURACY_PPM = {"slotcar-transfer": 100_000, "iperf3": 100_000, "stamp": 50_000, "ping": 50_000}
OTHER_ACCURACY_PPM = 200_000
#: The bounds of the middle 68 %, in parts of all samples.
_LOW, _HIGH = 0.16, 0.84
#: Student's t that 95 % stay below, for 2 samples, 3 and so on: so far from the mean a further sample is once in ten.
_T_95 = (
    6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833, 1.812, 1.796, 1.782, 1.771, 1.761, 1.753, 1.746, 1.740,
    1.734, 1.729, 1.725, 1.721, 1.717, 1.714, 1.711, 1.708, 1.706, 1.703, 1.701, 1.699, 1.697,
)  # fmt: skip
#: From fewer nothing is said of nine in ten.
FEWEST = 3


@dataclass(frozen=True, slots=True)
class Interval:
    """Both ends count."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """A measured value.

    Attributes:
        middle68: where the middle 68 % of the samples are; of one sample, what the tool's accuracy allows.
        nine_in_ten: where a further sample is nine times in ten; None from fewer samples than `FEWEST`.
        source: `transfers` or `probes`. between: `hosts` or `domains`.
        by_tool: the error is the tool's accuracy, since there is one sample.
    """

    value: int
    middle68: Interval
    nine_in_ten: Interval | None
    source: str
    between: str
    samples: int
    tools: tuple[str, ...]
    newest_at: datetime
    by_tool: bool


@dataclass(frozen=True, slots=True)
class Sample:
    """One value of one kind."""

    value: int
    at: datetime
    tool: str
    way: MeasuredWay


def throughput(
    way: MeasuredWay, transfers: Sequence[TransferSample], probes: Sequence[ProbeSample], tools: Collection[str] = ()
) -> Estimate | None:
    """The throughput without a reservation, bits per second; None where nobody measured it.

    A transfer with a reservation says nothing of it: it was carried at the rate that was promised.
    """
    moved = [
        Sample(one.throughput_bps, one.ended_at, one.tool, one.way) for one in transfers if one.reserved_bps is None
    ]
    probed = [
        Sample(one.throughput_bps, one.at, one.tool, one.way) for one in probes if one.throughput_bps is not None
    ]
    return first_known(way, (("transfers", moved), ("probes", probed)), tools)


def round_trip(way: MeasuredWay, probes: Sequence[ProbeSample], tools: Collection[str] = ()) -> Estimate | None:
    """Microseconds; None where nobody measured it."""
    samples = [Sample(one.rtt_us, one.at, one.tool, one.way) for one in probes if one.rtt_us is not None]
    return first_known(way, (("probes", samples),), tools)


def loss(way: MeasuredWay, probes: Sequence[ProbeSample], tools: Collection[str] = ()) -> Estimate | None:
    """Packets lost of a million; None where nobody measured it."""
    samples = [Sample(one.loss_ppm, one.at, one.tool, one.way) for one in probes if one.loss_ppm is not None]
    return first_known(way, (("probes", samples),), tools)


def first_known(
    way: MeasuredWay, sources: Iterable[tuple[str, Sequence[Sample]]], tools: Collection[str] = ()
) -> Estimate | None:
    """The estimate from the first source that knows the two hosts, else from the first that knows their domains.

    Args:
        tools: only samples of these; of all tools where there is none.
    """
    usable = [(name, [one for one in samples if not tools or one.tool in tools]) for name, samples in sources]
    for name, samples in usable:
        own = [one for one in samples if (one.way.source, one.way.destination) == (way.source, way.destination)]
        if own:
            return estimate(own, name, "hosts")
    return next((estimate(samples, name, "domains") for name, samples in usable if samples), None)


def estimate(samples: Sequence[Sample], source: str, between: str) -> Estimate:
    """Of one sample or more."""
    values = sorted(one.value for one in samples)
    if len(values) == 1:
        off = values[0] * ACCURACY_PPM.get(samples[0].tool, OTHER_ACCURACY_PPM) // MILLION
        middle = Interval(values[0] - off, values[0] + off)
    else:
        middle = Interval(math.floor(quantile(values, _LOW)), math.ceil(quantile(values, _HIGH)))
    return Estimate(
        value=int(median(values)), middle68=middle, nine_in_ten=further_sample(values), source=source, between=between,
        samples=len(values), tools=tuple(sorted({one.tool for one in samples})),
        newest_at=max(one.at for one in samples), by_tool=len(values) == 1,
    )  # fmt: skip


def quantile(values: Sequence[int], part: float) -> float:
    """Of sorted values, between the two that are nearest."""
    place = part * (len(values) - 1)
    below = math.floor(place)
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (place - below)


def further_sample(values: Sequence[int]) -> Interval | None:
    """Where a further sample is nine times in ten: of rates that are distributed as a product of many influences is, by
    Student's t on their logarithms. None from too few, and where one is 0.
    """
    if len(values) < FEWEST or min(values) <= 0:
        return None
    logs = [math.log(one) for one in values]
    t = _T_95[min(len(values) - 2, len(_T_95) - 1)]
    off = t * stdev(logs) * math.sqrt(1 + 1 / len(values))
    middle = fmean(logs)
    return Interval(math.floor(math.exp(middle - off)), math.ceil(math.exp(middle + off)))
