"""HTB's classes hold less than the line, and premium's drains (what EMERGE 1 of the lab found, before and after)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.vocabulary import Scheduler, Service
from slotcar.platforms.intent.model import Egress
from slotcar.platforms.linux_tc import numbers
from slotcar.platforms.linux_tc.limits import LEAST_RATE_BPS
from slotcar.platforms.linux_tc.objects import HtbClass
from slotcar.platforms.linux_tc.queues import BURST_US, LEAST_BURST_BYTES, MICROSECOND_BITS, queues_of
from tests.unit.platforms.test_linux_schedulers import chosen, egress, loads

PREMIUM, ASSURED, BEST, QBSS = "10", "20", "30", "40"
CAPACITY_BPS = 10_500_000


def classes(wanted: Egress) -> dict[str, HtbClass]:
    """By minor number; `1` is the link's."""
    device = chosen(Scheduler.HTB, wanted.capacity_bps)
    interface = device.interfaces["eth1"]
    return {one.minor: one for one in queues_of(wanted, interface, device).objects if isinstance(one, HtbClass)}


def admitted(wanted: Egress, service: Service) -> int:
    return next(queue.rate_bps for queue in wanted.queues if queue.service is service)


@given(loads())
def test_no_guarantee_is_less_than_what_is_admitted(wanted: Egress) -> None:
    by_minor = classes(wanted)
    for minor, service in ((PREMIUM, Service.IP_PREMIUM), (ASSURED, Service.ASSURED_RATE), (QBSS, Service.QBSS)):
        assert by_minor[minor].rate_bps >= min(admitted(wanted, service), by_minor["1"].rate_bps)


@given(loads())
def test_the_guarantees_are_the_links_class_together_which_is_less_than_the_line(wanted: Egress) -> None:
    by_minor = classes(wanted)
    assert by_minor["1"].rate_bps == by_minor["1"].ceil_bps <= 0.99 * wanted.capacity_bps
    promised = sum(by_minor[minor].rate_bps for minor in (PREMIUM, ASSURED, BEST, QBSS))
    rounding = 4 * max(numbers.grain_bps(wanted.capacity_bps), LEAST_RATE_BPS)
    reserved = sum(admitted(wanted, one) for one in Service if one is not Service.BEST_EFFORT)
    assert promised <= max(by_minor["1"].rate_bps, reserved) + rounding


@given(loads())
def test_best_effort_keeps_half_of_what_is_left(wanted: Egress) -> None:
    left_bps = admitted(wanted, Service.BEST_EFFORT) - wanted.capacity_bps // 100
    assert classes(wanted)[BEST].rate_bps >= left_bps // 2 - numbers.grain_bps(wanted.capacity_bps)


@given(st.integers(100_000, 8_000_000))
def test_a_queue_of_premium_drains(premium_bps: int) -> None:
    wanted = egress(CAPACITY_BPS, premium_bps, 0, (800_000, 150_000, 10_000))
    half_bps = (admitted(wanted, Service.BEST_EFFORT) - CAPACITY_BPS // 100) // 2
    assert classes(wanted)[PREMIUM].rate_bps >= premium_bps + min(premium_bps // 4, half_bps) - 1_000


def test_nothing_admitted_takes_nothing_from_best_effort() -> None:
    by_minor = classes(egress(CAPACITY_BPS, 0, 0, (800_000, 150_000, 10_000)))
    assert (by_minor[PREMIUM].rate_bps, by_minor[BEST].rate_bps) == (LEAST_RATE_BPS, 10_290_000)


@given(loads())
def test_a_bucket_holds_two_milliseconds_of_its_rate_and_two_frames(wanted: Egress) -> None:
    for one in classes(wanted).values():
        assert one.burst_bytes >= max(LEAST_BURST_BYTES, one.rate_bps * BURST_US // MICROSECOND_BITS)


def test_a_bucket_at_the_labs_rates_is_no_more_than_a_few_frames() -> None:
    by_minor = classes(egress(CAPACITY_BPS, 6_437_500, 0, (800_000, 150_000, 10_000)))
    assert {one.burst_bytes for one in by_minor.values()} <= {3_200, 4_096}
