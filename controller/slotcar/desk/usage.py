"""What was used of what was reserved, as devices counted it."""

from __future__ import annotations

from datetime import datetime, timedelta

from slotcar.base.timebase import Window
from slotcar.desk.desk import Desk, answers
from slotcar.desk.overview import Overview
from slotcar.desk.reading import instant_of, window_of
from slotcar.policy.caller import Caller
from slotcar.views.usage import month_at
from slotcar_client.wire import documents, verbs

#: What is shown where no time is named.
USUAL = timedelta(days=1)


@answers(verbs.ReservationUsage)
def reservation_usage(
    verb: verbs.ReservationUsage, desk: Desk, caller: Caller, now: datetime
) -> documents.ReservationUsage:
    return Overview(desk).reservation_usage(verb.handle, _window(verb.since, verb.until, now), caller, now)


@answers(verbs.CountedUsage)
def counted_usage(verb: verbs.CountedUsage, desk: Desk, caller: Caller, now: datetime) -> documents.CountedUsages:
    begin = instant_of("from", verb.since) or month_at(now).start
    window = window_of(begin, instant_of("until", verb.until) or month_at(begin).end)
    return Overview(desk).counted_usage(verb.by, window, caller, verb.owner)


@answers(verbs.UnusedReservations)
def unused_reservations(
    verb: verbs.UnusedReservations, desk: Desk, caller: Caller, now: datetime
) -> documents.UnusedReservations:
    return Overview(desk).unused(caller, now, verb.owner, verb.below_percent)


@answers(verbs.LinkUsage)
def link_usage(verb: verbs.LinkUsage, desk: Desk, caller: Caller, now: datetime) -> documents.LinkUsage:
    return Overview(desk).link_usage(verb.device, verb.interface, _window(verb.since, verb.until, now), caller)


def _window(since: str | None, until: str | None, now: datetime) -> Window:
    end = instant_of("until", until) or now
    return window_of(instant_of("from", since) or end - USUAL, end)
