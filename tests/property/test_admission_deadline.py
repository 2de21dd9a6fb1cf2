"""Deadline profiles agree with brute force on small grids."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import groupby, pairwise, product

from hypothesis import given
from hypothesis import strategies as st

from slotcar.admission import Demand, ResourceId, SlotTables
from slotcar.admission.deadline import (
    Shape,
    Transfer,
    TransferRefused,
    earliest,
    latest,
    plan_transfer,
    progress,
    shaped,
)
from slotcar.admission.free import Free, free_in, profile_columns
from slotcar.admission.lasting import few, lasting
from slotcar.admission.rates import (
    MICROBITS_PER_BYTE,
    Crossing,
    Profile,
    RateStep,
    clipped,
    excess,
    microbits,
    profile_demands,
)
from slotcar.admission.steady import MINUTE_US, on_grid, steady_profile
from slotcar.admission.step_rules import lasts
from slotcar.base.timebase import Window, to_us
from slotcar.base.units import MAX_RATE_BPS
from tests.support.examples import examples
from tests.unit.admission.support import T0, at, window

BASE_US = to_us(T0)
NAMES = (ResourceId("sls", "a"), ResourceId("if", "r1:eth1", "in:ip-premium"))
few_rates = st.lists(st.integers(0, 6), min_size=1, max_size=8)


def each(rates: list[int], length_us: int = 1) -> Profile:
    return tuple(
        RateStep(BASE_US + n * length_us, BASE_US + (n + 1) * length_us, rate) for n, rate in enumerate(rates)
    )


@examples(50, 200)
@given(
    st.lists(st.integers(0, MAX_RATE_BPS // 4), min_size=1, max_size=5),
    st.lists(st.tuples(st.integers(1, 20_000), st.integers(1, 9_000)), min_size=1, max_size=2),
)
def test_a_profile_in_columns_takes_what_its_demands_take(rates: list[int], ratios: list[tuple[int, int]]) -> None:
    profile = each(rates)
    crossed = [Crossing(name, *ratio) for name, ratio in zip(NAMES, ratios, strict=False)]
    demands, windows = profile_demands(crossed, profile)
    columns = profile_columns(crossed, profile)
    assert columns.amounts.tolist() == [list(one.over(len(windows))) for one in demands]
    assert list(columns.resources) == [one.resource for one in demands]
    assert columns.starts_us.tolist() == [window.start_us for window in windows]
    assert columns.ends_us.tolist() == [window.end_us for window in windows]


@examples(75, 300)
@given(st.lists(st.integers(0, MAX_RATE_BPS), min_size=1, max_size=8), st.integers(1, 10**13), st.floats(0, 1.1))
def test_columns_are_as_exact_as_plain_integers(rates: list[int], length_us: int, part: float) -> None:
    steps = each(rates, length_us)
    free, needed = Free.of(steps), max(1, int(microbits(steps) * part))
    assert free.profile() == steps
    assert free.microbits == microbits(steps)
    for taken, fill in ((free.head(needed), earliest), (free.tail(needed), latest)):
        assert fill(taken, needed) == fill(steps, needed)
        assert microbits(taken) >= needed or taken == steps
        assert not excess(taken, steps)


@examples(75, 300)
@given(few_rates, st.integers(1, 40))
def test_earliest_and_latest_fill_every_microsecond_from_their_end(rates: list[int], needed: int) -> None:
    usable = each(rates)
    first, last = earliest(usable, needed), latest(usable, needed)
    if sum(rates) < needed:
        assert microbits(first) == microbits(last) == sum(rates)
        return
    end = min(n for n in range(len(rates) + 1) if sum(rates[:n]) >= needed)
    start = max(n for n in range(len(rates) + 1) if sum(rates[n:]) >= needed)
    assert microbits(first) == sum(rates[:end])
    assert first[-1].end_us == BASE_US + end
    assert microbits(last) == sum(rates[start:])
    assert last[0].start_us == BASE_US + start


def fewest(rates: list[int], needed_per_minute: int) -> int:
    """Of all profiles of whole minutes that move the volume, the fewest steps."""
    best = len(rates)
    for profile in product(*[[level for level in {0, *rates} if level <= rate] for rate in rates]):
        if sum(profile) >= needed_per_minute:
            best = min(best, sum(1 for rate, _ in groupby(profile) if rate))
    return best


@examples(75, 300)
@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.data())
def test_a_steady_profile_has_the_fewest_steps(rates: list[int], data: st.DataObject) -> None:
    needed = data.draw(st.integers(1, max(1, sum(rates))))
    profile = steady_profile(Free.of(each(rates, MINUTE_US)), needed * MINUTE_US)
    if sum(rates) < needed:
        assert profile is None
        return
    assert profile is not None
    assert microbits(profile) >= needed * MINUTE_US
    assert not excess(profile, each(rates, MINUTE_US))
    assert len(profile) <= fewest(rates, needed)
    if min(rates) * len(rates) >= needed:
        assert len(profile) == 1


@examples(50, 200)
@given(st.lists(st.tuples(st.integers(1, 150), st.integers(0, 5)), min_size=1, max_size=12), st.integers(0, 59))
def test_the_grid_never_has_more_than_is_usable(parts: list[tuple[int, int]], offset_s: int) -> None:
    usable, time_us = [], BASE_US + offset_s * 1_000_000
    for seconds, rate in parts:
        usable.append(RateStep(time_us, time_us := time_us + seconds * 1_000_000, rate))
    cells = on_grid(Free.of(usable), MINUTE_US).profile()
    assert (cells[0].start_us, cells[-1].end_us) == (usable[0].start_us, usable[-1].end_us)
    assert all(cell.start_us % MINUTE_US == 0 for cell in cells[1:])
    assert all(one.end_us == other.start_us for one, other in pairwise(cells))
    assert not excess(cells, usable)


@st.composite
def books(draw: st.DrawFn) -> SlotTables:
    tables = SlotTables({name: draw(st.integers(0, 40)) for name in NAMES})
    for name, start, length, rate in draw(
        st.lists(
            st.tuples(st.sampled_from(NAMES), st.integers(0, 10), st.integers(1, 6), st.integers(1, 15)), max_size=8
        )
    ):
        tables.add([Demand.constant(name, rate)], [window(start, start + length)])
    return tables


@st.composite
def transfers(draw: st.DrawFn) -> Transfer:
    payload = draw(st.integers(1, 9))
    wire = [payload + draw(st.integers(0, 4)) for _ in NAMES]
    low, high = draw(st.sampled_from([(0, 1000), (0, 9), (3, 12), (5, 5)]))
    return Transfer(
        volume_bytes=draw(st.integers(1, 1200)),
        window=Window(at(draw(st.integers(0, 5))), at(draw(st.integers(6, 12)))),
        crossings=tuple(Crossing(name, size, payload) for name, size in zip(NAMES, wire, strict=True)),
        at_least_bps=low,
        at_most_bps=high,
        shape=draw(st.sampled_from(Shape)),
    )


def most_microbits(tables: SlotTables, transfer: Transfer) -> int:
    """Minute by minute, rate by rate: the highest whole payload rate that the tables would take."""
    total = 0
    for start in range(20):
        if not transfer.window.contains(at(start)):
            continue
        minute = window(start, start + 1)
        highest = 0
        for rate in range(1, 42):
            demands = [Demand.constant(one.resource, one.amount(rate)) for one in transfer.crossings]
            if rate <= transfer.at_most_bps and tables.fits(demands, [minute]):
                highest = rate
        total += highest * MINUTE_US if highest >= transfer.at_least_bps else 0
    return total


def check_profile(tables: SlotTables, transfer: Transfer, profile: Profile) -> None:
    assert microbits(profile) >= transfer.microbits
    assert profile[0].start_us >= transfer.window.start_us
    assert profile[-1].end_us <= transfer.window.end_us
    assert all(max(1, transfer.at_least_bps) <= step.rate_bps <= transfer.at_most_bps for step in profile)
    assert tables.fits(*profile_demands(transfer.crossings, profile))
    assert lasts(profile, transfer.window)


@examples(50, 200)
@given(books(), transfers())
def test_a_transfer_is_refused_exactly_where_no_profile_moves_it(tables: SlotTables, transfer: Transfer) -> None:
    most = most_microbits(tables, transfer)
    answer = plan_transfer(tables, transfer, horizon=at(40))
    if not isinstance(answer, TransferRefused):
        assert most >= transfer.microbits
        check_profile(tables, transfer, answer)
        return
    assert most < transfer.microbits
    assert answer.most_bytes == most // MICROBITS_PER_BYTE
    if answer.most_bytes:
        fitting = replace(transfer, volume_bytes=answer.most_bytes)
        assert not isinstance(plan_transfer(tables, fitting, horizon=at(40)), TransferRefused)
    if answer.earliest_deadline is None:
        longest = replace(transfer, window=Window(transfer.window.start, at(40)))
        assert isinstance(plan_transfer(tables, longest, horizon=at(40)), TransferRefused)
        return
    in_time = replace(transfer, window=Window(transfer.window.start, answer.earliest_deadline))
    check_profile(tables, in_time, plan_transfer(tables, in_time, horizon=at(40)))  # type: ignore[arg-type]
    # The last step lasts a minute.
    sooner = Window(transfer.window.start, answer.earliest_deadline - timedelta(minutes=1, microseconds=1))
    too_soon = plan_transfer(tables, replace(transfer, window=sooner), horizon=at(40))
    assert isinstance(too_soon, TransferRefused)


@examples(37, 150)
@given(books(), transfers(), st.integers(0, 2000), st.integers(0, 11))
def test_progress_moves_what_remains_and_says_what_is_missing(
    tables: SlotTables, transfer: Transfer, remaining: int, minute: int
) -> None:
    profile = plan_transfer(tables, transfer, horizon=at(40))
    if isinstance(profile, TransferRefused) or not transfer.window.contains(at(minute)):
        return
    free = free_in(tables, transfer.crossings, Window(at(minute), transfer.window.end))
    answer = progress(transfer, profile, remaining, at(minute), free)
    moved = microbits(answer.profile)
    assert moved + answer.missing_bytes * MICROBITS_PER_BYTE >= remaining * MICROBITS_PER_BYTE
    rest = replace(transfer, volume_bytes=max(1, remaining), window=Window(at(minute), transfer.window.end))
    assert bool(answer.missing_bytes) == (most_microbits(tables, rest) < remaining * MICROBITS_PER_BYTE)
    assert not excess(answer.profile, rest.usable(free).profile())
    before = [step for step in profile if step.end_us > rest.window.start_us]
    difference = microbits(answer.raised) - microbits(answer.given_back)
    clipped_before = sum(step.rate_bps * (step.end_us - max(step.start_us, rest.window.start_us)) for step in before)
    assert difference == moved - clipped_before


@examples(50, 200)
@given(books(), transfers(), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 30)), max_size=6))
def test_what_is_reserved_moves_the_volume_by_the_deadline_whatever_is_reported(
    tables: SlotTables, transfer: Transfer, reports: list[tuple[int, int]]
) -> None:
    """The profile alone, however much others' room has moved, in every shape: a late one is put off, and never too far."""
    profile = plan_transfer(tables, transfer, horizon=at(40))
    if isinstance(profile, TransferRefused):
        return
    by_us, now_us, remaining = transfer.window.end_us, transfer.window.start_us, transfer.volume_bytes
    for minute, more in sorted(reports):
        if not transfer.window.contains(at(minute)):
            continue
        moved = microbits(clipped(profile, now_us, to_us(at(minute))))
        now_us, remaining = to_us(at(minute)), remaining + -moved // MICROBITS_PER_BYTE - more
        if remaining <= 0:
            return
        free = free_in(tables, transfer.crossings, Window(at(minute), transfer.window.end))
        answer = progress(transfer, profile, remaining, at(minute), free)
        assert not answer.missing_bytes
        profile = answer.profile
        assert all(transfer.at_least_bps <= step.rate_bps <= transfer.at_most_bps for step in profile)
        assert tables.fits(*profile_demands(transfer.crossings, profile))
    assert microbits(clipped(profile, now_us, by_us)) >= remaining * MICROBITS_PER_BYTE


