"""Groups in the ledger: all members or none, one state, whatever is done to it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from slotcar.admission import Demand, ResourceId, capacities
from slotcar.admission.resource_id import managed_resource
from slotcar.base.timebase import UTC, Window
from slotcar.base.vocabulary import Protocol, Service
from slotcar.book.applying import ApplyPlan
from slotcar.book.errors import ForbiddenTransition, PlanNotAdmitted, StaleVersion, UnknownHandle
from slotcar.book.groups import ApproveGroup, CancelGroup, CommitGroup, RejectGroup
from slotcar.book.model import AdmissionRequest, Entry, State, Terms, state_of, version_of
from slotcar.book.operation import Move
from slotcar.book.rules.endpoints import endpoint_owners
from slotcar.book.rules.errors import EndpointNotAllowed
from slotcar.book.rules.gate import Gate
from slotcar.book.rules.policy import Policy
from slotcar.planning.routing import route
from slotcar.reservation.model import Claim, Endpoint, Membership, Reservation
from slotcar.store import Ledger, group_queries
from slotcar.store.group_queries import GroupFilter
from tests.support.networks import line_network

NOW = datetime(2027, 3, 1, 20, tzinfo=UTC)
WINDOW = Window(NOW + timedelta(hours=1), NOW + timedelta(hours=2))
CORES = managed_resource("cpu", "dst")
NETWORK = line_network()


@pytest.fixture(autouse=True)
def terms(ledger: Ledger) -> None:
    set_terms(ledger, Gate())


def set_terms(ledger: Ledger, gate: Gate) -> None:
    ledger.set_terms(Terms(capacities(NETWORK) | {CORES: 4000}, NETWORK.sls, Policy(gate=gate)))


def flow(group: str = "g", rate_bps: int = 1_000_000, **more: Any) -> Reservation:
    ends = {"source": Endpoint(host="src"), "destination": Endpoint(host="dst")}
    return Reservation.constant(
        windows=[WINDOW], rate_bps=rate_bps, name=f"{group}.line", owner="hep", protocol=Protocol.UDP,
        service=Service.IP_PREMIUM, together=Membership(group=group), **ends, **more,
    )  # fmt: skip


def cores(group: str = "g") -> Reservation:
    place = Endpoint(host="dst")
    return Reservation.constant(
        windows=[WINDOW], rate_bps=0, name=f"{group}.cores", owner="hep", protocol=Protocol.TCP,
        service=Service.BEST_EFFORT, source=place, destination=place, together=Membership(group=group),
        claim=Claim(kind="cpu", place="dst", request={"host": "dst", "cores": 1}),
    )  # fmt: skip


def reserve(ledger: Ledger, group: str = "g", millicores: int = 1000, **how: Any) -> tuple[Entry, ...]:
    line = route(flow(group), NETWORK)
    demand = Demand.constant(CORES, millicores)
    requests = [
        AdmissionRequest(line.reservation, line.paths, line.demands, "me", **how),
        AdmissionRequest(cores(group), (), (demand,), "me", **how),
    ]
    return ledger.run(ApplyPlan.of(requests, NOW, actor="me"))


def peak(ledger: Ledger, resource: ResourceId) -> int:
    answer, _ = ledger.ask(lambda tables: tables.peak(resource, WINDOW), NOW)
    return answer


def states(entries: tuple[Entry, ...]) -> set[State]:
    return {entry.state for entry in entries}


def test_members_have_one_handle_and_are_read_back(ledger: Ledger) -> None:
    entries = reserve(ledger)
    (group,) = {entry.group for entry in entries}
    assert group is not None
    assert group.startswith("g-")
    assert ledger.members(group) == entries
    assert ledger.find_group("hep", "g") == group
    assert ledger.find_group("hep", "other") is None
    assert entries[1].devices == {"dst"}
    assert peak(ledger, CORES) == 1000


def test_none_is_admitted_where_one_has_no_room(ledger: Ledger) -> None:
    with pytest.raises(PlanNotAdmitted, match=r"hep/g\.cores: .*5 cores requested, 4 cores free of 4 cores"):
        reserve(ledger, millicores=5000)
    assert ledger.find_group("hep", "g") is None
    assert peak(ledger, CORES) == 0


def test_what_is_done_to_a_group_is_done_to_each_member(ledger: Ledger) -> None:
    held = reserve(ledger, hold_until=NOW + timedelta(minutes=15))
    group = held[0].group or ""
    assert states(held) == {State.HELD}
    assert states(ledger.run(CommitGroup(NOW, group, "me"))) == {State.COMMITTED}
    with pytest.raises(ForbiddenTransition):
        ledger.run(CommitGroup(NOW, group, "me"))
    cancelled = ledger.run(CancelGroup(NOW, group, "me"))
    assert states(cancelled) == {State.CANCELLED}
    assert state_of(cancelled) is State.CANCELLED
    assert peak(ledger, CORES) == 0
    with pytest.raises(UnknownHandle):
        ledger.run(CancelGroup(NOW, "g-nothere", "me"))


@pytest.mark.parametrize("change", [CommitGroup, CancelGroup])
def test_a_group_whose_hold_ran_out_is_over_before_anybody_swept_it_away(
    ledger: Ledger, change: type[CommitGroup | CancelGroup]
) -> None:
    until = NOW + timedelta(minutes=15)
    group = reserve(ledger, hold_until=until)[0].group or ""
    with pytest.raises(ForbiddenTransition):
        ledger.run(change(until, group, "me"))


def test_what_somebody_saw_is_done_and_nothing_that_came_since(ledger: Ledger) -> None:
    set_terms(ledger, Gate(rate_bps=500_000))
    waiting = reserve(ledger)
    group, version = waiting[0].group or "", version_of(waiting)
    with pytest.raises(StaleVersion, match=f"{group} is at version {version}, not {version - 1}"):
        ledger.run(ApproveGroup(NOW, group, "operator", expected_version=version - 1))
    assert states(ledger.members(group)) == {State.AWAITING_APPROVAL}
    approved = ledger.run(ApproveGroup(NOW, group, "operator", expected_version=version))
    assert states(approved) == {State.COMMITTED}
    assert version_of(approved) > version


@pytest.mark.parametrize(("change", "after"), [(ApproveGroup, State.COMMITTED), (RejectGroup, State.REJECTED)])
def test_all_members_wait_where_one_is_above_the_gate(
    ledger: Ledger, change: type[ApproveGroup | RejectGroup], after: State
) -> None:
    """A line of 1 Mbit/s is; its cores have no rate, and wait with it."""
    set_terms(ledger, Gate(rate_bps=500_000))
    waiting = reserve(ledger)
    assert states(waiting) == {State.AWAITING_APPROVAL}
    assert states(ledger.run(change(NOW, waiting[0].group or "", "operator"))) == {after}


def test_a_group_of_the_same_name_is_another_once_the_first_is_over(ledger: Ledger) -> None:
    first = reserve(ledger)[0].group or ""
    ledger.run(CancelGroup(NOW, first, "me"))
    second = reserve(ledger)[0].group
    assert second != first
    assert ledger.find_group("hep", "g") == second


def test_a_claim_is_for_the_owners_of_its_host(ledger: Ledger) -> None:
    """As its address is: whoever may not send to a host has none of its cores either."""
    host = NETWORK.hosts["dst"].model_copy(update={"owners": ("astro",)})
    owned = NETWORK.model_copy(update={"hosts": NETWORK.hosts | {"dst": host}})
    policy = Policy(endpoints=endpoint_owners(owned))
    ledger.set_terms(Terms(capacities(NETWORK) | {CORES: 4000}, NETWORK.sls, policy))
    request = AdmissionRequest(cores(), (), (Demand.constant(CORES, 1),), "me")
    with pytest.raises(EndpointNotAllowed, match="dst"):
        ledger.run(ApplyPlan.of([request], NOW, actor="me"))


# -- lists -----------------------------------------------------------------------------------------------------------


def listed(ledger: Ledger, **how: Any) -> list[str]:
    """Names of the groups."""
    groups = ledger.groups(GroupFilter(**how))
    assert all({one.group for one in members} == {members[0].group} for members in groups)
    return [one.reservation.together.group for one, *_ in groups if one.reservation.together]


def test_groups_are_listed_whole_in_the_order_of_their_first_members(ledger: Ledger) -> None:
    groups = {name: reserve(ledger, name, 100) for name in ("a", "b", "c", "d", "e")}
    assert listed(ledger) == ["a", "b", "c", "d", "e"]
    assert listed(ledger, newest=True, limit=2) == ["e", "d"]
    assert listed(ledger, newest=True, limit=2, after=groups["d"][0].number) == ["c", "b"]
    assert listed(ledger, limit=2, after=groups["b"][0].number) == ["c", "d"]
    assert ledger.groups(GroupFilter(limit=1)) == (ledger.members(groups["a"][0].group or ""),)
    assert listed(ledger, owner="hep", limit=1) == ["a"]
    assert listed(ledger, owner="astro") == []


def test_groups_are_listed_by_the_state_of_the_group(ledger: Ledger) -> None:
    """One of whose members one alone was cancelled is committed."""
    reserve(ledger, "held", 100, hold_until=NOW + timedelta(minutes=15))
    whole, over = reserve(ledger, "whole", 100), reserve(ledger, "over", 100)
    ledger.run(CancelGroup(NOW, over[0].group or "", "me"))
    ledger.run(Move(NOW, whole[1].handle, "me", to=State.CANCELLED))
    assert listed(ledger, states=[State.HELD]) == ["held"]
    assert listed(ledger, states=[State.COMMITTED]) == ["whole"]
    assert listed(ledger, states=[State.CANCELLED]) == ["over"]
    assert listed(ledger, states=[State.CANCELLED, State.HELD], newest=True) == ["over", "held"]
    assert listed(ledger, states=[State.REJECTED]) == []
    for members in ledger.groups(GroupFilter()):
        assert members in ledger.groups(GroupFilter(states=[state_of(members)]))


def test_groups_are_listed_by_time_half_open(ledger: Ledger) -> None:
    reserve(ledger, "g", 100)
    assert listed(ledger, since=WINDOW.start, until=WINDOW.end) == ["g"]
    assert listed(ledger, since=WINDOW.end) == []
    assert listed(ledger, until=WINDOW.start) == []


def test_many_groups_are_gone_through_in_their_order(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other of the two ways gives the same."""
    for name in ("a", "b", "c"):
        reserve(ledger, name, 100)
    few = [listed(ledger, **how) for how in LISTS]
    monkeypatch.setattr(group_queries, "MOST_SORTED", 1)
    assert [listed(ledger, **how) for how in LISTS] == few
    assert few[0] == ["c", "b"]


LISTS: tuple[dict[str, Any], ...] = (
    {"newest": True, "limit": 2}, {"owner": "hep"}, {"states": [State.COMMITTED]}, {"since": WINDOW.start, "limit": 1},
)  # fmt: skip


def test_to_approve_and_to_reject_needs_an_operator() -> None:
    assert {one: one.needs_operator for one in (CommitGroup, CancelGroup, ApproveGroup, RejectGroup)} == {
        CommitGroup: False, CancelGroup: False, ApproveGroup: True, RejectGroup: True,
    }  # fmt: skip
