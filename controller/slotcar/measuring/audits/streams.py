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
_FOR_EVER_US = 2**62


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
        """Right behind the last packet. Not when the next one was due: a sender that was late with the last may be less so
        with the next, and a network holds some that are answered longer than others."""
        of_nobody = self.start_us + self.interval_us * max(0, self.unanswered - 1)
        return max((one.sent_us for one in self.packets), default=of_nobody) + 1

    @property
    def waiting_us(self) -> int:
        """What takes longer is lost: by clocks that may be off by so much. By clocks that nothing keeps right no packet
        that was answered is."""
        return _FOR_EVER_US if self.clock_error_us is None else WAITING_US + self.clock_error_us


def windows_of(stream: MeasuredStream, sls: Sls) -> tuple[AuditWindow, ...]:
    """The hours and days that it lies in, as far as the SLS promises something in them.

    Raises:
        ValueError: a packet was sent at two times.
    """
    parts: dict[int, list[Stamp]] = {}
    for one in stream.packets:
        if is_promised(one.sent_us, sls):
            parts.setdefault(one.sent_us // (HOUR_S * _SECOND_US), []).append(one)
    if not stream.packets and is_promised(stream.start_us, sls):
        parts[stream.start_us // (HOUR_S * _SECOND_US)] = []
    # Of what has no time of its own, it is taken that it was sent in the first of the hours.
    hours = [
        _hour(stream, number, packets, 0 if place else stream.unstamped, 0 if place else stream.unanswered)
        for place, (number, packets) in enumerate(sorted(parts.items()))
    ]
    days = [replace(one, step_s=DAY_S, start_us=one.start_us // _DAY_US * _DAY_US) for one in hours]
    return (*hours, *days)


_DAY_US = DAY_S * _SECOND_US


def is_promised(at_us: int, sls: Sls) -> bool:
    """Whether its figures hold at an instant."""
    return due_us(Window(from_us(at_us), from_us(at_us + 1)), sls.validity, sls.schedule) > 0


def _hour(
    stream: MeasuredStream, number: int, stamps: Sequence[Stamp], unstamped: int, unanswered: int
) -> AuditWindow:
    packets = delay.one_way(stamps, stream.waiting_us)
    delays_us = [one.delay_us for one in packets if one.delay_us is not None]
    is_timed = stream.clock_error_us is not None and bool(delays_us)
    arrived, start_us = len(delays_us) + unstamped, number * HOUR_S * _SECOND_US
    return AuditWindow(
        way=stream.way, step_s=HOUR_S, start_us=start_us,
        measured_us=_measured_us(stream, stamps, len(packets) + unstamped, start_us + HOUR_S * _SECOND_US),
        arrived_packets=arrived, lost_packets=loss.count(packets), unanswered_packets=unanswered,
        # In which of the hours they were is not said: in each, as many as can have been.
        remarked_packets=min(stream.remarked, arrived), untold_packets=min(stream.untold, arrived),
        clock_error_us=stream.clock_error_us if is_timed else None, variation_error_us=stream.variation_error_us,
        least_delay_us=min(delays_us) if is_timed else None, delays=histogram_of(delays_us) if is_timed else {},
        variations=histogram_of(one for run in _runs(packets) for one in ipdv.absolute(run)),
        loss_periods=pattern.period_total(packets), longest_loss=max(pattern.lengths(packets), default=0),
        shortest_distance=min(pattern.distances(packets), default=None),
    )  # fmt: skip


def _measured_us(stream: MeasuredStream, stamps: Sequence[Stamp], packets: int, end_us: int) -> int:
    """As long as so many packets take at their pace, and no longer than from the first to the one after the last."""
    if not stamps:
        return 0
    sent_us = [one.sent_us for one in stamps]
    return min(packets * stream.interval_us, min(max(sent_us) + stream.interval_us, end_us) - min(sent_us))


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