@st.composite
def uneven(draw: st.DrawFn) -> Free:
    """What is free over some minutes, in parts of any number of seconds."""
    steps, time_us = [], BASE_US
    for seconds, rate in draw(st.lists(st.tuples(st.integers(1, 150), st.integers(0, 6)), min_size=1, max_size=40)):
        steps.append(RateStep(time_us, time_us := time_us + seconds * 1_000_000, rate))
    return Free.of(steps).between(0, 6)


@examples(75, 300)
@given(uneven())
def test_what_lasts_is_free_and_lasts_and_is_no_less_than_on_the_grid(free: Free) -> None:
    parts = lasting(free)
    length_us = free.end_us - int(free.starts_us[0])
    assert not excess(parts.profile(), free.profile())
    assert (int(parts.starts_us[0]), parts.end_us) == (int(free.starts_us[0]), free.end_us)
    assert int((parts.ends_us - parts.starts_us).min()) >= min(MINUTE_US, length_us)
    assert parts.microbits >= on_grid(free, MINUTE_US).microbits
    less = few(parts, 3)
    assert not excess(less.profile(), parts.profile())
    assert int((less.rates_bps > 0).sum()) <= 3
    assert int((less.ends_us - less.starts_us).min()) >= min(MINUTE_US, length_us)


