"""Groups in a plan: all members or none, and what a refused group would have taken is others' to have."""

from __future__ import annotations

from slotcar.admission import SlotTables
from slotcar.book.rules.gate import Gate
from slotcar.book.rules.policy import Policy
from slotcar.planning.matching import Scope
from slotcar.planning.offline import forms_offline, shelf_offline
from slotcar.planning.plan import Plan, make_plan
from slotcar.planning.plan_file import plan_document
from slotcar.planning.platform_limits import PlatformLimits
from slotcar.planning.source import ReservationSource
from slotcar.planning.step import Action
from slotcar.reservation.model import Endpoint, Membership, Reservation
from tests.support.networks import line_network
from tests.support.requests import T0, reservation

NETWORK = line_network(sls_bps=40_000_000)
MBIT = 1_000_000
NO_GATE = Gate()


def member(group: str, name: str, rate_bps: int, port: int) -> Reservation:
    ends = {"destination": Endpoint(host="dst", port=port)}
    return reservation(f"{group}.{name}", rate_bps, 10, 20, together=Membership(group=group), **ends)


def planned(*wanted: Reservation, gate: Gate = NO_GATE) -> tuple[Plan, SlotTables]:
    source = ReservationSource(wanted, Scope("set", frozenset({"hep"})))
    shelf = shelf_offline(NETWORK, Policy(gate=gate), T0)
    forms = forms_offline(NETWORK, 1, PlatformLimits(NETWORK).condition)
    return make_plan(source, shelf, forms, now=T0, sequence=0), shelf.tables(0)


def test_of_a_refused_group_nothing_is_created_and_nothing_is_taken() -> None:
    group = member("g", "small", 20 * MBIT, 1), member("g", "large", 900 * MBIT, 2), member("g", "last", MBIT, 3)
    alone = reservation("alone", 30 * MBIT, 10, 20, destination=Endpoint(host="dst", port=4))
    plan, tables = planned(*group, alone)
    assert [step.refusal is not None for step in plan.steps] == [True, True, True, False]
    assert plan.count(Action.CREATE) == 1
    small, large, _, _ = (step.refusal for step in plan.steps)
    assert small is not None
    assert small.reason == "it goes with its group, of which there is no room for hep/g.large"
    assert large is not None
    assert large.shortfalls
    _, without = planned(alone)
    first = alone.windows[0]
    assert all(tables.steps(one, first) == without.steps(one, first) for one in tables.resources)
    assert plan_document(plan)["summary"]["refused"] == 3


def test_a_group_that_fits_is_created_whole_beside_one_that_does_not() -> None:
    wanted = [member(group, name, rate_bps * MBIT, number) for number, (group, name, rate_bps) in enumerate(
        [("a", "x", 15), ("a", "y", 30), ("b", "x", 15), ("b", "y", 15)], 1
    )]  # fmt: skip
    plan, _ = planned(*wanted)
    assert [(step.key[1], step.refusal is None) for step in plan.steps] == [
        ("a.x", False), ("a.y", False), ("b.x", True), ("b.y", True),
    ]  # fmt: skip


def test_all_new_members_of_a_group_wait_where_one_is_above_the_gate() -> None:
    group = member("g", "small", MBIT, 1), member("g", "large", 10 * MBIT, 2)
    alone = reservation("alone", MBIT, 10, 20, destination=Endpoint(host="dst", port=4))
    plan, _ = planned(*group, alone, gate=Gate(rate_bps=5 * MBIT))
    assert [step.waits for step in plan.steps] == [True, True, False]
