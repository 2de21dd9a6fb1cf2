"""What is free for a request, also in the domains behind this one that have controllers of their own."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from slotcar.desk.desk import Desk
from slotcar.desk.requests import Requests
from slotcar.domains.enquiring import TOGETHER, FreeBehind, RateThroughout, least
from slotcar.planning.enquiry import EnquiryAnswer, FreeRates, FreeStep, Highest
from slotcar.policy.asking import owner_of
from slotcar.policy.caller import Caller
from slotcar.reservation.model import Reservation


def enquired(desk: Desk, reservation: Reservation, caller: Caller, now: datetime) -> EnquiryAnswer:
    """
    Raises:
        NoPath, BeyondHorizon.
    """
    answer = Requests(desk).enquire(reservation, caller, now)
    if desk.agreement is None:
        return answer
    return with_behind(answer, desk.agreement.free_behind(reservation, owner_of(caller)))


def with_behind(answer: EnquiryAnswer, behind: FreeBehind) -> EnquiryAnswer:
    """The answer of one domain, with what those behind it tell."""
    return replace(
        answer,
        together=_joined(answer.together, behind, TOGETHER),
        directions=tuple(_highest(one, behind) for one in answer.directions),
        unknown_beyond=behind.unknown_beyond,
    )


def _highest(one: Highest, behind: FreeBehind) -> Highest:
    steps = behind.steps.get(one.direction.value, ())
    rate_bps = min([one.rate_bps, *(step.rate_bps for step in steps)])
    is_less = rate_bps < one.rate_bps
    free = _joined(one.free, behind, one.direction.value)
    limited_by = None if is_less else one.limited_by
    return replace(one, rate_bps=rate_bps, free=free, limited_by=limited_by, is_limited_behind=is_less)


def _joined(free: FreeRates, behind: FreeBehind, name: str) -> FreeRates:
    if name not in behind.steps:
        return free
    own = tuple(RateThroughout(step.window, step.rate_bps) for step in free.steps)
    steps = tuple(FreeStep(step.window, step.rate_bps) for step in least(own, behind.steps[name]))
    return FreeRates(steps, free.rounded or behind.rounded)
