"""Whatever happens to a device's counters: no byte is counted twice, none is made up, and steps add up."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from slotcar.measuring.counters.increments import WRAPS_AT, Remark, increments
from slotcar.measuring.counters.reading import CounterReading
from slotcar.measuring.counters.steps import parted, steps_of
from slotcar.platforms.counting import Amount, Count, FlowPlace

BEGIN = datetime(2030, 1, 1, tzinfo=UTC)
PLACE = FlowPlace("eth1", 2)
#: What a period's line carries is less than 32 bits count.
LINE_BPS, PERIOD_S = 100_000_000, 60
PACKETS = st.integers(0, 60_000)


@dataclass(frozen=True)
class Period:
    """Packets before and after the counter begins again, if it does."""

    packets: int
    begins_again: bool
    packets_after: int
    pushed: bool


PERIODS = st.lists(st.builds(Period, PACKETS, st.booleans(), PACKETS, st.booleans()), min_size=1, max_size=12)


@given(periods=PERIODS, size=st.integers(40, 5_000), bits=st.sampled_from([None, 32]), aged=st.booleans())
def test_counted_bytes_are_those_that_passed_less_what_nobody_saw(
    periods: list[Period], size: int, bits: int | None, aged: bool
) -> None:
    packets, began_s, sequence = 0, 0, 0
    lost = passed = 0
    before: CounterReading | None = None
    counted = 0
    for number, period in enumerate([Period(0, False, 0, False), *periods], 1):
        at = BEGIN + timedelta(seconds=number * PERIOD_S)
        packets += period.packets
        passed += (period.packets + (period.packets_after if period.begins_again else 0)) * size
        if period.begins_again:
            lost += period.packets * size
            packets, began_s = period.packets_after, number * PERIOD_S - PERIOD_S // 2
        sequence += period.pushed
        octets = packets * size % (WRAPS_AT if bits else packets * size + 1)
        age_s = number * PERIOD_S - began_s if aged else None
        after = CounterReading("r1", at, at, str(sequence), {PLACE: Count(Amount(packets, octets), age_s=age_s)})
        grew = sum(one.count.in_profile.ip_bytes for one in increments(before, after, {}) if one.count)
        wraps = increments(before, after, {"eth1": LINE_BPS})
        counted += sum(one.count.in_profile.ip_bytes for one in wraps if one.count)
        assert grew <= passed
        before = after
    assert counted <= passed
    if not any(one.begins_again for one in periods) and size * 60_000 * 8 <= LINE_BPS * PERIOD_S:
        assert counted == passed
    if aged and bits is None and size * 120_000 * 8 <= LINE_BPS * PERIOD_S // 2:
        assert counted == passed - lost


@given(
    before=st.integers(0, 1 << 40),
    after=st.integers(0, 1 << 40),
    packets=st.tuples(PACKETS, PACKETS),
    line=st.booleans(),
)
def test_nothing_is_counted_that_the_line_could_not_carry(
    before: int, after: int, packets: tuple[int, int], line: bool
) -> None:
    lines = {"eth1": LINE_BPS} if line else {}
    first, second = (
        CounterReading("r1", BEGIN, BEGIN + timedelta(seconds=at), "a", {PLACE: Count(Amount(count, octets))})
        for at, count, octets in ((0, packets[0], before), (PERIOD_S, packets[1], after))
    )
    for one in increments(first, second, lines):
        if one.count is None:
            assert one.remark is Remark.IMPOSSIBLE
            continue
        assert not one.count.in_profile.is_negative
        if line and one.start < one.end:
            assert one.count.in_profile.ip_bytes * 8 <= LINE_BPS * PERIOD_S * 1.06 + 8_000_000


@given(
    start=st.integers(0, 10**12),
    length=st.integers(0, 10**11),
    step=st.integers(10**6, 10**11),
    whole=st.integers(0, 10**15),
)
def test_steps_hold_all_of_a_stretch_and_all_that_was_counted_in_it(
    start: int, length: int, step: int, whole: int
) -> None:
    steps = list(steps_of(start, start + length, max(step, length // 50 or 1)))
    assert sum(part for _, part in steps) == length
    assert all(first % max(step, length // 50 or 1) == 0 for first, _ in steps)
    assert len({first for first, _ in steps}) == len(steps)
    parts = parted(whole, [part for _, part in steps])
    assert sum(parts) == whole
    assert all(part >= 0 for part in parts)
