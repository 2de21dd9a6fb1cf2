"""Each figure of an SLS by itself: kept, broken, or unknown with the reason; and what a stream adds to its hours."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from slotcar.base.timebase import Window, to_us
from slotcar.measuring.audits.documents import sls_document
from slotcar.measuring.audits.judging import AuditVerdict, Judged, RateCount, judge
from slotcar.measuring.audits.periods import items_of, periods_of
from slotcar.measuring.audits.rates import rate_count, ways_out
from slotcar.measuring.audits.report import report_markdown
from slotcar.measuring.audits.streams import windows_of
from slotcar.network.model import InterfaceId
from slotcar.network.schedules import Schedule
from slotcar.store.audits import DAY_S, HOUR_S, AuditWindow, merged
from slotcar.store.counts import CountedStep
from slotcar_client.wire.documents import Audits
from tests.support.audits import BEGIN, HOUR_US, sls_of, stream_of, window_of
from tests.support.networks import line_network

KEPT, BROKEN, UNKNOWN = AuditVerdict.KEPT, AuditVerdict.BROKEN, AuditVerdict.UNKNOWN


def verdicts(window: AuditWindow | None, **more: Any) -> tuple[AuditVerdict | None, ...]:
    judged = judge(sls_of(**more), window, HOUR_US)
    return tuple(one.verdict if one else None for one in (judged.delay, judged.variation, judged.loss))


def reason(name: str, window: AuditWindow | None, **more: Any) -> str:
    judged = getattr(judge(sls_of(**more), window, HOUR_US), name)
    assert isinstance(judged, Judged)
    assert judged.verdict is UNKNOWN
    return judged.reason


def test_each_figure_is_broken_alone() -> None:
    assert verdicts(window_of()) == (KEPT, KEPT, KEPT)
    assert verdicts(window_of((25_000,) * 20_000)) == (BROKEN, KEPT, KEPT)
    assert verdicts(window_of(variations_us=(9_000,) * 20_000)) == (KEPT, BROKEN, KEPT)
    assert verdicts(window_of(lost_packets=100)) == (KEPT, KEPT, BROKEN)
    assert judge(sls_of(), window_of(lost_packets=100), HOUR_US).verdict is BROKEN
    assert judge(sls_of(), window_of(), HOUR_US).verdict is KEPT


def test_the_quantile_leaves_out_what_it_says() -> None:
    few_late = (10_000,) * 19_990 + (40_000,) * 10
    assert verdicts(window_of(few_late))[0] is BROKEN
    assert verdicts(window_of(few_late), quantile_ppm=999_000)[0] is KEPT


def test_what_the_clocks_may_be_off_by_decides_nothing() -> None:
    within, beyond = window_of((19_000,) * 20_000), window_of((21_000,) * 20_000)
    assert (verdicts(within)[0], verdicts(beyond)[0]) == (KEPT, BROKEN)
    for window in (within, beyond):
        assert "may be off" in reason("delay", replace(window, clock_error_us=5_000))
        assert verdicts(replace(window, clock_error_us=5_000))[1:] == (KEPT, KEPT)


@pytest.mark.parametrize(
    ("window", "words"),
    [
        (None, "nobody measured it"),
        (window_of((), (), measured_us=0, unanswered_packets=600), "nobody answered the probe: 600 packets"),
        (window_of(remarked_packets=3), "no probe may use the class: 3 of 20000 packets arrived by another"),
        (window_of(untold_packets=3), "nobody says in which class 3 of 20000 packets arrived"),
        (window_of(measured_us=HOUR_US // 3), "1200 s of 3600 s were measured, less than 50 %"),
    ],
)
def test_what_was_not_measured_in_its_class_is_unknown_in_every_figure(window: AuditWindow | None, words: str) -> None:
    for name in ("delay", "variation", "loss"):
        assert words in reason(name, window)


def test_what_is_broken_in_a_part_of_an_hour_is_broken() -> None:
    assert verdicts(window_of((25_000,) * 20_000, measured_us=HOUR_US // 60))[0] is BROKEN


def test_a_clock_that_is_not_kept_right_or_is_off_tells_no_delay() -> None:
    unkept = window_of((), arrived_packets=20_000, clock_error_us=None)
    assert "no clocks that are kept right" in reason("delay", unkept)
    assert verdicts(unkept)[1:] == (KEPT, KEPT)
    early = window_of((10_000,) * 20_000, least_delay_us=-300)
    assert "a packet arrived 300 us before it was sent" in reason("delay", early)
    assert verdicts(replace(early, clock_error_us=300))[0] is KEPT


def test_few_packets_do_not_show_that_few_are_lost() -> None:
    assert "may be off" in reason("loss", window_of((10_000,) * 100, arrived_packets=100))
    assert verdicts(window_of(), loss_ppm=0)[2] is KEPT
    assert verdicts(window_of(lost_packets=1), loss_ppm=0)[2] is BROKEN


def test_nothing_is_said_of_what_was_not_agreed() -> None:
    assert verdicts(window_of(), delay_us=None, loss_ppm=None) == (None, KEPT, None)


@pytest.mark.parametrize(
    ("count", "verdict", "words"),
    [
        (None, UNKNOWN, "no device was read"),
        (RateCount(HOUR_US, 4_000_000_000, 0), KEPT, ""),
        (RateCount(HOUR_US // 3, 1_000, 0), UNKNOWN, "devices counted 1200 s of 3600 s"),
        (RateCount(HOUR_US, 4_000_000_000, 5), BROKEN, ""),
        (RateCount(HOUR_US, 5_000_000_000, 5), UNKNOWN, "may be excess"),
    ],
)
def test_the_rate_is_broken_where_less_was_sent_and_some_was_dropped(
    count: RateCount | None, verdict: AuditVerdict, words: str
) -> None:
    judged = judge(sls_of(), window_of(), HOUR_US, count)
    assert (judged.rate.verdict, words in judged.rate.reason) == (verdict, True)
    assert judged.verdict is (BROKEN if verdict is BROKEN else KEPT)


def test_a_stream_is_parted_by_hours_and_added_to_its_days() -> None:
    hours = windows_of(stream_of([1_000] * 20, BEGIN - timedelta(seconds=1)), sls_of())
    assert [(one.step_s, one.arrived_packets) for one in hours] == [
        (HOUR_S, 10),
        (HOUR_S, 10),
        (DAY_S, 10),
        (DAY_S, 10),
    ]
    assert hours[1].start_us == to_us(BEGIN)
    day = merged(hours[2], hours[3])
    assert (day.arrived_packets, day.measured_us) == (20, 2_000_000)
    assert sum(day.variations.values()) == 18, "the pair over the hour is in neither"


def test_losses_have_their_pattern_and_what_takes_too_long_is_lost() -> None:
    (hour, _) = windows_of(stream_of([1_000, None, None, 1_000, 4_000_000, 1_000]), sls_of())
    assert (hour.arrived_packets, hour.lost_packets) == (3, 3)
    assert (hour.loss_periods, hour.longest_loss, hour.shortest_distance) == (2, 2, 1)


def test_only_neighbours_vary_from_each_other() -> None:
    stream = stream_of([1_000, 9_000, 2_000])
    first, _, last = stream.packets
    (hour, _) = windows_of(replace(stream, packets=(first, last), unstamped=1), sls_of())
    assert (hour.variations, hour.arrived_packets, hour.lost_packets) == ({}, 3, 0)
    assert hour.measured_us == 300_000


def test_a_stream_follows_another_whose_last_packet_left_late() -> None:
    first, late_us = stream_of([1_000] * 3), 40
    *_, last = first.packets
    late = replace(first, packets=(*first.packets[:-1], replace(last, sent_us=last.sent_us + late_us)))
    assert late.until_us <= stream_of([1_000], BEGIN + timedelta(microseconds=300_000)).start_us
    assert replace(stream_of([]), unanswered=3).until_us <= first.packets[-1].sent_us + 1


def test_no_more_time_is_measured_than_there_was() -> None:
    (hour, day) = windows_of(stream_of([1_000] * 600, interval_us=100_000), sls_of())
    slow = replace(stream_of([1_000] * 600), interval_us=60_000_000)
    assert [one.measured_us for one in windows_of(slow, sls_of())] == [59_900_000 + 60_000_000] * 2
    unstamped = replace(stream_of([1_000]), unstamped=6_000)
    assert windows_of(unstamped, sls_of())[0].measured_us == 100_000
    at_its_end = stream_of([1_000], BEGIN + timedelta(seconds=3599), 60_000_000)
    assert windows_of(at_its_end, sls_of())[0].measured_us == 1_000_000
    for _ in range(60):
        hour, day = merged(hour, hour), merged(day, day)
    assert (hour.measured_us, day.measured_us) == (HOUR_US, 24 * HOUR_US)


def test_what_was_re_marked_in_one_of_two_hours_is_told_in_both() -> None:
    hours = windows_of(replace(stream_of([1_000] * 20, BEGIN - timedelta(seconds=1)), remarked=15, untold=3), sls_of())
    assert [(one.remarked_packets, one.untold_packets) for one in hours[:2]] == [(10, 3), (10, 3)]


def test_a_clock_that_is_seconds_ahead_loses_no_packet() -> None:
    ahead = stream_of([5_000_000] * 10, clock_error_us=None)
    hour = windows_of(ahead, sls_of())[0]
    assert (hour.arrived_packets, hour.lost_packets, hour.delays) == (10, 0, {})
    assert windows_of(replace(ahead, clock_error_us=100), sls_of())[0].lost_packets == 10
    assert windows_of(replace(ahead, clock_error_us=2_000_000), sls_of())[0].lost_packets == 0


def test_an_error_of_clocks_above_the_bound_decides_nothing_of_delay() -> None:
    for time_us in (0, 10_000, 19_999):
        assert "may be off" in reason("delay", window_of((time_us,) * 20_000, clock_error_us=20_001))


def test_what_nobody_answered_is_no_loss() -> None:
    (hour, _) = windows_of(replace(stream_of([]), unanswered=600), sls_of())
    assert (hour.unanswered_packets, hour.lost_packets, hour.measured_us) == (600, 0, 0)


def test_outside_of_its_schedule_nothing_counts_and_nothing_is_due() -> None:
    night = sls_of(schedule=Schedule(begin_minute=13 * 60, end_minute=14 * 60))
    assert windows_of(stream_of([90_000] * 10), night) == ()
    periods = periods_of(Window(BEGIN, BEGIN + timedelta(hours=3)), HOUR_S)
    listed = list(items_of(night, (), (), periods, to_us(BEGIN + timedelta(days=1))))
    assert [(one["start"], one["verdict"]) for one in listed] == [("2030-06-03T13:00:00Z", "unknown")]


def test_every_way_has_all_hours_and_what_is_to_come_has_none() -> None:
    windows = [window_of(), replace(window_of(), way=window_of().way._replace(destination="other"))]
    periods = periods_of(Window(BEGIN, BEGIN + timedelta(hours=5)), HOUR_S)
    listed = list(items_of(sls_of(), windows, (), periods, to_us(BEGIN) + HOUR_US + 1))
    assert [(one["destination"], one["verdict"]) for one in listed] == [
        ("far", "kept"), ("far", "unknown"), ("other", "kept"), ("other", "unknown"),
    ]  # fmt: skip


def counted(start_us: int, step_s: int, service: str = "ip-premium", **more: Any) -> CountedStep:
    whole = CountedStep(0, "out", service, "y1", "eth2", step_s, start_us, step_s * 1_000_000, 0, 9, 900, 0, 0, 2, 200)
    return replace(whole, **more)


def test_devices_tell_of_an_hour_by_what_lies_whole_in_it() -> None:
    hour = Window(BEGIN, BEGIN + timedelta(hours=1))
    steps = [counted(hour.start_us, 300), counted(hour.start_us + 300_000_000, 300), counted(hour.start_us, 86_400)]
    steps.append(counted(hour.start_us, 300, "best-effort"))
    assert rate_count(steps, hour, "ip-premium") == RateCount(600_000_000, 1_800, 4)
    assert rate_count(steps[2:], hour, "ip-premium") is None


def test_what_leaves_a_domain_is_counted_at_its_scope_or_at_all_its_borders() -> None:
    network = line_network(2)
    (sls, *_) = network.sls.values()
    named = sls.model_copy(update={"egresses": (InterfaceId(device="y", name="z"),)})
    assert ways_out(named, network) == named.egresses
    assert sls.ingress not in ways_out(sls, network)


def test_a_month_reads_as_a_report() -> None:
    day = replace(window_of(), step_s=DAY_S, start_us=to_us(BEGIN.replace(hour=0)), measured_us=20 * HOUR_US)
    broken = window_of((25_000,) * 20_000, lost_packets=2, longest_loss=2, measured_us=24 * HOUR_US)
    late = replace(broken, step_s=DAY_S, start_us=day.start_us + 24 * HOUR_US)
    begin = BEGIN.replace(hour=0)
    periods = periods_of(Window(begin, begin + timedelta(days=4)), DAY_S)
    sls = sls_of(quantile_ppm=999_000)
    items = list(items_of(sls, [day, late], (), periods, to_us(begin + timedelta(days=9))))
    document: Audits = {"since": "", "until": "", "step": "day", "items": [sls_document(sls, items)]}
    text = report_markdown(document, "2030-06")
    assert text.splitlines()[:5] == [
        "# x-y in 2030-06",
        "",
        "What y promises to x: ip-premium, 10 Mbit/s; delay 20 ms, variation 5 ms, loss 0.1 %, delay and variation of"
        " 99.9 % of the packets.",
        "",
        "**1 days kept, 1 broken, 2 unknown.**",
    ]
    rows = [line for line in text.splitlines() if line.startswith("| 2030")]
    assert rows[0] == (
        "| 2030-06-03 | near → far | kept | 10.047 ± 0.164 ms | 0.1 ± 0.1 ms | 0 % ± 0.005 % | unknown | 20000 | 0 | 83 % |"
    )
    assert "| **broken** | **" in rows[1]
    assert "| 2 | 100 % |" in rows[1]
    assert rows[2].endswith("| unknown | unknown | unknown | unknown | unknown | 0 | 0 | 0 % |")
    assert "- 2030-06-05 to 2030-06-06: delay, variation, loss: nobody measured it" in text
    assert "## How it is judged" in text


def test_a_report_of_an_sls_without_figures_says_so() -> None:
    sls = sls_of(delay_us=None, variation_us=None, loss_ppm=None)
    document: Audits = {"since": "", "until": "", "step": "day", "items": [sls_document(sls, ())]}
    assert "There is nothing to audit: no delay, variation or loss was agreed." in report_markdown(document, "2030-06")
