"""The hours or days of a window, each of every way of an SLS, judged. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from slotcar.base.assured import class_key
from slotcar.base.timebase import Window
from slotcar.measuring.audits.documents import item_document
from slotcar.measuring.audits.histogram import MILLION
from slotcar.measuring.audits.judging import NOBODY_MEASURED, judge
from slotcar.measuring.audits.rates import rate_count
from slotcar.network.model import Sls
from slotcar.network.schedules import due_us
from slotcar.store.audits import DAY_S, HOUR_S, KEPT, AuditedWay, AuditWindow
from slotcar.store.counts import CountedStep
from slotcar_client.wire import documents


def periods_of(window: Window, step_s: int) -> list[Window]:
    """The whole hours or days, in UTC, that a window lies in."""
    step_us = step_s * MILLION
    first_us = window.start_us // step_us * step_us
    return [Window.of_us(at_us, at_us + step_us) for at_us in range(first_us, window.end_us, step_us)]


def ways_of(sls: Sls, windows: Iterable[AuditWindow]) -> list[AuditedWay]:
    """Those that were measured, or one without ends where none was; and those that a pScheduler was to measure."""
    measured = {one.way for one in windows}
    named = {AuditedWay(sls.name, one.source, one.destination) for one in sls.pscheduler}
    return [*(sorted(measured) or [AuditedWay(sls.name, "", "")]), *sorted(named - measured)]


def items_of(
    sls: Sls, windows: Sequence[AuditWindow], counted: Sequence[CountedStep], periods: Sequence[Window], now_us: int
) -> Iterator[documents.AuditItem]:
    """By way and time. A period in which the SLS promised nothing is left out; so is what is still to come. One that is
    not over is held to all of what it promises: half of it must have been measured to say that it is kept.

    Args:
        windows: of the SLS, as long as the periods.
        counted: of its class, where it leaves the domain.
    """
    measured = {(one.way, one.start_us): one for one in windows}
    for way in ways_of(sls, windows):
        for period in periods:
            if period.start_us >= now_us:
                continue
            past = Window.of_us(period.start_us, min(period.end_us, now_us))
            if due_us(past, sls.validity, sls.schedule):
                due = due_us(period, sls.validity, sls.schedule)
                one = measured.get((way, period.start_us))
                rate = rate_count(counted, period, class_key(sls.service, sls.assured_class))
                judged = judge(sls, one, due, rate, _why_nothing(period, now_us))
                yield item_document(way, period, one, due, judged)


def _why_nothing(period: Window, now_us: int) -> str:
    """What is no longer kept may have been measured."""
    step_s = DAY_S if period.duration > timedelta(seconds=HOUR_S) else HOUR_S
    if now_us - period.start_us <= KEPT[step_s] // timedelta(microseconds=1):
        return NOBODY_MEASURED
    if step_s == HOUR_S:
        return f"it is forgotten: hours are kept for {KEPT[HOUR_S].days} days, and days for {KEPT[DAY_S].days}"
    return f"it is forgotten: days are kept for {KEPT[DAY_S].days} days"
