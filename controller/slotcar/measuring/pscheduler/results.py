"""A run of pScheduler's `latency` or `latencybg`, as what was measured of an SLS. Pure.

The shape is that of pScheduler's own validators (`pscheduler-test-latency/latency/validate.py`, result schema 1). Single
packets (`raw-packets`, with `output-raw` in the test) tell all that a probe of Slotcar's tells. Without them there are
sums: a histogram of delays and counts, and neither variation, nor which packets were lost, nor whether a clock was right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import ceil
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from slotcar.base.problems import SlotcarError
from slotcar.base.timebase import to_us
from slotcar.measuring.audits.histogram import MILLION, bucket_of
from slotcar.measuring.audits.streams import MeasuredStream, is_promised, windows_of
from slotcar.measuring.metrics.model import Stamp
from slotcar.network.model import PSchedulerTask, Sls
from slotcar.store.audits import DAY_S, HOUR_S, AuditedWay, AuditWindow

TESTS = ("latency", "latencybg")
#: Clocks that are being corrected run apart by so much at the most, as `slotcar_probe` has it: the kernel slews at 500.
DRIFT_PPM = 1_000
#: owping's and powstream's own, where the test says none.
INTERVAL_S, BUCKET_S = 0.1, 0.001
#: Both the buckets and the clocks' error are rounded to two places: so much of the last unit they are off by.
_ROUNDED = 0.005
#: From 1900, where OWAMP's times begin (RFC 4656 §4.1.2), to 1970.
_NTP_EPOCH_S = 2_208_988_800
_LONGEST_US = HOUR_S * MILLION
_Count = Annotated[int, Field(ge=0, le=10_000_000)]
_Stamp = Annotated[int, Field(ge=0, lt=2**64)]


class Unreadable(SlotcarError):
    """What a pScheduler answered is no run of such a test."""


class _Hyphenated(BaseModel):
    """Fields with hyphens; others are passed over, since each release has more."""

    model_config = ConfigDict(frozen=True, alias_generator=lambda name: name.replace("_", "-"))


class _RawPacket(_Hyphenated):
    seq_num: Annotated[int, Field(ge=0, le=2**32)]
    src_ts: _Stamp
    dst_ts: _Stamp
    src_clock_sync: bool
    dst_clock_sync: bool
    #: Seconds; text that is empty where nobody knows.
    src_clock_err: float | str = ""
    dst_clock_err: float | str = ""

    @property
    def error_s(self) -> float | None:
        """What both clocks may be off by; None where one is not kept right."""
        errors = (self.src_clock_err, self.dst_clock_err)
        if not (self.src_clock_sync and self.dst_clock_sync and all(isinstance(one, float) for one in errors)):
            return None
        return sum(float(one) for one in errors)


class _LatencyResult(_Hyphenated):
    succeeded: bool
    packets_sent: _Count = 0
    packets_received: _Count = 0
    packets_lost: _Count = 0
    max_clock_error: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    histogram_latency: Mapping[float, _Count] = {}
    raw_packets: tuple[_RawPacket, ...] = ()


class _Run(_Hyphenated):
    start_time: datetime
    end_time: datetime
    state: str
    result_merged: _LatencyResult | None = None


class _Spec(_Hyphenated):
    packet_interval: Annotated[float, Field(gt=0, le=60)] = INTERVAL_S
    bucket_width: Annotated[float, Field(gt=0, lt=1)] = BUCKET_S


class _Test(_Hyphenated):
    type: str
    spec: _Spec


class _Task(_Hyphenated):
    test: _Test


@dataclass(frozen=True, slots=True)
class Measured:
    """
    Attributes:
        until_us: right behind it; what begins before it was measured already.
    """

    way: AuditedWay
    start_us: int
    until_us: int
    windows: tuple[AuditWindow, ...]


@dataclass(frozen=True, slots=True)
class Probing:
    """How a task of pScheduler's measures. `bucket_s`: of its histograms."""

    interval_us: int
    bucket_s: float


def probing_of(document: object) -> Probing:
    """
    Raises:
        Unreadable.
    """
    test = _read(_Task, document).test
    if test.type not in TESTS:
        raise Unreadable(f"the task is a test of {test.type[:40]!r}, and none of {' or '.join(TESTS)}")
    return Probing(round(test.spec.packet_interval * MILLION), test.spec.bucket_width)


