"""Whether an SLS was kept in a window: each figure by itself, against its bound, with what it may be off by. Pure.

Broken is said only where the figure exceeds the bound by more than it may be off by, kept only where it is within the
bound with all that it may be off by. All else is unknown: also what nobody measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from slotcar.measuring.audits.histogram import MILLION, Between, quantile
from slotcar.network.model import Sls
from slotcar.store.audits import AuditWindow


class AuditVerdict(StrEnum):
    KEPT = "kept"
    BROKEN = "broken"
    UNKNOWN = "unknown"


#: Of the time in which an SLS promises something, so much is measured where it is said to be kept.
LEAST_MEASURED_PERCENT = 50
NOBODY_MEASURED = "nobody measured it"


@dataclass(frozen=True, slots=True)
class Judged:
    """One figure of an SLS in a window.

    Attributes:
        unit: of all its numbers: `us`, `ppm` of the packets, or `packets`.
        figure: what was measured; None where nothing was.
        error: what it may be off by, beside that it is known as an interval.
        reason: why it is unknown; empty otherwise.
    """

    verdict: AuditVerdict
    unit: str
    bound: int
    figure: Between | None = None
    error: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RateCount:
    """What devices counted of the SLS's class where it leaves the domain, in all of the window that they counted."""

    counted_us: int
    sent_bytes: int
    dropped_packets: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """None of what was not agreed."""

    delay: Judged | None
    variation: Judged | None
    loss: Judged | None
    rate: Judged

    @property
    def verdict(self) -> AuditVerdict:
        """Broken where anything is, kept where all that was agreed of delay, variation and loss is. The rate breaks it,
        and is not needed to say that it was kept: not every device is counted."""
        agreed = [one.verdict for one in (self.delay, self.variation, self.loss) if one is not None]
        if AuditVerdict.BROKEN in (*agreed, self.rate.verdict):
            return AuditVerdict.BROKEN
        return AuditVerdict.KEPT if agreed and set(agreed) == {AuditVerdict.KEPT} else AuditVerdict.UNKNOWN


def judge(
    sls: Sls, window: AuditWindow | None, due_us: int, rate: RateCount | None = None, nothing: str = NOBODY_MEASURED
) -> Judgement:
    """
    Args:
        window: what was measured; None where nothing was.
        due_us: for how much of the window the SLS promised something.
        rate: None where no device counts it.
        nothing: why nothing was measured, where nothing was.
    """
    why = _why_unknown(window, due_us, nothing)

    def agreed(
        unit: str, bound: int | None, judged: Callable[[int, Sls, AuditWindow, _Unknown], Judged]
    ) -> Judged | None:
        if bound is None:
            return None
        if why.at_all or window is None:
            return Judged(AuditVerdict.UNKNOWN, unit, bound, reason=why.at_all)
        return judged(bound, sls, window, why)

    return Judgement(
        agreed("us", sls.delay_us, _delay), agreed("us", sls.variation_us, _variation),
        agreed("ppm", sls.loss_ppm, _loss), _rate(sls, rate, due_us),
    )  # fmt: skip


def verdict_of(figure: Between, error: int, bound: int) -> AuditVerdict:
    """The rule itself.

    >>> [verdict_of(Between(18, 19), error, 20).value for error in (1, 2)]
    ['kept', 'unknown']
    >>> [verdict_of(Between(22, 23), error, 20).value for error in (1, 2)]
    ['broken', 'unknown']
    """
    if figure.high + error <= bound:
        return AuditVerdict.KEPT
    return AuditVerdict.BROKEN if figure.low - error > bound else AuditVerdict.UNKNOWN


@dataclass(frozen=True, slots=True)
class _Unknown:
    """
    Attributes:
        at_all: why nothing can be said. kept: why it cannot be said that it was kept.
    """

    at_all: str = ""
    kept: str = ""