@examples(75, 300)
@given(uneven(), st.floats(0.01, 1), st.sampled_from(Shape), st.sampled_from([0, 2]), st.integers(0, 100))
def test_every_profile_has_steps_and_pauses_that_last(
    free: Free, part: float, shape: Shape, at_least_bps: int, reported_after_s: int
) -> None:
    """A request's own, and what a report of progress takes."""
    span = Window.of_us(int(free.starts_us[0]), free.end_us)
    volume_bytes = max(1, int(free.microbits * part) // MICROBITS_PER_BYTE)
    transfer = Transfer(volume_bytes, span, (Crossing(NAMES[0]),), at_least_bps=at_least_bps, shape=shape)
    profile = shaped(transfer, free)
    if profile is None:
        assert few(transfer.promisable(free)).microbits < transfer.microbits
        return
    assert lasts(profile, span)
    assert microbits(profile) >= transfer.microbits
    assert not excess(profile, free.profile())
    assert all(step.rate_bps >= at_least_bps for step in profile)
    moment = span.start + timedelta(seconds=reported_after_s)
    if moment < span.end:
        rest = free.within(to_us(moment), free.end_us)
        for remaining in (volume_bytes // 3, volume_bytes):
            answer = progress(transfer, profile, remaining, moment, rest)
            assert answer.profile == clipped(profile, to_us(moment), free.end_us) or lasts(
                answer.profile, Window(moment, span.end)
            )


@examples(50, 200)
@given(books(), transfers())
def test_a_late_profile_leaves_a_tenth_where_nine_tenths_suffice(tables: SlotTables, transfer: Transfer) -> None:
    late = replace(transfer, shape=Shape.LATEST)
    profile = plan_transfer(tables, late, horizon=at(40))
    if isinstance(profile, TransferRefused):
        return
    usable = late.usable(free_in(tables, late.crossings, late.window)).profile()
    spared = [one._replace(rate_bps=one.rate_bps - one.rate_bps // 10) for one in usable]
    counted = [one for one in spared if one.rate_bps >= late.at_least_bps]
    suffices = microbits(counted) >= late.microbits
    assert not (excess(profile, spared) if suffices else excess(profile, usable))
