"""What is live together, as step functions: also of what is promised no rate."""

from __future__ import annotations

from slotcar.base.timebase import Window, to_us
from slotcar.book.rules.reserving import LiveAmount, Whose
from slotcar.book.running_totals import RunningTotals
from slotcar.policy.reserving import Total
from slotcar.policy.site import Site
from tests.support.requests import T0, at


def test_what_has_no_rate_is_counted_and_forgotten() -> None:
    """As scavenger's reservations are."""
    totals = RunningTotals(Site(), [(1, LiveAmount("hep", None, to_us(at(60)), 0))], T0)
    hep = Whose("owner", "hep")
    assert totals.total(hep, [Window(T0, at(60))], T0) == Total(reservations=1, peak_bps=0, volume_bits=0)
    assert totals.rates_without(2, ["hep"], [Window(T0, at(60))]) == ()
    totals.forget(at(60))
    assert totals.total(hep, [Window(at(60), at(61))], at(60)) == Total()
