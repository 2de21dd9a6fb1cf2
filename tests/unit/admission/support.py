"""Requests on plain resources, minutes as the unit of time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from slotcar.admission import Admitted, Demand, Refused, ResourceId, SlotTables, decide
from slotcar.base.timebase import Window

T0 = datetime(2027, 3, 1, 12, 0, tzinfo=UTC)
LINK = ResourceId("if", "r1:eth2", "out:ip-premium")
SLS = ResourceId("sls", "alpha-transit")


def at(minutes: int) -> datetime:
    return T0 + timedelta(minutes=minutes)


def window(start: int, end: int) -> Window:
    return Window(at(start), at(end))


def tables(**reserved: int) -> SlotTables:
    """100 bit/s on the link, 60 of the SLS, nothing reserved."""
    return SlotTables({LINK: 100, SLS: 60, **reserved})


def admit(book: SlotTables, rate_bps: int, *windows: Window, resources: tuple[str, ...] = (LINK,)) -> Admitted:
    """Decides and adds, as the ledger does."""
    answer = decide(book, [Demand.constant(name, rate_bps) for name in resources], windows)
    assert isinstance(answer, Admitted), answer
    book.add(answer.demands, answer.windows)
    return answer


def refuse(book: SlotTables, rate_bps: int, *windows: Window, resources: tuple[str, ...] = (LINK,)) -> Refused:
    before = {name: book.steps(name, window(-10_000, 10_000)) for name in book.resources}
    answer = decide(book, [Demand.constant(name, rate_bps) for name in resources], windows)
    assert isinstance(answer, Refused), answer
    assert {name: book.steps(name, window(-10_000, 10_000)) for name in book.resources} == before
    return answer
