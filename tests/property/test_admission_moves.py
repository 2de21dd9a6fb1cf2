"""Moves keep every promise, and on one link they find a schedule exactly where a maximum flow does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import networkx
from hypothesis import given
from hypothesis import strategies as st

from slotcar.admission import Demand, ResourceId, SlotTables
from slotcar.admission.component import FixedRequest, PlacedTransfer
from slotcar.admission.deadline import Shape, Transfer
from slotcar.admission.moves import Room, make_room
from slotcar.admission.rates import Crossing, Profile, aligned, clipped, microbits, profile_demands
from slotcar.base.timebase import Window, to_us
from tests.support.examples import examples
from tests.unit.admission.simplex import Simplex
from tests.unit.admission.support import LINK, T0

#: A unit is 1 Mbit/s for ten minutes, as long as a slot of the linear program.
PART_US, MBPS, UNIT_BYTES, PARTS = 600_000_000, 1_000_000, 75_000_000, 6
NAMES = (LINK, ResourceId("sls", "a"), ResourceId("if", "r2:eth1", "out:ip-premium"))
BEFORE_IT = Window.of_us(to_us(T0), to_us(T0) + 100 * PART_US)


def span(start: int, end: int) -> Window:
    return Window.of_us(to_us(T0) + start * PART_US, to_us(T0) + end * PART_US)


@st.composite
def transfers(draw: st.DrawFn, resources: st.SearchStrategy[list[ResourceId]], headers: bool = False) -> Transfer:
    start = draw(st.integers(0, PARTS - 2) | st.just(0))
    end = draw(st.integers(start + 2, PARTS))
    at_most = draw(st.integers(1, 2))
    crossings = [Crossing(name, 1066, 1000) if headers else Crossing(name) for name in draw(resources)]
    return Transfer(
        volume_bytes=draw(st.integers(1, max(1, at_most * (end - start) // 2))) * UNIT_BYTES,
        window=span(start, end),
        crossings=tuple(crossings),
        at_least_bps=draw(st.sampled_from([0, 0, MBPS // 3])) if headers else 0,
        at_most_bps=at_most * MBPS,
        shape=draw(st.sampled_from((Shape.EARLIEST, *Shape))),
    )


def has_a_schedule(wanted: Sequence[Transfer], capacity: int, reserved: Sequence[int]) -> bool:
    """Transfers to parts of time to the link, in units (Horn): the flow is all that was asked."""
    graph = networkx.DiGraph()
    for number, one in enumerate(wanted):
        graph.add_edge("all", ("t", number), capacity=one.volume_bytes // UNIT_BYTES)
        for part in range(PARTS):
            if one.window.contains(span(part, part + 1).start):
                graph.add_edge(("t", number), ("p", part), capacity=one.at_most_bps // MBPS)
    for part in range(PARTS):
        graph.add_edge(("p", part), "link", capacity=max(0, capacity - reserved[part]))
    return networkx.maximum_flow_value(graph, "all", "link") == sum(one.volume_bytes // UNIT_BYTES for one in wanted)


@examples(10, 40)
@given(
    st.integers(1, 3),
    st.lists(st.sampled_from([0, 0, 0, 1, 2]), min_size=PARTS, max_size=PARTS),
    st.lists(transfers(st.just([LINK])), min_size=4, max_size=7),
)
def test_on_one_link_a_request_is_refused_exactly_where_no_flow_is(
    capacity: int, reserved: list[int], wanted: list[Transfer]
) -> None:
    tables = SlotTables({LINK: capacity * MBPS})
    for part, units in enumerate(reserved):
        tables.add([Demand.constant(LINK, min(units, capacity) * MBPS)], [span(part, part + 1)])
    live: list[PlacedTransfer] = []
    for number, one in enumerate(wanted):
        room = make_room(tables, one, live, now=T0, frozen=timedelta(0), solver=Simplex())
        assert (room is not None) == has_a_schedule([*(each.transfer for each in live), one], capacity, reserved)
        if room is not None:
            live = applied(tables, live, room)
            tables.add(*profile_demands(one.crossings, room.profile))
            live.append(PlacedTransfer(f"t{number}", one, room.profile))
            check(tables, live)


def applied(tables: SlotTables, live: Sequence[PlacedTransfer], room: Room) -> list[PlacedTransfer]:
    """As one transaction does it: all out, all in."""
    for one in live:
        if one.handle in room.moved:
            tables.remove(*profile_demands(one.transfer.crossings, one.profile))
    after = []
    for one in live:
        profile = room.moved.get(one.handle, one.profile)
        if one.handle in room.moved:
            tables.add(*profile_demands(one.transfer.crossings, profile))
        after.append(PlacedTransfer(one.handle, one.transfer, profile))
    return after


def check(tables: SlotTables, live: Sequence[PlacedTransfer]) -> None:
    for resource in tables.resources:
        assert tables.peak(resource, BEFORE_IT) <= tables.capacity(resource)
    for one in live:
        assert microbits(one.profile) >= one.transfer.microbits
        assert one.profile[0].start_us >= one.transfer.window.start_us
        assert one.profile[-1].end_us <= one.transfer.window.end_us
        bounds = (max(1, one.transfer.at_least_bps), one.transfer.at_most_bps)
        assert all(bounds[0] <= step.rate_bps <= bounds[1] for step in one.profile)


def same(first: Profile, second: Profile) -> bool:
    return all(one == other for _, _, one, other in aligned(first, second))


some = st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True)
fixed_requests = st.builds(
    lambda start, length, units, names: FixedRequest(
        tuple(Demand.constant(name, units * MBPS) for name in names), (span(start, start + length),)
    ),
    st.integers(0, PARTS - 1),
    st.just(1),
    st.integers(1, 2),
    some,
)
FROZEN = timedelta(seconds=200)


@examples(10, 40)
@given(
    st.fixed_dictionaries({name: st.integers(2, 4).map(lambda units: units * MBPS) for name in NAMES}),
    st.lists(transfers(some, headers=True) | fixed_requests, min_size=4, max_size=10),
    st.booleans(),
)
def test_no_promise_is_broken_whatever_moves(
    capacities: dict[ResourceId, int], requests: list[Transfer | FixedRequest], solves: bool
) -> None:
    tables, live = SlotTables(capacities), list[PlacedTransfer]()
    border_us = to_us(T0 + FROZEN)
    for number, one in enumerate(requests):
        solver = Simplex() if solves else None
        before = [tables.steps(name, BEFORE_IT) for name in NAMES]
        room = make_room(tables, one, live, now=T0, frozen=FROZEN, solver=solver)
        assert [tables.steps(name, BEFORE_IT) for name in NAMES] == before
        if room is None:
            continue
        for old in live:
            new = room.moved.get(old.handle, old.profile)
            assert same(clipped(old.profile, 0, border_us), clipped(new, 0, border_us)), "what is near stays"
        live = applied(tables, live, room)
        if isinstance(one, Transfer):
            tables.add(*profile_demands(one.crossings, room.profile))
            live.append(PlacedTransfer(f"t{number}", one, room.profile))
        else:
            tables.add(one.demands, one.windows)
        check(tables, live)