def measured_of(document: object, probing: Probing, sls: Sls, source: PSchedulerTask) -> Measured | None:
    """What a run measured; None where it is not over, or measured nothing.

    Raises:
        Unreadable.
    """
    run = _read(_Run, document)
    result = run.result_merged
    if run.start_time.tzinfo is None or run.end_time.tzinfo is None:
        raise Unreadable("a run's times have no zone")
    if run.state != "finished" or result is None or not result.succeeded:
        return None
    way = AuditedWay(sls.name, source.source, source.destination)
    if result.raw_packets:
        stream = _stream(result.raw_packets, way, source)
        return Measured(way, stream.start_us, stream.until_us, windows_of(stream, sls))
    if not result.packets_sent:
        return None
    if result.packets_received + result.packets_lost != result.packets_sent:
        raise Unreadable("a run's packets do not add up")
    if result.histogram_latency and sum(result.histogram_latency.values()) != result.packets_received:
        raise Unreadable("a run's histogram has not the packets that arrived")
    start_us, end_us = to_us(run.start_time), to_us(run.end_time)
    if not start_us < end_us <= start_us + _LONGEST_US:
        raise Unreadable("a run without single packets lasts longer than an hour: nobody knows when they were sent")
    window = _summed(result, way, start_us, end_us - start_us, probing, source)
    promised = is_promised(start_us, sls) and is_promised(end_us - 1, sls)
    return Measured(way, start_us, end_us, _hour_and_day(window) if promised else ())


def _stream(packets: Sequence[_RawPacket], way: AuditedWay, source: PSchedulerTask) -> MeasuredStream:
    """A packet that arrived twice counts by its first arrival; one that did not has 0 for the time of its arrival."""
    first: dict[int, _RawPacket] = {}
    for one in packets:
        first.setdefault(one.seq_num, one)
    listed = [first[number] for number in sorted(first)]
    stamps = tuple(
        Stamp(one.seq_num, _unix_us(one.src_ts), _unix_us(one.dst_ts) if one.dst_ts else None) for one in listed
    )
    errors_s = [one.error_s for one in listed if one.dst_ts]
    known_s = [one for one in errors_s if one is not None]
    start_us = min(one.sent_us for one in stamps)
    spread_us = max(one.sent_us for one in stamps) - start_us
    interval_us = max(1, spread_us // max(1, len(stamps) - 1))
    arrived = len(errors_s)
    return MeasuredStream(
        way=way, start_us=start_us, interval_us=interval_us, packets=stamps,
        clock_error_us=ceil(max(known_s) * MILLION) if known_s and len(known_s) == arrived else None,
        variation_error_us=_drift_us(interval_us), untold=0 if source.in_class else arrived,
    )  # fmt: skip


def _summed(
    result: _LatencyResult, way: AuditedWay, start_us: int, lasted_us: int, probing: Probing, source: PSchedulerTask
) -> AuditWindow:
    """Of the hour in which the run began. Which packets were lost is not said: one period of one is the least."""
    delays_us = {round(key * probing.bucket_s * MILLION): count for key, count in result.histogram_latency.items()}
    buckets: Counter[int] = Counter()
    for delay_us, count in delays_us.items():
        buckets[bucket_of(delay_us)] += count
    error_us = None
    if source.clock_error_us is not None and delays_us:
        rounded_us = ceil(_ROUNDED * probing.bucket_s * MILLION) + ceil(_ROUNDED * 1_000)
        error_us = max(source.clock_error_us, ceil((result.max_clock_error or 0) * 1_000)) + rounded_us
    is_timed, lost = error_us is not None, result.packets_lost
    return AuditWindow(
        way=way, step_s=HOUR_S, start_us=start_us // _LONGEST_US * _LONGEST_US,
        measured_us=min(result.packets_sent * probing.interval_us, lasted_us),
        arrived_packets=result.packets_received, lost_packets=lost,
        untold_packets=0 if source.in_class else result.packets_received, clock_error_us=error_us,
        variation_error_us=0, least_delay_us=min(delays_us) if is_timed else None,
        delays=buckets if is_timed else {}, variations={}, loss_periods=min(lost, 1), longest_loss=min(lost, 1),
    )  # fmt: skip


def _hour_and_day(hour: AuditWindow) -> tuple[AuditWindow, ...]:
    day_us = DAY_S * MILLION
    return hour, replace(hour, step_s=DAY_S, start_us=hour.start_us // day_us * day_us)


def _unix_us(stamp: int) -> int:
    """OWAMP's 32 bits of seconds and 32 bits of a second."""
    return ((stamp >> 32) - _NTP_EPOCH_S) * MILLION + (((stamp & 0xFFFFFFFF) * MILLION + (1 << 31)) >> 32)


def _drift_us(interval_us: int) -> int:
    return -(-interval_us * DRIFT_PPM // MILLION)


def _read(kind: type[Any], document: object) -> Any:
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "all of it"
        raise Unreadable(f"it is not what pScheduler answers ({where}: {first['msg'].lower()})") from error
