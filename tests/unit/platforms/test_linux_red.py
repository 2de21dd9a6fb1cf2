"""RED's `burst`, held against tc's arithmetic and the kernel's check (iproute2 `tc_red.c`, Linux `net/red.h`)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.platforms.intent.egress import QUEUE_CEILING_BYTES, QUEUE_FLOOR_BYTES
from slotcar.platforms.linux_tc.change import change_lines
from slotcar.platforms.linux_tc.objects import AVERAGE_PACKET_BYTES, burst_packets
from slotcar.platforms.linux_tc.queues import PROFILES, RED_PROFILE
from slotcar.platforms.linux_tc.stored import read_lines

THRESHOLDS = (*((one.low_percent, one.high_percent) for one in PROFILES.values()), RED_PROFILE)


def averaging_log(min_bytes: int, burst: int) -> int | None:
    """`tc_red_eval_ewma`: the first W = 2**-log that lets a burst pass; None where tc has no answer."""
    over = burst + 1 - min_bytes / AVERAGE_PACKET_BYTES
    if over < 1:
        return None
    for log in range(1, 32):
        weight = 2.0**-log
        if over <= (1 - (1 - weight) ** burst) / weight:
            return log
    return None


def taken(min_bytes: int, max_bytes: int, burst: int) -> bool:
    """`red_check_params`: each threshold, kept with the fraction's bits, fits 32 bits."""
    log = averaging_log(min_bytes, burst)
    return log is not None and all(size.bit_length() + log < 32 for size in (min_bytes, max_bytes))


@given(st.integers(QUEUE_FLOOR_BYTES, QUEUE_CEILING_BYTES), st.sampled_from(THRESHOLDS))
def test_the_kernel_takes_every_queue_that_there_can_be(queue_bytes: int, part: tuple[int, int]) -> None:
    least, most = (queue_bytes * percent // 100 for percent in part)
    assert taken(least, most, burst_packets(least, most))


@pytest.mark.parametrize(("least", "most", "advised"), [(156_250, 468_750, 261), (1_500, 4_500, 3)])
def test_tcs_advice_is_followed_where_the_kernel_takes_it(least: int, most: int, advised: int) -> None:
    assert taken(least, most, advised)
    assert burst_packets(least, most) == advised


def test_best_effort_of_a_gigabit_has_less_than_tcs_advice_which_the_kernel_refuses() -> None:
    """As seen on Linux 6.1 with iproute2 6.1: `RED: WARNING. Burst 2605 seems to be too large`, `Invalid argument`."""
    assert not taken(1_562_500, 4_687_500, 2_605)
    assert burst_packets(1_562_500, 4_687_500) == 1_816


@pytest.mark.parametrize("rest", ["", " DP 1 prio 1"], ids=["red", "gred"])
def test_a_queue_that_only_marks_above_its_upper_threshold_is_changed(rest: str) -> None:
    """RFC 3168 §7: drop there. So it was written by earlier versions."""
    kind = "gred" if rest else "red"
    marks = f"qdisc dev eth1 parent 51c0:30 handle 51c3: {kind} limit 59375b min 14843b max 44531b avpkt 1000 burst 25"
    marks += f" bandwidth 9500000bit{rest.replace(' prio', ' probability 0.02 prio') or ' probability 0.1'} ecn"
    before, after = read_lines([marks]), read_lines([f"{marks} harddrop"])
    assert change_lines(before, after) == (f"{marks} harddrop".replace("qdisc dev", "qdisc change dev"),)
