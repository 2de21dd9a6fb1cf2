"""A stream that a probe measured, by the RFCs' metrics, as windows of hours and days. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from slotcar.base.timebase import Window, from_us
from slotcar.measuring.audits.histogram import histogram_of
from slotcar.measuring.metrics import delay, ipdv, loss, pattern
from slotcar.measuring.metrics.model import Delay, Stamp
from slotcar.network.model import Sls
from slotcar.network.schedules import due_us
from slotcar.store.audits import DAY_S, HOUR_S, AuditedWay, AuditWindow

#: What takes longer is lost, as STAMP's sender has it (RFC 7679 §3.2).
WAITING_US = 3_000_000
_SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class MeasuredStream:
    """
    Attributes:
        start_us: when the first packet was sent. interval_us: from one packet to the next.
        clock_error_us: what both clocks may be off by together; None where one is not kept right.
        packets: with the number, when it was sent, and the delay; None of a lost one.
        unstamped: how many arrived of which no delay is known. unanswered, remarked, untold: as in `AuditWindow`.
    """

    way: AuditedWay
    start_us: int
    interval_us: int
    clock_error_us: int | None
    variation_error_us: int
    packets: tuple[Stamp, ...]
    unstamped: int = 0
    unanswered: int = 0
    remarked: int = 0
    untold: int = 0

    @property
    def until_us(self) -> int:
        """When the next packet was due."""
        of_nobody = self.start_us + self.interval_us * max(1, self.unanswered)
        return max((one.sent_us + self.interval_us for one in self.packets), default=of_nobody)


def windows_of(stream: MeasuredStream, sls: Sls) -> tuple[AuditWindow, ...]:
    """The hours and days that it lies in, as far as the SLS promises something in them.

    Raises:
        ValueError: a packet was sent at two times.
    """
    parts: dict[int, list[Stamp]] = {}
    for one in stream.packets:
        if _is_promised(one.sent_us, sls):
            parts.setdefault(one.sent_us // (HOUR_S * _SECOND_US), []).append(one)
    if not parts and _is_promised(stream.start_us, sls):
        parts[stream.start_us // (HOUR_S * _SECOND_US)] = []
    hours = [_hour(stream, number, packets) for number, packets in sorted(parts.items())]
    if hours:
        # Of these it is not said when they were sent.
        hours[0] = replace(
            hours[0], unanswered_packets=stream.unanswered, remarked_packets=stream.remarked,
            untold_packets=stream.untold, arrived_packets=hours[0].arrived_packets + stream.unstamped,
            measured_us=hours[0].measured_us + stream.unstamped * stream.interval_us,
        )  # fmt: skip
    days = [replace(one, step_s=DAY_S, start_us=one.start_us // _DAY_US * _DAY_US) for one in hours]
    return (*hours, *days)


_DAY_US = DAY_S * _SECOND_US


def _is_promised(at_us: int, sls: Sls) -> bool:
    return due_us(Window(from_us(at_us), from_us(at_us + 1)), sls.validity, sls.schedule) > 0


def _hour(stream: MeasuredStream, number: int, stamps: Sequence[Stamp]) -> AuditWindow:
    packets = delay.one_way(stamps, WAITING_US)
    delays_us = [one.delay_us for one in packets if one.delay_us is not None]
    is_timed = stream.clock_error_us is not None and bool(delays_us)
    return AuditWindow(
        way=stream.way, step_s=HOUR_S, start_us=number * HOUR_S * _SECOND_US,
        measured_us=len(packets) * stream.interval_us,
        arrived_packets=len(delays_us), lost_packets=loss.count(packets),
        clock_error_us=stream.clock_error_us if is_timed else None, variation_error_us=stream.variation_error_us,
        least_delay_us=min(delays_us) if is_timed else None, delays=histogram_of(delays_us) if is_timed else {},
        variations=histogram_of(one for run in _runs(packets) for one in ipdv.absolute(run)),
        loss_periods=pattern.period_total(packets), longest_loss=max(pattern.lengths(packets), default=0),
        shortest_distance=min(pattern.distances(packets), default=None),
    )  # fmt: skip


def _runs(packets: Sequence[Delay]) -> Iterator[list[Delay]]:
    """Parts without a gap in their numbers: only of these was a packet sent right before the next."""
    run: list[Delay] = []
    for one in packets:
        if run and one.sequence != run[-1].sequence + 1:
            yield run
            run = []
        run.append(one)
    if run:
        yield run
