"""Moves that make room, in the order: nobody, others as late as possible, all together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from slotcar.admission import Demand, ResourceId, SlotTables
from slotcar.admission.component import FixedRequest, PlacedTransfer, connected
from slotcar.admission.crowding import must_exceed
from slotcar.admission.deadline import Shape, Transfer, earliest
from slotcar.admission.free import Free, free_in
from slotcar.admission.moves import Room, make_room
from slotcar.admission.packing import jointly_placed, lowered, packed, raised
from slotcar.admission.program import LinearProgram, Movable, ProposedProfile
from slotcar.admission.rates import Crossing, Profile, RateStep, microbits, profile_demands
from slotcar.admission.step_rules import LEAST_STEP_US, keeps_rules, lengthened
from slotcar.base.timebase import Window, from_us, to_us
from tests.unit.admission.simplex import Simplex
from tests.unit.admission.support import LINK, T0

#: Times in the cases count tens of minutes, rates Mbit/s: one for one is 75 MB.
PART_US, MBPS, UNIT_BYTES = 600_000_000, 1_000_000, 75_000_000
FAR = ResourceId("if", "r2:eth1", "out:ip-premium")
NONE_FROZEN = timedelta(0)


def span(start: float, end: float) -> Window:
    return Window.of_us(to_us(T0) + round(start * PART_US), to_us(T0) + round(end * PART_US))


def ends(start: float, end: float) -> tuple[int, int]:
    return span(start, end).start_us, span(start, end).end_us


def steps(*rows: tuple[float, float, int]) -> Profile:
    return tuple(RateStep(span(a, b).start_us, span(a, b).end_us, rate * MBPS) for a, b, rate in rows)


def transfer(volume: int, start: float, end: float, *resources: ResourceId, at_most: int = 1, **more: Any) -> Transfer:
    crossings = tuple(Crossing(one) for one in resources or (LINK,))
    return Transfer(volume * UNIT_BYTES, span(start, end), crossings, at_most_bps=at_most * MBPS, **more)


def fixed(start: float, end: float, rate: int, resource: ResourceId = LINK) -> FixedRequest:
    return FixedRequest((Demand.constant(resource, rate * MBPS),), (span(start, end),))


def placed(tables: SlotTables, handle: str, one: Transfer, profile: Profile) -> PlacedTransfer:
    tables.add(*profile_demands(one.crossings, profile))
    return PlacedTransfer(handle, one, profile)


def book(capacity: int = 1) -> SlotTables:
    return SlotTables({LINK: capacity * MBPS, FAR: capacity * MBPS})


def test_nobody_moves_where_the_request_fits() -> None:
    tables = book(2)
    one = placed(tables, "one", transfer(1, 0, 4), steps((0, 1, 1)))
    assert make_room(tables, transfer(1, 0, 1), [one], now=T0) == Room(steps((0, 1, 1)))


@pytest.mark.parametrize("solver", [None, Simplex()])
def test_what_earliest_deadline_first_misses_has_a_schedule(solver: Simplex | None) -> None:
    """Volumes 1, 1, 2 by 2, 2, 2.001, each capped at 1, on a capacity of 2: the first two must follow one another."""
    tables = book(2)
    first, second, third = transfer(1, 0, 2), transfer(1, 0, 2), transfer(2, 0, 2.001)
    both = [placed(tables, "a", first, steps((0, 1, 1))), placed(tables, "b", second, steps((0, 1, 1)))]
    after_edf = third.usable(free_in(tables, third.crossings, third.window)).profile()
    assert microbits(earliest(after_edf, third.microbits)) < third.microbits, "earliest deadline first misses it"
    room = make_room(tables, third, both, now=T0, frozen=NONE_FROZEN, solver=solver)
    assert room is not None
    assert microbits(room.profile) >= third.microbits
    assert list(room.moved.values()) == [steps((1, 2, 1))]


def test_the_linear_program_alone_finds_that_schedule() -> None:
    transfers = [transfer(1, 0, 2), transfer(1, 0, 2), transfer(2, 0, 2.001)]
    profiles = jointly_placed(book(2), [Movable(one, one.window) for one in transfers], Simplex(), {})
    assert profiles is not None
    assert all(microbits(profile) >= one.microbits for profile, one in zip(profiles, transfers, strict=True))


def test_what_is_less_than_the_least_rate_is_taken_from_who_has_time_left() -> None:
    """The proposal fills the link until the first deadline, with a hundredth of it where 32,768 bit/s are the least."""
    hundredth, least_bps = MBPS // 100, 32_768
    urgent = replace(transfer(1, 0, 2), volume_bytes=UNIT_BYTES + UNIT_BYTES // 100, at_least_bps=least_bps)
    patient = replace(transfer(1, 0, 4), volume_bytes=UNIT_BYTES - UNIT_BYTES // 100, at_least_bps=least_bps)
    proposed = [
        ProposedProfile((RateStep(*ends(0, 1), hundredth), RateStep(*ends(1, 2), MBPS)), 1),
        ProposedProfile(
            (RateStep(*ends(0, 1), MBPS - hundredth), RateStep(*ends(1, 2), 0), RateStep(*ends(2, 4), 0)), 1
        ),
    ]
    profiles = packed(book(), [Movable(one, one.window) for one in (urgent, patient)], proposed, {})
    assert profiles is not None
    assert all(microbits(profile) >= one.microbits for profile, one in zip(profiles, (urgent, patient), strict=True))
    assert profiles[0][0].rate_bps == least_bps
    assert profiles[1][0].rate_bps <= MBPS - least_bps


def test_a_fixed_request_moves_whoever_stands_in_its_way_and_nobody_else() -> None:
    tables = book()
    early = placed(tables, "early", transfer(1, 0, 9), steps((0, 1, 1)))
    placed_transfer = placed(tables, "there", transfer(1, 0, 8), steps((4, 5, 1)))
    room = make_room(tables, fixed(4, 5, 1), [early, placed_transfer], now=T0)
    assert room is not None
    assert list(room.moved) == ["there"]


def chain(tables: SlotTables) -> list[PlacedTransfer]:
    """`a` can only go where `b` is, and `b` is as late as it can be."""
    return [
        placed(tables, "a", transfer(1, 2, 4), steps((3, 4, 1))),
        placed(tables, "b", transfer(1, 0, 3), steps((2, 3, 1))),
    ]


def test_a_chain_needs_the_linear_program() -> None:
    tables, solver = book(), Simplex()
    both = chain(tables)
    assert make_room(tables, fixed(3, 4, 1), both, now=T0, frozen=NONE_FROZEN) is None
    room = make_room(tables, fixed(3, 4, 1), both, now=T0, frozen=NONE_FROZEN, solver=solver)
    assert solver.calls == 1
    assert room is not None
    assert room.moved["a"] == steps((2, 3, 1))
    assert room.moved["b"][-1].end_us <= span(0, 2).end_us


class Forbidden:
    """A solver that must not be asked."""

    def solve(self, _program: LinearProgram) -> None:
        raise AssertionError("there is no plan, and a solver was asked for one")


def test_a_solver_is_not_asked_where_more_must_lie_in_a_time_than_there_is_room_for() -> None:
    """Each of the requests fits alone."""
    tables = book(2)
    both = [
        placed(tables, name, transfer(3, 0, 4, at_most=2), steps((start, start + 3, 1)))
        for start, name in ((0, "a"), (1, "b"))
    ]
    for request in (transfer(3, 0, 4, at_most=2), transfer(12, 0, 8, at_most=2), fixed(0, 2, 2)):
        assert make_room(book(2), request, [], now=T0) is not None
        assert make_room(tables, request, both, now=T0, frozen=NONE_FROZEN, solver=Forbidden()) is None


def test_what_a_transfer_can_move_outside_of_a_time_need_not_lie_inside() -> None:
    tables = book(1)
    inside = transfer(2, 1, 3)
    assert not must_exceed(tables, LINK, [inside, transfer(2, 0, 4)])
    assert must_exceed(tables, LINK, [inside, transfer(3, 0, 4)])
    half = replace(transfer(2, 0, 4), at_most_bps=MBPS * 9 // 10)
    assert must_exceed(tables, LINK, [inside, half]), "before and after it can move 1.8 of its 2"
    assert not must_exceed(tables, LINK, [transfer(2, 1, 3, FAR), half])
    assert not must_exceed(tables, LINK, [])


def test_headers_count_where_a_transfer_crosses() -> None:
    tables = book(1)
    exact = transfer(2, 0, 2)
    headers = replace(exact, crossings=(Crossing(LINK, 1001, 1000),))
    assert not must_exceed(tables, LINK, [exact])
    assert must_exceed(tables, LINK, [headers])


def test_nothing_moves_within_the_frozen_horizon_or_past_a_deadline() -> None:
    tables = book()
    running = placed(tables, "running", transfer(1, 0, 2), steps((0, 1, 1)))
    request = fixed(0, 1, 1)
    assert make_room(tables, request, [running], now=T0, solver=Simplex()) is None
    later = fixed(0.5, 1, 1)
    room = make_room(tables, later, [running], now=T0)
    assert room == Room(
        (), {"running": (*steps((0, 0.1, 1)), RateStep(span(1, 2).start_us, span(1, 2).end_us, MBPS * 9 // 10))}
    ), "its first minute stays"
    in_time = fixed(0.5, 2, 1)
    assert make_room(tables, in_time, [running], now=T0, solver=Simplex()) is None


def test_what_of_a_profile_has_passed_counts_for_nothing() -> None:
    tables = book()
    running = placed(tables, "running", transfer(1, 0, 4), steps((0, 2, 1)))
    now = from_us(span(0, 1).end_us)
    room = make_room(tables, fixed(1, 2, 1), [running], now=now, frozen=NONE_FROZEN)
    assert room == Room((), {"running": (RateStep(span(2, 4).start_us, span(2, 4).end_us, MBPS // 2),)})


def test_the_tables_are_as_before() -> None:
    tables = book()
    both = chain(tables)
    before = tables.steps(LINK, span(0, 10))
    make_room(tables, fixed(3, 4, 1), both, now=T0, frozen=NONE_FROZEN, solver=Simplex())
    assert tables.steps(LINK, span(0, 10)) == before


def test_the_exact_tables_judge_what_a_solver_proposes() -> None:
    class Liar:
        def solve(self, program: LinearProgram) -> list[float]:
            return [1000.0] * len(program.cost)

    class Helpless:
        def solve(self, program: LinearProgram) -> None:
            return None

    tables = book()
    both = chain(tables)
    request = fixed(3, 4, 1)
    room = make_room(tables, request, both, now=T0, frozen=NONE_FROZEN, solver=Liar())
    check(tables, request, both, room)
    assert make_room(tables, request, both, now=T0, frozen=NONE_FROZEN, solver=Helpless()) is None


def check(tables: SlotTables, request: FixedRequest, everybody: list[PlacedTransfer], room: Room | None) -> None:
    if room is None:
        return
    after = tables.copy()
    moved: Mapping[str, Profile] = room.moved
    for one in everybody:
        if one.handle in moved:
            after.remove(*profile_demands(one.transfer.crossings, one.profile))
    for one in everybody:
        if one.handle in moved:
            assert after.fits(*profile_demands(one.transfer.crossings, moved[one.handle]))
            after.add(*profile_demands(one.transfer.crossings, moved[one.handle]))
            assert microbits(moved[one.handle]) >= one.transfer.microbits
    assert after.fits(request.demands, request.windows)


def test_a_component_reaches_through_others_nearest_first_and_not_beyond() -> None:
    tables = book(9)
    near = placed(tables, "near", transfer(1, 0, 4, LINK, FAR), steps((0, 1, 1)))
    far = placed(tables, "far", transfer(1, 3, 6, FAR), steps((3, 4, 1)))
    longer = placed(tables, "longer", transfer(1, 0, 5), steps((0, 1, 1)))
    apart = placed(tables, "apart", transfer(1, 6, 9, FAR), steps((6, 7, 1)))
    chosen = connected(transfer(1, 0, 1), [apart, far, near, longer], to_us(T0), most=9)
    assert [one.handle for one in chosen] == ["longer", "near", "far"]
    assert connected(transfer(1, 0, 1), [apart, far, near, longer], to_us(T0), most=2) == chosen[:2]


def test_of_transfers_with_one_deadline_the_first_comes_first_whatever_their_handles_are() -> None:
    """Handles are drawn at random: by them, a plan could not foresee what its apply does."""
    tables = book(10)
    both = [placed(tables, handle, transfer(1, 0, 5), steps((0, 1, 1))) for handle in ("second", "first")]
    assert connected(transfer(1, 0, 1), both, to_us(T0), most=9) == both
    assert connected(transfer(1, 0, 1), both[::-1], to_us(T0), most=9) == both[::-1]


def test_blocks_are_raised_where_they_have_a_rate_first_and_lowered_latest_first() -> None:
    blocks, usable = steps((0, 1, 0), (1, 2, 1), (2, 3, 1), (3, 4, 0)), Free.of(steps((0, 1, 1), (1, 2, 1), (2, 4, 3)))
    unit = PART_US * MBPS
    assert raised(blocks, usable, 4 * unit, 0) == steps((0, 1, 0), (1, 2, 1), (2, 3, 3), (3, 4, 0))
    assert raised(blocks, usable, 5 * unit, 0) == steps((0, 1, 1), (1, 2, 1), (2, 3, 3), (3, 4, 0))
    fast = usable.between(2 * MBPS, 9 * MBPS)
    assert raised(steps((2, 3, 0), (3, 4, 0)), fast, unit, 2 * MBPS) == steps((2, 3, 2), (3, 4, 0))
    assert microbits(raised(blocks, usable, 99 * unit, 0)) == 8 * unit
    assert lowered(steps((1, 2, 1), (2, 3, 3)), 3 * unit, 0) == steps((1, 2, 1), (2, 3, 2))
    assert lowered(steps((1, 2, 1), (2, 3, 3)), 3 * unit, 3 * MBPS) == steps((1, 2, 0), (2, 3, 3))
    assert lowered(steps((1, 2, 2), (2, 3, 1)), 2 * unit, 0) == steps((1, 2, 2), (2, 3, 0))


def test_a_moved_transfer_stays_steady_where_it_fits() -> None:
    """It does not idle, and then run at its highest rate to the very deadline."""
    tables = book(4)
    one = placed(tables, "one", transfer(4, 0, 8, at_most=4), steps((0, 1, 4)))
    room = make_room(tables, fixed(0, 1, 1), [one], now=T0, frozen=NONE_FROZEN)
    assert room is not None
    assert room.moved == {"one": (RateStep(span(0, 8).start_us, span(0, 8).end_us, MBPS // 2),)}


def test_whoever_was_moved_least_moves() -> None:
    tables = book(2)
    often, never = (
        PlacedTransfer(handle, transfer(1, 0, 4), steps((0, 1, 1)), times_moved=times)
        for handle, times in (("a", 56), ("b", 0))
    )
    for one in (often, never):
        tables.add(*profile_demands(one.transfer.crossings, one.profile))
    for solver in (None, Simplex()):
        room = make_room(tables, fixed(0, 1, 1), [often, never], now=T0, frozen=NONE_FROZEN, solver=solver)
        assert room is not None
        assert list(room.moved) == ["b"]


def test_a_joint_plan_gives_back_who_still_fits_and_who_was_moved_most_first() -> None:
    """The chain of two must move; of two others that the solver moves without need, none does."""

    class Careless(Simplex):
        """Everybody as late as may be, whoever need not move, too."""

        def solve(self, program: LinearProgram) -> list[float] | None:
            return super().solve(replace(program, cost=-np.arange(len(program.cost), dtype=np.float64)))  # type: ignore[return-value]

    tables = book()
    both = chain(tables)
    calm = placed(tables, "calm", transfer(1, 0, 9), steps((5, 6, 1)))
    room = make_room(tables, fixed(3, 4, 1), [*both, calm], now=T0, frozen=NONE_FROZEN, solver=Careless())
    assert room is not None
    assert sorted(room.moved) == ["a", "b"]


def test_a_step_that_was_announced_lasts_before_it_changes() -> None:
    """Its last change before the frozen horizon ends is 20 s before that: it keeps its rate for a minute."""
    tables = book(2)
    began = to_us(T0) + 40_000_000
    profile = (RateStep(began, span(0, 2).end_us, MBPS),)
    one = placed(tables, "one", Transfer(MBPS * 1160 // 8, span(0, 6), (Crossing(LINK),), at_most_bps=MBPS), profile)
    room = make_room(tables, FixedRequest((Demand.constant(LINK, 2 * MBPS),), (span(0.5, 1),)), [one], now=T0)
    assert room is not None
    assert room.moved["one"][0] == RateStep(began, began + LEAST_STEP_US, MBPS)


def test_steps_and_pauses_of_a_moved_profile_last() -> None:
    window = span(0, 6)
    minute = 0.1
    assert keeps_rules(steps((0, 1, 1), (1, 2, 2), (3, 4, 1)), window)
    assert not keeps_rules(steps((0, 1, 1), (1, 1 + minute / 2, 2)), window)
    assert not keeps_rules(steps((0, 1, 1), (1 + minute / 2, 2, 1)), window), "a pause is two borders, too"
    assert not keeps_rules(steps(*((n, n + 0.1, n % 2 + 1) for n in range(33))), span(0, 40))
    assert keeps_rules(steps((0, minute / 2, 1)), span(0, minute / 2)), "there is no more time"


def test_a_short_last_step_lasts_at_a_lower_rate() -> None:
    usable = Free.of(steps((0, 2, 4), (2, 9, 8)))
    half, whole = 0.05, 0.1
    assert lengthened(steps((0, 2, 4), (2, 2 + half, 8)), usable, 0) == steps((0, 2 + whole, 4))
    assert lengthened(steps((0, 2, 4), (2, 2 + half, 8)), usable, 5 * MBPS) == steps((0, 2, 4), (2, 2 + whole, 5))
    assert lengthened(steps((9 - half, 9, 8)), usable, 0) == steps((9 - half, 9, 8))[:0] + steps((9 - whole, 9, 4))
    full = Free.of(steps((0, 2, 4), (2, 2 + half, 8), (2 + half, 9, 0)))
    assert lengthened(steps((0, 2, 4), (2, 2 + half, 8)), full, 0) == steps((0, 2, 4), (2, 2 + half, 8)), "no room"


def test_a_moved_transfer_keeps_its_least_rate() -> None:
    tables = book(4)
    tables.add([Demand.constant(LINK, 3 * MBPS)], [span(6, 8)])
    crawling = transfer(4, 0, 8, at_most=4, at_least_bps=2 * MBPS, shape=Shape.EARLIEST)
    one = placed(tables, "one", crawling, steps((0, 1, 4)))
    room = make_room(tables, fixed(0.5, 1, 2), [one], now=T0)
    assert room is not None
    assert all(step.rate_bps >= 2 * MBPS for step in room.moved["one"])
    assert room.moved["one"][-1].end_us <= span(0, 6).end_us
    assert from_us(room.moved["one"][0].start_us) == T0
