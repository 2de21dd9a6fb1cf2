"""Deadline transfers in plain cases: each shape, a refusal's numbers, headers, progress."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from slotcar.admission import Demand, ResourceId, SlotTables
from slotcar.admission.deadline import ReportedProgress, Shape, Transfer, TransferRefused, plan_transfer, progress
from slotcar.admission.free import free_in
from slotcar.admission.rates import Crossing, Profile, RateStep, clipped, microbits, profile_demands
from slotcar.admission.steady import MINUTE_US
from slotcar.base.timebase import Window, to_us
from slotcar.base.vocabulary import Service
from slotcar.network.model import InterfaceId, Sls
from tests.unit.admission.support import LINK, SLS, at, window

#: One bit/s for a minute is 60 bits; 8 of them make 60 bytes.
UNIT_BPS, UNIT_BYTES = 8, 60
HORIZON = at(1000)


def transfer(units: int, start: int = 0, end: int = 10, *resources: ResourceId, **fields: Any) -> Transfer:
    """`units` of 8 bit/s for a minute."""
    for bound in ("at_least_bps", "at_most_bps"):
        if bound in fields:
            fields[bound] *= UNIT_BPS
    crossings = tuple(Crossing(one) for one in resources or (LINK,))
    return Transfer(units * UNIT_BYTES, window(start, end), crossings, **fields)


def book(*taken: tuple[int, int, int], capacity: int = 10) -> SlotTables:
    """`capacity` units on the link, and what is taken of them."""
    tables = SlotTables({LINK: capacity * UNIT_BPS, SLS: 4 * UNIT_BPS})
    for start, end, rate in taken:
        tables.add([Demand.constant(LINK, rate * UNIT_BPS)], [window(start, end)])
    return tables


def steps(*rows: tuple[float, float, float]) -> Profile:
    return tuple(
        RateStep(to_us(at(0)) + int(a * 60_000_000), to_us(at(0)) + int(b * 60_000_000), int(rate * UNIT_BPS))
        for a, b, rate in rows
    )


def test_steady_is_one_constant_rate_where_that_fits() -> None:
    assert plan_transfer(book((2, 4, 6)), transfer(40), horizon=HORIZON) == steps((0, 10, 4))


def test_steady_has_the_fewest_steps_else_under_the_lowest_ceiling() -> None:
    tables = book((2, 4, 9))
    one, two = (plan_transfer(tables, transfer(units), horizon=HORIZON) for units in (40, 62))
    assert one == tuple(step._replace(rate_bps=54) for step in steps((4, 10, 10))), "40 units in 6 minutes, rounded up"
    assert two == tuple(step._replace(rate_bps=62) for step in steps((0, 2, 10), (4, 10, 10)))


def test_a_step_lasts_a_minute_and_so_does_a_pause() -> None:
    """Six seconds of the link were a step of their own, and so was what was left for the last one."""
    tables = book((0, 5, 8), (6, 10, 9))
    tables.add([Demand.constant(LINK, 8 * UNIT_BPS)], [Window(at(5) + timedelta(seconds=6), at(6))])
    for shape in Shape:
        profile = plan_transfer(tables, transfer(13, shape=shape), horizon=HORIZON)
        assert not isinstance(profile, TransferRefused)
        assert all(step.end_us - step.start_us >= MINUTE_US for step in profile)
    too_much = plan_transfer(tables, transfer(17), horizon=HORIZON)
    assert isinstance(too_much, TransferRefused)
    assert too_much.most_bytes == 16 * UNIT_BYTES, "6 minutes of 2 units and 4 of 1"
    valley = book()
    valley.add([Demand.constant(LINK, 10 * UNIT_BPS)], [Window(at(4), at(4) + timedelta(seconds=1))])
    around = plan_transfer(valley, transfer(90), horizon=HORIZON)
    assert not isinstance(around, TransferRefused)
    assert [step.rate_bps for step in around] == [10 * UNIT_BPS] * 2
    assert around[1].start_us - around[0].end_us == MINUTE_US


def test_a_profile_has_no_more_than_32_steps() -> None:
    tables = book(*((minute, minute + 1, 1 + minute % 9) for minute in range(0, 80, 2)))
    whole = transfer(600, 0, 80, shape=Shape.EARLIEST)
    answer = plan_transfer(tables, whole, horizon=HORIZON)
    assert isinstance(answer, TransferRefused)
    assert answer.most_bytes > 480 * UNIT_BYTES, "of 600, in 80 parts"
    profile = plan_transfer(tables, replace(whole, volume_bytes=answer.most_bytes), horizon=HORIZON)
    assert not isinstance(profile, TransferRefused)
    assert len(profile) <= 32


def test_less_than_a_minute_is_one_step() -> None:
    short = replace(transfer(1), window=Window(at(0), at(0) + timedelta(seconds=20)), shape=Shape.EARLIEST)
    assert plan_transfer(book(), short, horizon=HORIZON) == steps((0, 1 / 3, 3))


def test_earliest_ends_as_soon_as_may_be_and_latest_begins_as_late_with_a_tenth_to_spare() -> None:
    tables = book((2, 4, 5))
    assert plan_transfer(tables, transfer(34, shape=Shape.EARLIEST), horizon=HORIZON) == steps(
        (0, 2, 10), (2, 4, 5), (4, 5, 4)
    )
    late = transfer(63, shape=Shape.LATEST)
    assert plan_transfer(tables, late, horizon=HORIZON) == steps((2, 4, 4.5), (4, 10, 9))
    bounded = replace(late, volume_bytes=36 * UNIT_BYTES, at_most_bps=5 * UNIT_BPS)
    assert plan_transfer(tables, bounded, horizon=HORIZON) == steps((2, 10, 4.5))


def test_latest_spares_nothing_where_it_needs_all() -> None:
    tables = book((2, 4, 6))
    whole = transfer(85, shape=Shape.LATEST)
    assert plan_transfer(tables, whole, horizon=HORIZON) == steps((0.3, 2, 10), (2, 4, 4), (4, 10, 10))


def test_at_most_bounds_every_step_and_at_least_pauses() -> None:
    tables = book((2, 4, 8))
    bounded = transfer(20, at_most_bps=5, at_least_bps=3, shape=Shape.EARLIEST)
    assert plan_transfer(tables, bounded, horizon=HORIZON) == steps((0, 2, 5), (4, 6, 5))


def test_at_least_ends_a_steady_transfer_early() -> None:
    assert plan_transfer(book(), transfer(10, at_least_bps=5), horizon=HORIZON) == steps((0, 2, 5))


def test_a_refusal_has_the_most_volume_the_earliest_deadline_and_what_is_short() -> None:
    answer = plan_transfer(book((2, 30, 7)), transfer(45, 0, 10, SLS, LINK), horizon=HORIZON)
    assert isinstance(answer, TransferRefused)
    assert (answer.asked_bytes, answer.most_bytes) == (45 * UNIT_BYTES, 32 * UNIT_BYTES)
    assert answer.earliest_deadline == at(14) + timedelta(seconds=20)
    assert (answer.tightest, answer.tightest_bytes) == (SLS, 40 * UNIT_BYTES)


def test_a_refusal_where_at_most_is_what_is_short_names_no_resource() -> None:
    answer = plan_transfer(book(), transfer(45, at_most_bps=4), horizon=at(11))
    assert isinstance(answer, TransferRefused)
    assert (answer.tightest, answer.tightest_bytes, answer.earliest_deadline) == (None, 40 * UNIT_BYTES, None)


def test_headers_are_counted_as_those_of_a_fixed_request() -> None:
    """1000 bytes of payload in 1066 on the wire: 1066 bit/s carry 1000."""
    tables = SlotTables({LINK: 1066})
    fits = replace(transfer(1), volume_bytes=75_000, crossings=(Crossing(LINK, 1066, 1000),))
    profile = plan_transfer(tables, fits, horizon=HORIZON)
    assert not isinstance(profile, TransferRefused)
    assert [step.rate_bps for step in profile] == [1000]
    demands, windows = profile_demands(fits.crossings, profile)
    assert tables.fits(demands, windows)
    refused = plan_transfer(tables, replace(fits, volume_bytes=75_001), horizon=HORIZON)
    assert isinstance(refused, TransferRefused)
    assert refused.most_bytes == 75_000


def test_an_sls_leaves_nothing_outside_its_validity() -> None:
    agreement = Sls(
        name=SLS.place, upstream="a", downstream="b", service=Service.IP_PREMIUM, rate_bps=32, burst_bytes=8_000,
        ingress=InterfaceId(device="r1", name="eth1"), validity=window(2, 6),
    )  # fmt: skip
    request = transfer(16, 0, 10, SLS, shape=Shape.EARLIEST)
    assert plan_transfer(book(), request, horizon=HORIZON, sls={SLS.place: agreement}) == steps((2, 6, 4))


def test_what_a_need_cannot_be() -> None:
    with pytest.raises(ValueError, match="volume"):
        transfer(0)
    with pytest.raises(ValueError, match="at_least"):
        transfer(1, at_least_bps=2, at_most_bps=1)


def report(request: Transfer, tables: SlotTables, profile: Profile, remaining: int, minute: int) -> ReportedProgress:
    """With the present profile in the tables, and without it for the new one."""
    demands, windows = profile_demands(request.crossings, profile)
    tables.remove(demands, windows)
    free = free_in(tables, request.crossings, window(minute, 10))
    answer = progress(request, profile, remaining * UNIT_BYTES, at(minute), free)
    tables.add(demands, windows)
    return answer


def planned(request: Transfer, *taken: tuple[int, int, int]) -> tuple[SlotTables, Profile]:
    tables = book(*taken)
    profile = plan_transfer(tables, request, horizon=HORIZON)
    assert not isinstance(profile, TransferRefused)
    tables.add(*profile_demands(request.crossings, profile))
    return tables, profile


def test_what_is_done_early_is_given_back() -> None:
    request = transfer(50)
    tables, profile = planned(request)
    answer = report(request, tables, profile, 10, 5)
    assert answer.needed_bps == 2 * UNIT_BPS
    assert answer == ReportedProgress(2 * UNIT_BPS, steps((5, 10, 2)), (), steps((5, 10, 3)))


def test_what_falls_behind_asks_for_more_and_says_what_it_cannot_have() -> None:
    request = transfer(50)
    tables, profile = planned(request, (5, 10, 3))
    assert report(request, tables, profile, 35, 5).raised == steps((5, 10, 2))
    behind = report(request, tables, profile, 40, 5)
    assert (behind.profile, behind.missing_bytes) == (steps((5, 10, 7)), 5 * UNIT_BYTES)


def test_a_late_promise_is_put_off_until_it_begins_and_then_follows_what_remains() -> None:
    request = transfer(36, shape=Shape.LATEST)
    tables, profile = planned(request)
    assert profile == steps((6, 10, 9))
    assert report(request, tables, profile, 36, 3).profile == profile, "nothing was moved, and it still suffices"
    assert report(request, tables, profile, 18, 3).profile == steps((8, 10, 9))
    assert report(request, tables, profile, 18, 7).profile == steps((7, 10, 6))


def test_a_profile_that_is_right_stays_and_a_transfer_that_is_done_has_none() -> None:
    request = transfer(50)
    tables, profile = planned(request)
    assert report(request, tables, profile, 25, 5).profile == steps((5, 10, 5))
    assert report(request, tables, profile, 0, 5) == ReportedProgress(0, (), (), steps((5, 10, 5)))
    assert clipped(profile, to_us(at(5)), to_us(at(10))) == steps((5, 10, 5))
    assert microbits(profile) == request.microbits


def test_no_report_after_the_deadline() -> None:
    request = transfer(50)
    with pytest.raises(ValueError, match="remain"):
        progress(request, (), 1, at(10), ())
