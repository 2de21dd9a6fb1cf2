"""Background shares in plain cases: GARA's figures, weights, bounds, several resources, changes over time."""

from __future__ import annotations

import pytest

from slotcar.admission import Demand, ResourceId, SlotTables
from slotcar.admission.background import Share, free_amounts, shares_bps, shares_over
from slotcar.admission.rates import Crossing, RateStep
from tests.unit.admission.support import LINK, window

FAR = ResourceId("if", "r2:eth1", "out:ip-premium")
MBPS = 1_000_000
ALL = {LINK: 1_000_000, FAR: 1_000_000}


def share(name: str, *resources: ResourceId, **fields: int) -> Share:
    return Share(name, tuple(Crossing(one) for one in resources or (LINK,)), (window(0, 60),), **fields)


@pytest.mark.parametrize(("reserved", "background"), [(0, 40.5), (36, 8.1), (9, 32.4), (18, 24.3)])
def test_one_share_gets_nine_tenths_of_what_foreground_leaves(reserved: int, background: float) -> None:
    """GARA §4.1 and Figure 4: 45 Mb/s of premium."""
    free = {LINK: (45 - reserved) * MBPS}
    assert shares_bps([share("one")], free) == {"one": int(background * MBPS)}


def test_a_floor_counts_as_background_and_changes_no_total() -> None:
    floor = share("one", at_least_bps=MBPS)
    assert shares_bps([floor], {LINK: 44 * MBPS}) == {"one": 40_500_000}


def test_a_floor_is_kept_where_the_factor_would_leave_less() -> None:
    floor = share("one", at_least_bps=10 * MBPS)
    assert shares_bps([floor], {LINK: 0}) == {"one": 10 * MBPS}


def test_weights_divide_what_is_left_and_rounding_loses_nothing() -> None:
    given = shares_bps([share("a", weight=1), share("b", weight=2)], {LINK: 100}, ALL)
    assert given == {"a": 33, "b": 67}


def test_what_one_cannot_use_goes_to_the_others() -> None:
    shares = [share("a", at_most_bps=10), share("b"), share("c", at_least_bps=60)]
    assert shares_bps(shares, {LINK: 40}, ALL) == {"a": 10, "b": 30, "c": 60}


def test_a_share_that_is_full_elsewhere_leaves_its_part() -> None:
    shares = [share("near"), share("both", LINK, FAR), share("far", FAR)]
    assert shares_bps(shares, {LINK: 100, FAR: 20}, ALL) == {"near": 90, "both": 10, "far": 10}


def test_headers_are_counted() -> None:
    """1000 bytes of payload in 1066 on the wire."""
    one = Share("one", (Crossing(LINK, 1066, 1000),))
    (rate,) = shares_bps([one], {LINK: 1066 * 1000}, ALL).values()
    assert rate == 1_000_000


def test_a_resource_of_its_own_factor() -> None:
    assert shares_bps([share("one")], {LINK: 100}, {LINK: 500_000}) == {"one": 50}


def test_shares_over_time_follow_the_tables_and_their_own_windows() -> None:
    tables = SlotTables({LINK: 100})
    tables.add([Demand.constant(LINK, 60)], [window(10, 20)])
    early = Share("early", (Crossing(LINK),), (window(0, 15),))
    late = Share("late", (Crossing(LINK),), (window(15, 30),))
    given = shares_over([early, late], {LINK: free_amounts(tables, LINK, window(0, 40))}, window(0, 40), ALL)
    assert given == {"early": steps((0, 10, 100), (10, 15, 40)), "late": steps((15, 20, 40), (20, 30, 100))}


def steps(*rows: tuple[int, int, int]) -> tuple[RateStep, ...]:
    return tuple(RateStep(window(a, b).start_us, window(a, b).end_us, rate) for a, b, rate in rows)


def test_bad_shares_are_refused() -> None:
    with pytest.raises(ValueError, match="weight"):
        share("one", weight=0)
    with pytest.raises(ValueError, match="at_least"):
        share("one", at_least_bps=2, at_most_bps=1)
    with pytest.raises(ValueError, match="factor"):
        shares_bps([share("one")], {LINK: 1}, {LINK: 1_000_001})
