"""What a load adds is told from what the machine adds to everything, and not told where it cannot be known."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from slotcar_lab.experiments.added import HIGH, HIGH_IPDV, MEAN_IPDV, MEDIAN, Added, Figure, Pair, added, percentile_95
from slotcar_lab.experiments.bench import STARTS, Bench, _sooner
from slotcar_lab.experiments.model import Rule, Verdict
from slotcar_lab.metrics.model import Delay

AT_MOST_5 = Rule("latency", "restored", "ms, median", "at most 5 ms", lambda ours, _: ours <= 5, margin=5)


def stream(delay_ms: Callable[[float], float], seconds: int = 8, first_s: int = 0) -> tuple[Delay, ...]:
    """Fifty packets a second; `delay_ms` is asked with a number from 0 to 1 for each."""
    chance = random.Random(first_s)
    return tuple(
        Delay(number, first_s * 1_000_000 + number * 20_000, round(1_000 * delay_ms(chance.random())))
        for number in range(50 * seconds)
    )


def pair(loaded_ms: Callable[[float], float], unloaded_ms: Callable[[float], float]) -> Pair:
    return Pair(stream(loaded_ms), stream(unloaded_ms, first_s=20))


@pytest.mark.parametrize("machine_ms", [0.5, 40.0])
@pytest.mark.parametrize("figure", [MEDIAN, HIGH])
def test_what_the_machine_adds_to_both_is_not_the_loads(figure: Figure, machine_ms: float) -> None:
    row = added([pair(lambda one: 3 + machine_ms + one, lambda one: machine_ms + one)], figure)
    assert row is not None
    assert row.value == pytest.approx(3, abs=0.2)
    assert row.low <= 3.1
    assert row.high >= 2.9
    assert AT_MOST_5.judge_added(row).verdict is Verdict.AS_THE_PAPER


def test_a_load_that_adds_too_much_differs() -> None:
    added_ms = added([pair(lambda one: 9 + one, lambda one: one)], MEDIAN)
    row = AT_MOST_5.judge_added(added_ms, note="reserved 9.5 ms")
    assert row.verdict is Verdict.DIFFERS
    assert row.note.startswith("reserved 9.5 ms; 95 % between ")
    assert AT_MOST_5.judge_added(added_ms, fit=False).verdict is Verdict.NOT_SHOWN


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (2.5, 7.4, Verdict.AS_THE_PAPER),
        (2.5, 7.5, Verdict.NOT_SHOWN),
        (-40.0, 4.9, Verdict.AS_THE_PAPER),
        (-40.0, 5.1, Verdict.NOT_SHOWN),
    ],
    ids=["narrow", "as-wide-as-the-margin", "wide-and-all-of-it-obeys", "wide-and-not-all-of-it"],
)
def test_a_row_is_judged_where_its_interval_is_narrow_or_says_the_same_throughout(
    low: float, high: float, verdict: Verdict
) -> None:
    assert AT_MOST_5.judge_added(Added(4.8, low, high, 2)).verdict is verdict


def test_what_differs_throughout_a_wide_interval_differs() -> None:
    assert AT_MOST_5.judge_added(Added(30.0, 5.1, 90.0, 1)).verdict is Verdict.DIFFERS
    assert AT_MOST_5.judge_added(None).verdict is Verdict.NOT_SHOWN


def test_more_slots_make_the_interval_narrower() -> None:
    def noisy(one: float) -> float:
        return 30 * one

    narrow, wide = added([pair(noisy, noisy)] * 4, HIGH), added([pair(noisy, noisy)], HIGH)
    assert narrow is not None
    assert wide is not None
    assert narrow.width < wide.width
    assert (narrow.slots, wide.slots) == (4, 1)


def test_ipdv_is_of_packets_that_follow_each_other_and_arrived() -> None:
    packets = (Delay(0, 0, 1_000), Delay(1, 10, 4_000), Delay(2, 20, None), Delay(3, 30, 9_000), Delay(4, 40, 8_000))
    assert MEAN_IPDV.blocks(packets) == ((3.0, 1.0),)
    assert HIGH_IPDV.blocks(packets[1:4]) == ()
    assert MEDIAN.blocks(packets) == ((1.0, 4.0, 9.0, 8.0),)


def test_the_95th_percentile_is_a_value_that_was_measured() -> None:
    assert percentile_95([float(value) for value in range(1, 101)]) == 95
    assert percentile_95([7.0]) == 7


def test_what_one_load_adds_less_what_another_does() -> None:
    more, less = pair(lambda one: 8 + one, lambda one: one), pair(lambda one: 6 + one, lambda one: one)
    row = added([more], MEDIAN, beside=[less])
    assert row is not None
    assert row.value == pytest.approx(2, abs=0.3)


def test_too_few_seconds_say_nothing() -> None:
    short = Pair(stream(lambda _: 1, seconds=3), stream(lambda _: 1, seconds=8))
    assert added([short], MEDIAN) is None
    assert added([short, short], MEDIAN) is not None
    assert added([], MEDIAN) is None


def _bench(*, smoke: bool = False) -> Bench:
    """A bench of which nothing but its memory is asked."""
    bench = Bench.__new__(Bench)
    bench.smoke, bench.doubts, bench.say = smoke, [], lambda _: None
    return bench


def test_slots_are_repeated_until_they_show_it_and_no_longer() -> None:
    assert _bench().until_shown(0, lambda number: number, lambda counted: len(counted) == 3) == [0, 1, 2]
    assert _bench().until_shown(0, lambda number: number, lambda _: False) == [0, 1, 2, 3]
    assert _bench(smoke=True).until_shown(0, lambda number: number, lambda _: False) == [0]


def test_a_slot_in_which_the_machine_was_too_busy_is_left_out() -> None:
    bench = _bench()

    def again(number: int) -> int:
        if number == 2:
            bench.doubts.append("a sender was late")
        return number

    assert bench.until_shown(0, again, lambda _: False) == [0, 1, 3]
    assert bench.doubts == []


def test_a_repeated_reservation_has_another_name_and_starts_as_soon_as_can_be(tmp_path: Path) -> None:
    file = (
        Path(__file__).resolve().parents[4] / "lab" / "slotcar_lab" / "experiments" / "drr_delay" / "reservations.yml"
    )
    copy = _sooner(file, tmp_path, repeat=2)
    before, after = (yaml.safe_load(one.read_text())["reservations"] for one in (file, copy))
    assert [one["name"] for one in after] == [f"{one['name']}-again-2" for one in before]
    assert [int(number) for number in STARTS.findall(copy.read_text())] == [32, 51, 70, 89]
    assert [{**one, "name": "", "start": ""} for one in after] == [{**one, "name": "", "start": ""} for one in before]
