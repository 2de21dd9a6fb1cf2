"""What a load adds is told from what the routers take for every packet."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from slotcar.measuring.metrics.model import Delay
from slotcar_lab.experiments.added import HIGH, HIGH_IPDV, MEAN_IPDV, MEDIAN, Figure, Pair, added, percentile_95


def stream(delay_ms: Callable[[float], float], seconds: int = 8, first_s: int = 0) -> tuple[Delay, ...]:
    """Fifty packets a second; `delay_ms` is asked with a number from 0 to 1 for each."""
    chance = random.Random(first_s)
    return tuple(
        Delay(number, first_s * 1_000_000 + number * 20_000, round(1_000 * delay_ms(chance.random())))
        for number in range(50 * seconds)
    )


@pytest.mark.parametrize("routers_ms", [0.5, 40.0])
@pytest.mark.parametrize("figure", [MEDIAN, HIGH])
def test_what_the_routers_take_for_both_is_not_the_loads(figure: Figure, routers_ms: float) -> None:
    loaded = stream(lambda one: 3 + routers_ms + one)
    unloaded = stream(lambda one: routers_ms + one, first_s=20)
    assert added(Pair(loaded, unloaded), figure) == pytest.approx(3, abs=0.2)


def test_ipdv_is_of_packets_that_follow_each_other_and_arrived() -> None:
    packets = (Delay(0, 0, 1_000), Delay(1, 10, 4_000), Delay(2, 20, None), Delay(3, 30, 9_000), Delay(4, 40, 8_000))
    assert MEAN_IPDV.of(packets) == 2.0
    assert HIGH_IPDV.of(packets[1:4]) is None
    assert MEDIAN.of(packets) == 6.0


def test_the_95th_percentile_is_a_value_that_was_measured() -> None:
    assert percentile_95([float(value) for value in range(1, 101)]) == 95
    assert percentile_95([7.0]) == 7


def test_what_nothing_arrived_of_says_nothing() -> None:
    lost = (Delay(0, 0, None),)
    assert added(Pair(lost, stream(lambda _: 1)), MEDIAN) is None
    assert added(Pair(stream(lambda _: 1), ()), MEDIAN) is None
