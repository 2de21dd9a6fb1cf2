"""What transfers would take: estimates, costs, closeness, choices, and how good they were."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from slotcar.base.timebase import Window
from slotcar.base.units import UnitError
from slotcar.measuring.costs.accuracy import accuracy
from slotcar.measuring.costs.best_ces import JobFile, best_ces, gatherings
from slotcar.measuring.costs.closeness import Closeness, Metrics, closeness
from slotcar.measuring.costs.estimates import MILLION, Interval, round_trip, throughput
from slotcar.measuring.costs.network_costs import cost_of, reserved_cost
from slotcar.measuring.costs.reading import loss_ppm, part_ppm
from slotcar.planning.enquiry import FreeStep
from slotcar.store.measurements import MeasuredWay, ProbeSample, TransferSample

NOON = datetime(2027, 3, 1, 12, tzinfo=UTC)
WAY = MeasuredWay("ral-se", "cern-ce", "uk", "cern")
NEIGHBOUR = MeasuredWay("man-se", "cern-se", "uk", "cern")


def moved(
    mbits: int, way: MeasuredWay = WAY, *, reserved_bps: int | None = None, tool: str = "slotcar-transfer"
) -> TransferSample:
    """A transfer of ten seconds at so many Mbit/s."""
    return TransferSample(
        way=way, volume_bytes=mbits * 1_250_000, started_at=NOON, ended_at=NOON + timedelta(seconds=10), tool=tool,
        reserved_bps=reserved_bps,
    )  # fmt: skip


def probed(mbits: int, way: MeasuredWay = WAY, tool: str = "iperf3") -> ProbeSample:
    return ProbeSample(way=way, at=NOON, tool=tool, throughput_bps=mbits * MILLION)


def test_of_several_samples_the_median_counts_with_the_middle_68_percent() -> None:
    known = throughput(WAY, [moved(rate) for rate in (400, 430, 460, 470, 520)], [probed(900)])
    assert known is not None
    assert (known.value, known.source, known.between, known.samples) == (460 * MILLION, "transfers", "hosts", 5)
    assert known.middle68 == Interval(419_200_000, 488_000_000)
    assert known.nine_in_ten is not None
    assert known.nine_in_ten.low < known.middle68.low < known.middle68.high < known.nine_in_ten.high


def test_of_one_sample_the_accuracy_of_the_tool_counts() -> None:
    known = throughput(WAY, [], [probed(100)])
    assert known is not None
    assert (known.middle68, known.by_tool) == (Interval(90 * MILLION, 110 * MILLION), True)
    assert known.nine_in_ten is None
    other = throughput(WAY, [], [probed(100, tool="home-made")])
    assert other is not None
    assert other.middle68 == Interval(80 * MILLION, 120 * MILLION)


def test_two_hosts_count_before_their_domains_and_transfers_before_probes() -> None:
    by_domain = throughput(WAY, [moved(300, NEIGHBOUR)], [])
    assert by_domain is not None
    assert (by_domain.value, by_domain.between) == (300 * MILLION, "domains")
    by_probe = throughput(WAY, [moved(300, NEIGHBOUR)], [probed(100)])
    assert by_probe is not None
    assert (by_probe.source, by_probe.between) == ("probes", "hosts")


def test_a_reserved_transfer_says_nothing_of_what_is_had_without() -> None:
    assert throughput(WAY, [moved(40, reserved_bps=40 * MILLION)], []) is None


def test_only_the_named_tools_count() -> None:
    assert throughput(WAY, [moved(40)], [probed(100, tool="x")], ["iperf3"]) is None


def test_a_cost_is_bytes_times_eight_over_throughput() -> None:
    cost = cost_of(2_000_000_000, throughput(WAY, [], [probed(100)]))
    assert cost is not None
    assert (cost.cost_us, cost.middle68) == (160_000_000, Interval(145_454_546, 177_777_778))
    assert cost.error_us == 17_777_778


@pytest.mark.parametrize("probes", [[], [probed(0)]], ids=["nobody measured", "nothing came through"])
def test_what_is_not_known_has_no_cost(probes: list[ProbeSample]) -> None:
    assert cost_of(1000, throughput(WAY, [], probes)) is None


def steps(*rates_bps: int) -> list[FreeStep]:
    """Each for a second."""
    second = timedelta(seconds=1)
    return [FreeStep(Window(NOON + second * at, NOON + second * (at + 1)), rate) for at, rate in enumerate(rates_bps)]


def test_with_a_reservation_it_takes_what_is_free_from_now_on() -> None:
    cost = reserved_cost(3000, steps(8000, 0, 16_000, 16_000), [])
    assert cost is not None
    assert (cost.cost_us, cost.kept, cost.middle68) == (3_000_000, None, Interval(3_000_000, 3_000_000))
    assert reserved_cost(5001, steps(8000, 0, 16_000, 16_000), []) is None


def test_what_reserved_transfers_had_of_their_promise_is_expected_again() -> None:
    history = [moved(rate, reserved_bps=100 * MILLION) for rate in (80, 90, 100)]
    cost = reserved_cost(900, steps(8000, 8000), history)
    assert cost is not None
    assert cost.kept is not None
    assert (cost.kept.value, cost.cost_us) == (900_000, 1_000_000)
    assert cost.middle68.low < cost.cost_us < cost.middle68.high


def near_at(rtt_us: int | None, *mbits: int) -> Closeness | None:
    probe = ProbeSample(way=WAY, at=NOON, tool="ping", rtt_us=rtt_us)
    return closeness(
        Metrics(rtt=round_trip(WAY, [probe]), throughput=throughput(WAY, [], [probed(one) for one in mbits])),
        MILLION // 2,
    )


def test_closeness_says_what_was_left_out_and_nothing_of_what_nobody_measured() -> None:
    assert near_at(None) is None
    half = near_at(50_000)
    assert half is not None
    assert (half.ppm, half.unmeasured) == (500_000, ("throughput", "loss"))
    assert closeness(Metrics(local=True), 0) == Closeness(MILLION, Interval(MILLION, MILLION))


@pytest.mark.parametrize("alpha_ppm", [0, MILLION])
def test_what_is_not_reached_has_closeness_0_whatever_the_weight(alpha_ppm: int) -> None:
    none = closeness(Metrics(throughput=throughput(WAY, [], [probed(0)])), alpha_ppm)
    assert none is not None
    assert none.ppm == 0


NEAR = {("a", "x"): 900_000, ("b", "x"): 400_000, ("a", "y"): 300_000, ("b", "y"): 500_000, ("c", "y"): 0}


def near(source: str, ce: str) -> Closeness | None:
    ppm = NEAR.get((source, ce))
    return None if ppm is None else Closeness(ppm, Interval(max(0, ppm - 50_000), ppm + 50_000))


def test_the_best_computing_element_and_the_best_source_of_each_file() -> None:
    best, other = best_ces(["y", "x"], [JobFile("f", ("a", "b")), JobFile("g", ("b",))], near)
    assert (best.ce, best.score_ppm, best.error_ppm) == ("x", 650_000, 50_000)
    assert [one.source for one in best.sources] == ["a", "b"]
    assert (other.ce, [one.source for one in other.sources]) == ("y", ["b", "b"])


def test_large_files_weigh_more() -> None:
    best, _ = best_ces(["x", "y"], [JobFile("f", ("a",), 1), JobFile("g", ("b",), 99)], near)
    assert best.ce == "y"


def test_what_cannot_be_reached_or_is_not_known_is_never_the_best() -> None:
    listed = best_ces(["z", "y", "x"], [JobFile("f", ("c", "a"))], near)
    assert [(one.ce, one.score_ppm) for one in listed] == [("x", 900_000), ("y", 300_000), ("z", None)]
    assert best_ces(["y"], [JobFile("f", ("c",)), JobFile("g", ("b",))], near)[0].score_ppm == 0


@pytest.mark.parametrize(("away_ppm", "source"), [(450_000, "b"), (600_000, "a")])
def test_a_file_stays_where_it_is_read_from_unless_another_place_is_nearer_by_more_than_the_errors(
    away_ppm: int, source: str
) -> None:
    def around(replica: str, _ce: str) -> Closeness:
        ppm = away_ppm if replica == "a" else 400_000
        return Closeness(ppm, Interval(ppm - 50_000, ppm + 50_000))

    (chosen,) = best_ces(["x"], [JobFile("f", ("a", "b"), in_use="b")], around)[0].sources
    assert chosen.source == source


def test_fragments_are_gathered_where_all_are_soonest_at_a_computing_element() -> None:
    rates = {("a", "b"): 10, ("b", "a"): 10, ("a", "x"): 5, ("b", "x"): 1}

    def time_of(source: str, destination: str, volume: int) -> int | None:
        rate = rates.get((source, destination))
        return volume // rate if rate else None

    first, second = gatherings({"a": 100, "b": 400}, ["a", "b"], ["x", "y"], time_of)
    assert (first.se, first.moved_bytes, first.gather_us, first.ce, first.read_us) == ("a", 400, 40, "x", 100)
    assert (second.se, second.whole_us) == ("b", 510)
    (alone, *_) = gatherings({"a": 100, "b": 400}, ["a", "b"], [], time_of)
    assert alone.se == "b", "most of it is there already"
    unknown = gatherings({"a": 100, "c": 400}, ["a", "c"], ["x"], time_of)
    assert [(one.se, one.whole_us) for one in unknown] == [("c", None), ("a", None)]


def test_estimates_are_judged_by_the_transfers_that_followed() -> None:
    good = replace(moved(80), estimated_us=11_000_000, low_us=9_000_000, high_us=12_000_000, least_us=1, most_us=2)
    wrong = replace(moved(80), estimated_us=2_000_000, low_us=1_000_000, high_us=3_000_000)
    promised = replace(wrong, reserved_bps=5)
    judged = accuracy([good, wrong, promised, moved(80)])
    assert (judged.estimated, judged.unknown, judged.within68) == (2, 1, 1)
    assert (judged.bounded, judged.within_nine_in_ten, judged.off_ppm) == (1, 0, 450_000)
    assert accuracy([]).off_ppm is None


@pytest.mark.parametrize("text", ["2", "-1", "x", "", "1.0000001", "nan"])
def test_alpha_is_a_number_from_0_to_1(text: str) -> None:
    with pytest.raises(UnitError, match="no number from 0 to 1"):
        part_ppm(text)
    assert (part_ppm("0.5"), part_ppm("1"), part_ppm(".25"), part_ppm("0")) == (500_000, MILLION, 250_000, 0)


@pytest.mark.parametrize("text", ["0.1", "101 %", "-1 %", "%"])
def test_a_loss_is_a_percentage(text: str) -> None:
    with pytest.raises(UnitError, match="no percentage"):
        loss_ppm(text)
    assert (loss_ppm("0 %"), loss_ppm("0.1 %"), loss_ppm("100%")) == (0, 1000, MILLION)
