"""Groups in the ledger: all members or none, one state, whatever is done to it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from slotcar.admission import Demand, ResourceId, capacities
from slotcar.admission.resource_id import managed_resource
from slotcar.ledger import Ledger
from slotcar.ledger.errors import ForbiddenTransition, PlanNotAdmitted, StaleVersion, UnknownHandle
from slotcar.ledger.groups import ApproveGroup, CancelGroup, CommitGroup, RejectGroup, state_of, version_of
from slotcar.ledger.model import AdmissionRequest, Entry, State, Terms
from slotcar.planning.routing import route
from slotcar.policy.endpoints import endpoint_owners
from slotcar.policy.errors import EndpointNotAllowed
from slotcar.policy.gate import Gate
from slotcar.policy.policy import Policy
from slotcar.reservation.model import Claim, Endpoint, Membership, Reservation
from slotcar.timebase import UTC, Window
from slotcar.vocabulary import Protocol, Service
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
    return ledger.apply(requests, NOW, actor="me")


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
    assert states(ledger.on_group(CommitGroup(NOW, group, "me"))) == {State.COMMITTED}
    with pytest.raises(ForbiddenTransition):
        ledger.on_group(CommitGroup(NOW, group, "me"))
    cancelled = ledger.on_group(CancelGroup(NOW, group, "me"))
    assert states(cancelled) == {State.CANCELLED}
    assert state_of(cancelled) is State.CANCELLED
    assert peak(ledger, CORES) == 0
    with pytest.raises(UnknownHandle):
        ledger.on_group(CancelGroup(NOW, "g-nothere", "me"))


def test_what_somebody_saw_is_done_and_nothing_that_came_since(ledger: Ledger) -> None:
    set_terms(ledger, Gate(rate_bps=500_000))
    waiting = reserve(ledger)
    group, seen = waiting[0].group or "", version_of(waiting)
    with pytest.raises(StaleVersion, match=f"{group} is at version {seen}, not {seen - 1}"):
        ledger.on_group(ApproveGroup(NOW, group, "operator", expected_version=seen - 1))
    assert states(ledger.members(group)) == {State.AWAITING_APPROVAL}
    approved = ledger.on_group(ApproveGroup(NOW, group, "operator", expected_version=seen))
    assert states(approved) == {State.COMMITTED}
    assert version_of(approved) > seen


@pytest.mark.parametrize(("change", "after"), [(ApproveGroup, State.COMMITTED), (RejectGroup, State.REJECTED)])
def test_all_members_wait_where_one_is_above_the_gate(
    ledger: Ledger, change: type[ApproveGroup], after: State
) -> None:
    """A line of 1 Mbit/s is; its cores have no rate, and wait with it."""
    set_terms(ledger, Gate(rate_bps=500_000))
    waiting = reserve(ledger)
    assert states(waiting) == {State.AWAITING_APPROVAL}
    assert states(ledger.on_group(change(NOW, waiting[0].group or "", "operator"))) == {after}


def test_a_group_of_the_same_name_is_another_once_the_first_is_over(ledger: Ledger) -> None:
    first = reserve(ledger)[0].group or ""
    ledger.on_group(CancelGroup(NOW, first, "me"))
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
        ledger.apply([request], NOW, actor="me")
