"""The cases that every system gets wrong, each by its name, and what a refusal says (docs/design.md rules 2, 3 and 5)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from slotcar.admission import Admitted, Demand, Refused, ResourceId, Shortfall, decide, enquire
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Service
from slotcar.network.model import InterfaceId, Sls
from tests.unit.admission.support import LINK, SLS, T0, admit, at, refuse, tables, window


def test_two_reservations_with_the_same_start_and_rate_both_count() -> None:
    book = tables()
    admit(book, 50, window(0, 60))
    admit(book, 50, window(0, 60))
    assert refuse(book, 1, window(0, 60)).shortfalls[0].free == 0


def test_the_same_start_and_rate_with_other_ends_both_count() -> None:
    book = tables()
    admit(book, 50, window(0, 60))
    admit(book, 50, window(0, 30))
    refuse(book, 1, window(29, 31))
    admit(book, 50, window(30, 60))


def test_removing_one_of_two_equal_reservations_leaves_the_other() -> None:
    book = tables()
    first = admit(book, 50, window(0, 60))
    admit(book, 50, window(0, 60))
    book.remove(first.demands, first.windows)
    assert book.peak(LINK, window(0, 60)) == 50


def test_slots_that_touch_do_not_overlap() -> None:
    book = tables()
    admit(book, 100, window(0, 60))
    admit(book, 100, window(60, 120))
    admit(book, 100, window(-60, 0))
    assert book.steps(LINK, window(-60, 120)) == ((window(-60, 0).start_us, 100),)


def test_one_microsecond_of_overlap_is_an_overlap() -> None:
    book = tables()
    admit(book, 100, window(0, 60))
    touching = Window(at(60) - timedelta(microseconds=1), at(61))
    refused = refuse(book, 1, touching)
    assert refused.shortfalls[0].window == Window(touching.start, at(60))
    assert refused.nearest_window == Window(at(60), at(61) + timedelta(microseconds=1))


def test_a_request_over_several_smaller_ones_is_measured_by_their_peak_not_their_sum() -> None:
    book = tables()
    for start in range(0, 60, 10):
        admit(book, 60, window(start, start + 10))
    admit(book, 40, window(0, 60))
    refuse(book, 1, window(0, 60))


def test_a_peak_inside_the_window_counts_though_both_ends_are_free() -> None:
    book = tables()
    admit(book, 100, window(29, 31))
    refused = refuse(book, 1, window(0, 60))
    assert refused.shortfalls == (Shortfall(LINK, window(29, 31), 1, 0, 100),)


def test_a_modify_past_what_is_free_is_refused_and_leaves_the_old() -> None:
    book = tables()
    old = admit(book, 40, window(0, 60))
    admit(book, 50, window(0, 60))
    raised = decide(book, [Demand.constant(LINK, 51)], [window(0, 60)], without=[old])
    assert isinstance(raised, Refused)
    assert raised.highest_rate_bps == 50
    assert raised.shortfalls[0].free == 50
    assert book.peak(LINK, window(0, 60)) == 90


def test_a_modify_up_to_what_is_free_beside_the_others_is_admitted() -> None:
    book = tables()
    old = admit(book, 40, window(0, 60))
    admit(book, 50, window(0, 60))
    assert isinstance(decide(book, [Demand.constant(LINK, 50)], [window(0, 60)], without=[old]), Admitted)
    assert book.peak(LINK, window(0, 60)) == 90, "decide changes nothing"


def test_a_modify_may_move_into_a_window_that_overlaps_its_own_old_one() -> None:
    book = tables()
    old = admit(book, 100, window(0, 60))
    assert isinstance(decide(book, [Demand.constant(LINK, 100)], [window(30, 90)], without=[old]), Admitted)
    assert isinstance(decide(book, [Demand.constant(LINK, 100)], [window(30, 90)]), Refused)


def test_a_modify_onto_another_path_frees_only_what_it_held() -> None:
    book = tables()
    old = admit(book, 60, window(0, 60), resources=(LINK,))
    admit(book, 30, window(0, 60), resources=(SLS,))
    refused = decide(book, [Demand.constant(SLS, 60)], [window(0, 60)], without=[old])
    assert isinstance(refused, Refused)
    assert refused.shortfalls == (Shortfall(SLS, window(0, 60), 60, 30, 60),)


def test_a_modify_of_what_was_never_added_is_an_error_and_changes_nothing() -> None:
    book = tables()
    old = admit(book, 40, window(0, 60))
    never = Admitted((Demand.constant(LINK, 1),), (window(60, 70),))
    for ask in (decide, enquire):
        with pytest.raises(ValueError, match="has less than 1 bit/s reserved"):
            ask(book, [Demand.constant(LINK, 50)], [window(0, 60)], without=[old, never])
    with pytest.raises(ValueError, match="a rate is from 0 to"):
        decide(book, [Demand.constant(LINK, -1)], [window(0, 60)], without=[old])
    assert book.steps(LINK, window(0, 60)) == ((window(0, 60).start_us, 40),)


def test_a_hold_counts_while_it_lives_and_not_after() -> None:
    """At the tables a hold is an add; its end, a remove of the same."""
    book = tables()
    hold = admit(book, 100, window(30, 90))
    refuse(book, 1, window(30, 90))
    book.remove(hold.demands, hold.windows)
    admit(book, 100, window(30, 90))


def test_a_refusal_says_what_where_when_and_how_much() -> None:
    book = tables()
    admit(book, 70, window(10, 20))
    admit(book, 50, window(30, 40))
    refused = refuse(book, 60, window(0, 60))
    assert refused.shortfalls == (Shortfall(LINK, window(10, 20), 60, 30, 100),)
    assert refused.nearest_window == window(40, 100)
    assert refused.highest_rate_bps == 30
    assert refused.explain() == (
        "ip-premium on r1 eth2, outbound: 60 bit/s requested, 30 bit/s free of 100 bit/s in "
        "2027-03-01T12:10:00Z .. 2027-03-01T12:20:00Z",
        "the nearest window in which the whole request fits is 2027-03-01T12:40:00Z .. 2027-03-01T13:40:00Z",
        "the highest payload rate that fits in the asked time is 30 bit/s",
    )


def test_the_sub_window_is_the_whole_time_around_the_worst_moment_in_which_it_does_not_fit() -> None:
    book = tables()
    admit(book, 50, window(10, 20))
    admit(book, 90, window(20, 30))
    admit(book, 50, window(30, 40))
    assert refuse(book, 60, window(15, 35)).shortfalls == (Shortfall(LINK, window(15, 35), 60, 10, 100),)
    assert refuse(book, 60, window(0, 60)).shortfalls[0].window == window(10, 40)
    assert refuse(book, 20, window(0, 60)).shortfalls[0].window == window(20, 30)


def test_every_short_resource_is_named_in_the_order_of_the_path() -> None:
    book = tables()
    admit(book, 50, window(0, 10), resources=(SLS,))
    admit(book, 80, window(20, 30))
    refused = refuse(book, 30, window(0, 60), resources=(LINK, SLS))
    assert refused.shortfalls == (
        Shortfall(LINK, window(20, 30), 30, 20, 100),
        Shortfall(SLS, window(0, 10), 30, 10, 60),
    )
    assert refused.highest_rate_bps == 10
    assert refused.nearest_window == window(30, 90)


def test_a_refusal_marks_the_tightest_of_what_it_lists() -> None:
    book = tables()
    admit(book, 50, window(0, 10), resources=(SLS,))
    admit(book, 80, window(20, 30))
    lines = refuse(book, 30, window(0, 60), resources=(LINK, SLS)).explain()
    assert [line.endswith("(the tightest)") for line in lines[:2]] == [False, True]
    alone = refuse(book, 30, window(0, 60), resources=(LINK,)).explain()
    assert not any("tightest" in line for line in alone)


def test_a_short_refusal_has_the_tightest_and_counts_the_others() -> None:
    book = tables()
    admit(book, 50, window(0, 10), resources=(SLS,))
    admit(book, 80, window(20, 30))
    refused = refuse(book, 30, window(0, 60), resources=(LINK, SLS))
    whole, short = refused.explain(), refused.explain("and {} more")
    assert short == (whole[1], "and 1 more", *whole[2:])
    alone = refuse(book, 30, window(0, 60), resources=(LINK,))
    assert alone.explain("and {} more") == alone.explain()


def test_a_refusal_marks_none_where_all_are_as_tight() -> None:
    shortfalls = tuple(Shortfall(resource, window(0, 1), 30, 10, 60) for resource in (LINK, SLS))
    assert "tightest" not in Refused(shortfalls).sentence()


def test_the_nearest_window_may_lie_between_two_reservations() -> None:
    book = tables()
    admit(book, 100, window(0, 60))
    admit(book, 100, window(90, 120))
    assert refuse(book, 10, window(30, 60)).nearest_window == window(60, 90)
    assert refuse(book, 10, window(30, 61)).nearest_window == window(120, 151)


def test_a_nearest_window_ends_by_the_horizon_or_there_is_none() -> None:
    book = tables()
    admit(book, 100, window(0, 60))
    demands = [Demand.constant(LINK, 1)]
    refused = decide(book, demands, [window(0, 60)], horizon=at(120))
    assert isinstance(refused, Refused)
    assert refused.nearest_window == window(60, 120)
    refused = decide(book, demands, [window(0, 60)], horizon=at(119))
    assert isinstance(refused, Refused)
    assert refused.nearest_window is None
    assert "no later window before 2027-03-01T13:59:00Z fits the whole request" in refused.sentence()


def test_more_than_the_capacity_has_no_nearest_window() -> None:
    refused = refuse(tables(), 101, window(0, 60))
    assert refused.nearest_window is None
    assert refused.highest_rate_bps == 100
    assert refused.shortfalls == (Shortfall(LINK, window(0, 60), 101, 100, 100),)


def test_a_resource_that_nobody_configured_has_capacity_0() -> None:
    refused = refuse(tables(), 1, window(0, 60), resources=(ResourceId("if", "r9:eth0", "out:ip-premium"),))
    assert refused.shortfalls[0].capacity == 0
    assert refused.highest_rate_bps == 0
    assert refused.nearest_window is None
    assert "no payload rate fits in the asked time" in refused.sentence()


def test_a_recurrence_is_admitted_whole_or_not_at_all() -> None:
    book = tables()
    admit(book, 100, window(100, 110))
    days = (window(0, 10), window(50, 60), window(100, 110))
    refused = refuse(book, 10, *days)
    assert refused.shortfalls[0].window == window(100, 110)
    assert refused.nearest_window == window(10, 20), "all occurrences shift together"
    admit(book, 100, *(window(start, start + 10) for start in (10, 60, 110)))


def test_a_capacity_that_shrank_below_what_is_reserved_leaves_nothing_free() -> None:
    book = tables()
    admit(book, 90, window(0, 60))
    book.set_capacities({LINK: 50, SLS: 60})
    refused = refuse(book, 10, window(0, 60))
    assert refused.shortfalls == (Shortfall(LINK, window(0, 60), 10, 0, 50),)
    assert refused.highest_rate_bps == 0


def test_a_request_that_asks_for_nothing_is_admitted_anywhere() -> None:
    assert isinstance(decide(tables(), (), [window(0, 60)]), Admitted)
    assert isinstance(decide(tables(), [Demand.constant(ResourceId("sls", "unknown"), 0)], [window(0, 60)]), Admitted)


def agreement(validity: Window | None) -> Sls:
    return Sls(
        name=SLS.place,
        upstream="alpha",
        downstream="transit",
        service=Service.IP_PREMIUM,
        rate_bps=60,
        burst_bytes=8_000,
        ingress=InterfaceId(device="r2", name="eth1"),
        validity=validity,
    )


@pytest.mark.parametrize("slot", [(0, 20), (90, 101), (200, 210)], ids=["before", "over its end", "after"])
def test_an_sls_that_does_not_hold_over_the_window_refuses_in_words(slot: tuple[int, int]) -> None:
    agreements = {"alpha-transit": agreement(window(10, 100))}
    refused = decide(tables(), [Demand.constant(SLS, 1)], [window(*slot)], sls=agreements)
    assert isinstance(refused, Refused)
    assert refused.reason == (
        f"SLS alpha-transit is not valid over {window(*slot)}: it holds 2027-03-01T12:10:00Z .. 2027-03-01T13:40:00Z"
    )
    assert refused.highest_rate_bps == 0
    assert refused.shortfalls == ()


def test_the_nearest_window_lies_inside_the_validity() -> None:
    book = tables()
    admit(book, 60, window(10, 30), resources=(SLS,))
    agreements = {"alpha-transit": agreement(window(10, 100))}
    refused = decide(book, [Demand.constant(SLS, 1)], [window(0, 70)], sls=agreements)
    assert isinstance(refused, Refused)
    assert refused.nearest_window == window(30, 100)
    refused = decide(book, [Demand.constant(SLS, 1)], [window(0, 71)], sls=agreements)
    assert isinstance(refused, Refused)
    assert refused.nearest_window is None


def test_the_nearest_window_begins_when_the_agreement_does() -> None:
    refused = decide(
        tables(), [Demand.constant(SLS, 1)], [window(0, 20)], sls={"alpha-transit": agreement(window(10, 100))}
    )
    assert isinstance(refused, Refused)
    assert refused.nearest_window == window(10, 30)


def test_an_sls_without_validity_and_one_that_covers_the_window_admit() -> None:
    for validity in (None, window(0, 60)):
        answer = decide(
            tables(), [Demand.constant(SLS, 60)], [window(0, 60)], sls={"alpha-transit": agreement(validity)}
        )
        assert isinstance(answer, Admitted)


def test_enquire_gives_the_highest_rate_and_what_limits_it() -> None:
    book = tables()
    admit(book, 70, window(10, 20))
    demands = [Demand.constant(LINK, 0), Demand.constant(SLS, 0)]
    assert (enquire(book, demands, [window(0, 60)]).rate_bps, enquire(book, demands, [window(0, 60)]).limited_by) == (
        30,
        LINK,
    )
    assert enquire(book, demands, [window(20, 60)]).rate_bps == 60
    assert enquire(book, demands, [window(20, 60)]).limited_by == SLS


def test_enquire_takes_headers_off() -> None:
    # 100 bit/s of wire carry 92 bit/s of payload where 100 of 92 bytes are payload.
    assert enquire(tables(), [Demand(LINK, (0,), wire_bytes=100, payload_bytes=92)], [window(0, 1)]).rate_bps == 92


def test_enquire_over_an_sls_that_is_not_valid_is_0_and_names_it() -> None:
    answer = enquire(
        tables(), [Demand.constant(SLS, 0)], [window(0, 60)], sls={"alpha-transit": agreement(window(70, 80))}
    )
    assert (answer.rate_bps, answer.limited_by) == (0, SLS)


def test_enquire_for_more_leaves_the_asker_own_share_out() -> None:
    book = tables()
    own = admit(book, 70, window(0, 60))
    assert enquire(book, [Demand.constant(LINK, 0)], [window(0, 60)]).rate_bps == 30
    assert enquire(book, [Demand.constant(LINK, 0)], [window(0, 60)], without=[own]).rate_bps == 100


def test_enquire_with_nothing_asked_promises_nothing() -> None:
    assert enquire(tables(), (), [window(0, 60)]).rate_bps == 0
    assert enquire(tables(), (), [window(0, 60)]).limited_by is None


def test_a_nearest_window_never_begins_before_the_floor() -> None:
    book = tables()
    admit(book, 100, window(0, 60))
    book.prune(at(30))
    refused = decide(book, [Demand.constant(LINK, 1)], [Window(T0, at(40))])
    assert isinstance(refused, Refused)
    assert refused.nearest_window == window(60, 100)
