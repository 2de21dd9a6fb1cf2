"""Background reservations over time: at every instant the plain rule, nothing over capacity, nobody under `at_least`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from slotcar.admission.background import Share, shares_bps
from slotcar.admission.rates import crossings
from slotcar.admission.resource_id import ResourceId
from slotcar.admission.resources import background_factors, capacities
from slotcar.base.timebase import MICROSECOND, Window
from slotcar.book.model import Entry
from slotcar.book.shares import LEAST_BPS, STEP_BPS, BackgroundShares
from slotcar.book.timeline import Active, active_at
from slotcar.reservation.model import BackgroundShare
from tests.support.examples import examples
from tests.support.requests import at
from tests.unit.book.test_shares import NETWORK, entry

CAPACITIES = capacities(NETWORK)
MBPS = 1_000_000


@st.composite
def ledgers(draw: st.DrawFn) -> tuple[Entry, ...]:
    """Up to three foreground and three background reservations over one path, that fit."""
    entries = []
    for number in range(1, draw(st.integers(1, 3)) + 1):
        start = draw(st.integers(0, 50))
        entries.append(entry(number, start, draw(st.integers(start + 1, 60)), draw(st.integers(1, 6)) * MBPS))
    for number in range(11, draw(st.integers(11, 13)) + 1):
        start = draw(st.integers(0, 50))
        at_least = draw(st.sampled_from((0, 100_000, MBPS)))
        share = BackgroundShare(
            weight=draw(st.integers(1, 9)), at_least_bps=at_least, at_most_bps=draw(st.sampled_from((MBPS, 10**9)))
        )
        entries.append(entry(number, start, draw(st.integers(start + 1, 60)), share=share))
    return tuple(entries)


def taken(active: tuple[Active, ...]) -> dict[ResourceId, int]:
    amounts: dict[ResourceId, int] = defaultdict(int)
    for one in active:
        for demand in one.entry.demands:
            amounts[demand.resource] += demand.amount(one.slot_number)
    return amounts


def plain(entries: tuple[Entry, ...], moment: datetime) -> dict[int, int]:
    """By number: what `shares_bps` gives those that are open at one instant."""
    active = active_at(entries, moment)
    shares = [
        Share(
            str(one.entry.number), crossings(one.entry.reservation, one.entry.paths[0], NETWORK), (), share.weight,
            share.at_least_bps, share.at_most_bps,
        )
        for one in active
        if (share := one.entry.reservation.share)
    ]  # fmt: skip
    used = taken(active)
    free = {name: CAPACITIES[name] - used[name] for share in shares for name, *_ in share.crossings}
    rates = shares_bps(shares, free, background_factors(NETWORK, free))
    return {int(share.name): rounded(rates[share.name], share.at_least_bps) for share in shares}


def rounded(rate_bps: int, at_least_bps: int) -> int:
    return max(at_least_bps, rate_bps // STEP_BPS * STEP_BPS if rate_bps >= LEAST_BPS else 0)


@examples(25, 150)
@given(ledgers(), st.integers(0, 30), st.integers(1, 40))
def test_at_every_instant_the_plain_rule_holds_and_no_resource_is_exceeded(
    entries: tuple[Entry, ...], start: int, length: int
) -> None:
    window = Window(at(start), at(start + length))
    derived = BackgroundShares(NETWORK)(entries, window)
    assert [one.number for one in derived] == [one.number for one in entries]
    instants = {at(minute) for minute in range(start, start + length)}
    for moment in sorted(instants | {instant + timedelta(seconds=59) for instant in instants} - {window.end}):
        active = active_at(derived, moment)
        got = {one.entry.number: one.slot.forward_bps for one in active if one.entry.reservation.share}
        assert got == plain(entries, moment)
        assert all(amount <= CAPACITIES[name] for name, amount in taken(active).items())
        for one in active:
            before = next(entry for entry in entries if entry.number == one.entry.number)
            assert one.window == next(each for each in before.reservation.windows if each.contains(moment))


@examples(10, 60)
@given(ledgers())
def test_outside_the_window_it_has_at_least(entries: tuple[Entry, ...]) -> None:
    derived = BackgroundShares(NETWORK)(entries, Window(at(20), at(21)))
    for one, before in zip(derived, entries, strict=True):
        assert one.reservation.start == before.reservation.start
        assert one.reservation.end == before.reservation.end
        late = active_at((one,), at(60) - MICROSECOND)
        if late and (share := before.reservation.share):
            assert late[0].slot.forward_bps == share.at_least_bps


def test_the_entries_that_are_no_background_are_the_same_objects() -> None:
    first, second = entry(1, 0, 10, MBPS), entry(11, 0, 10, share=BackgroundShare())
    derived = BackgroundShares(NETWORK)((first, second), Window(at(0), at(10)))
    assert derived[0] is first
    assert derived[1].demands != second.demands
    assert replace(derived[1], reservation=second.reservation, demands=second.demands) == second