def _why_unknown(window: AuditWindow | None, due_us: int, nothing: str) -> _Unknown:
    if window is None:
        return _Unknown(nothing)
    known = window.arrived_packets + window.lost_packets
    if not known:
        silent = f"nobody answered the probe: {window.unanswered_packets} packets"
        return _Unknown(silent if window.unanswered_packets else NOBODY_MEASURED)
    if window.remarked_packets:
        words = f"{window.remarked_packets} of {known} packets arrived by another code point"
        return _Unknown(f"no probe may use the class: {words}")
    if window.untold_packets:
        return _Unknown(f"nobody says in which class {window.untold_packets} of {known} packets arrived")
    if window.measured_us * 100 < due_us * LEAST_MEASURED_PERCENT:
        part = f"{window.measured_us // MILLION} s of {due_us // MILLION} s were measured"
        return _Unknown(kept=f"{part}, less than {LEAST_MEASURED_PERCENT} %")
    return _Unknown()


def _judged(unit: str, figure: Between, error: int, bound: int, why: _Unknown) -> Judged:
    verdict = verdict_of(figure, error, bound)
    reason = ""
    if verdict is AuditVerdict.KEPT and why.kept:
        verdict, reason = AuditVerdict.UNKNOWN, why.kept
    elif verdict is AuditVerdict.UNKNOWN:
        reason = "it may be off by more than it is from the bound"
    return Judged(verdict, unit, bound, figure, error, reason)


def _delay(bound_us: int, sls: Sls, window: AuditWindow, why: _Unknown) -> Judged:
    figure = quantile(window.delays, sls.quantile_ppm)
    if figure is None or window.clock_error_us is None or window.least_delay_us is None:
        reason = "no clocks that are kept right measured it" if window.arrived_packets else "no packet arrived"
        return Judged(AuditVerdict.UNKNOWN, "us", bound_us, reason=reason)
    if window.least_delay_us + window.clock_error_us < 0:
        early = f"a packet arrived {-window.least_delay_us} us before it was sent"
        reason = f"a clock is off by more than it says: {early}"
        return Judged(AuditVerdict.UNKNOWN, "us", bound_us, figure, window.clock_error_us, reason)
    timed = sum(window.delays.values())
    if timed * 100 < window.arrived_packets * LEAST_MEASURED_PERCENT and not why.kept:
        why = _Unknown(kept=f"clocks that are kept right measured {timed} of {window.arrived_packets} packets")
    return _judged("us", figure, window.clock_error_us, bound_us, why)


def _variation(bound_us: int, sls: Sls, window: AuditWindow, why: _Unknown) -> Judged:
    figure = quantile(window.variations, sls.quantile_ppm)
    if figure is None:
        return Judged(AuditVerdict.UNKNOWN, "us", bound_us, reason="no two packets in a row arrived")
    return _judged("us", figure, window.variation_error_us, bound_us, why)


def _loss(bound_ppm: int, _sls: Sls, window: AuditWindow, why: _Unknown) -> Judged:
    """Of n packets a share is known to one of them; where none may be lost, one that was decides."""
    sent = window.lost_packets + window.arrived_packets
    figure = Between(window.lost_packets * MILLION // sent, -(-window.lost_packets * MILLION // sent))
    return _judged("ppm", figure, -(-MILLION // sent) if bound_ppm else 0, bound_ppm, why)


def _rate(sls: Sls, rate: RateCount | None, due_us: int) -> Judged:
    """Kept where the class lost nothing. What was sent above the agreed rate may have been dropped rightly."""
    if rate is None or not rate.counted_us:
        return Judged(AuditVerdict.UNKNOWN, "packets", 0, reason="no device was read where it leaves the domain")
    figure = Between(rate.dropped_packets, rate.dropped_packets)
    if not rate.dropped_packets:
        if rate.counted_us * 100 < due_us * LEAST_MEASURED_PERCENT:
            reason = f"devices counted {rate.counted_us // MILLION} s of {due_us // MILLION} s"
            return Judged(AuditVerdict.UNKNOWN, "packets", 0, figure, 0, reason)
        return Judged(AuditVerdict.KEPT, "packets", 0, figure, 0)
    sent_bps = rate.sent_bytes * 8 * MILLION // rate.counted_us
    if sent_bps > sls.rate_bps:
        reason = f"more than was agreed was sent ({sent_bps} bit/s): what was dropped may be excess"
        return Judged(AuditVerdict.UNKNOWN, "packets", 0, figure, 0, reason)
    return Judged(AuditVerdict.BROKEN, "packets", 0, figure, 0)
