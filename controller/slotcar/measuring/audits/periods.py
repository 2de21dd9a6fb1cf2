"""The hours or days of a window, each of every way of an SLS, judged. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slotcar.base.timebase import Window
from slotcar.measuring.audits.documents import item_document
from slotcar.measuring.audits.histogram import MILLION
from slotcar.measuring.audits.judging import judge
from slotcar.measuring.audits.rates import rate_count
from slotcar.network.model import Sls
from slotcar.network.schedules import due_us
from slotcar.store.audits import AuditedWay, AuditWindow
from slotcar.store.counts import CountedStep
from slotcar_client.wire import documents


def periods_of(window: Window, step_s: int) -> list[Window]:
    """The whole hours or days, in UTC, that a window lies in."""
    step_us = step_s * MILLION
    first_us = window.start_us // step_us * step_us
    return [Window.of_us(at_us, at_us + step_us) for at_us in range(first_us, window.end_us, step_us)]


def items_of(
    sls: Sls, windows: Sequence[AuditWindow], counted: Sequence[CountedStep], periods: Sequence[Window], now_us: int
) -> Iterator[documents.AuditItem]:
    """By way and time. A period in which the SLS promised nothing is left out; so is what is still to come.

    Args:
        windows: of the SLS, as long as the periods.
        counted: of its class, where it leaves the domain.
    """
    measured = {(one.way, one.start_us): one for one in windows}
    ways = sorted({one.way for one in windows}) or [AuditedWay(sls.name, "", "")]
    for way in ways:
        for period in periods:
            if period.start_us >= now_us:
                continue
            past = Window.of_us(period.start_us, min(period.end_us, now_us))
            due = due_us(past, sls.validity, sls.schedule)
            if due:
                one = measured.get((way, period.start_us))
                rate = rate_count(counted, period, sls.service.value)
                yield item_document(way, *_ends(period), one, due, judge(sls, one, due, rate))


def _ends(period: Window) -> tuple[int, int]:
    return period.start_us, period.end_us
