"""A host gives a group its cores and does not bind a process that is gone: the member alone has failed, and its
`on_failure` says what becomes of the group."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from slotcar.admission import Demand, capacities
from slotcar.admission.resource_id import managed_resource
from slotcar.base.timebase import UTC, Window
from slotcar.base.vocabulary import OnFailure, Protocol, Service
from slotcar.book.applying import ApplyPlan
from slotcar.book.model import AdmissionRequest, Entry, State, Terms
from slotcar.book.timeline import active_at
from slotcar.platforms.model import RefusedPart
from slotcar.reservation.model import ANY_ACCOUNT, Claim, Endpoint, Membership, Reservation
from slotcar.rollout.withholding import Withholding
from slotcar.store import Ledger
from tests.support.networks import line_network

NOW = datetime(2027, 3, 1, 20, tzinfo=UTC)
WINDOW = Window(NOW + timedelta(hours=1), NOW + timedelta(hours=2))
DURING = WINDOW.start + timedelta(minutes=1)
CORES = managed_resource("cpu", "dst")
NETWORK = line_network()
NO_SUCH_PROCESS = "this host has no process 4711, and is not bound"


@pytest.fixture(autouse=True)
def terms(ledger: Ledger) -> None:
    ledger.set_terms(Terms(capacities(NETWORK) | {CORES: 4000}, NETWORK.sls))


def member(name: str, process: int, on_failure: OnFailure) -> AdmissionRequest:
    place = Endpoint(host="dst")
    request = Reservation.constant(
        windows=[WINDOW], rate_bps=0, name=f"g.{name}", owner="hep", protocol=Protocol.TCP,
        service=Service.BEST_EFFORT, source=place, destination=place,
        together=Membership(group="g", on_failure=on_failure),
        claim=Claim(
            kind="cpu", place="dst", request={"host": "dst", "cores": 1, "bind": {"process": process}},
            accounts=(ANY_ACCOUNT,),
        ),
    )  # fmt: skip
    return AdmissionRequest(request, (), (Demand.constant(CORES, 1000),), "me")


def group_of(ledger: Ledger, on_failure: OnFailure) -> tuple[Entry, Entry]:
    """A member whose process is there, and one whose process is gone."""
    present, absent = ledger.run(
        ApplyPlan.of([member("there", 4710, on_failure), member("gone", 4711, on_failure)], NOW, actor="me")
    )
    assert present.group
    assert present.group == absent.group
    return present, absent


def failures(ledger: Ledger) -> list[tuple[str | None, object]]:
    events = [event for event in ledger.events(limit=100) if event.kind == "group.member-failed"]
    return [(event.handle, event.details["message"]) for event in events]


@pytest.mark.parametrize(
    ("on_failure", "states"),
    [
        (OnFailure.END_ALL, (State.CANCELLED, State.CANCELLED)),
        (OnFailure.GO_ON, (State.COMMITTED, State.CANCELLED)),
        (OnFailure.REPORT, (State.COMMITTED, State.COMMITTED)),
    ],
)
def test_the_member_alone_has_failed_and_is_reported_once(
    ledger: Ledger, on_failure: OnFailure, states: tuple[State, State]
) -> None:
    present, absent = group_of(ledger, on_failure)
    active = active_at(ledger.live_between(NOW), DURING)
    part = RefusedPart(absent.group or "", "process:4711", NO_SUCH_PROCESS)
    for leader in (Withholding(ledger), Withholding(ledger)):  # the second one took the lead since
        leader.record_refused(active, {"dst": [part]}, DURING)
        leader.record_refused(active, {"dst": [part]}, DURING)
    words = f"g.gone was given without process:4711 on dst: {NO_SUCH_PROCESS}: {on_failure.value}"
    assert failures(ledger) == [(absent.handle, words)]
    assert tuple(entry.state for one in (present, absent) if (entry := ledger.get(one.handle))) == states


@pytest.mark.parametrize(
    ("device", "handle", "part"),
    [("src", "", "process:4711"), ("dst", "g-other", "process:4711"), ("dst", "", "process:4712")],
)
def test_what_is_another_hosts_groups_or_requests_is_not_this_ones(
    ledger: Ledger, device: str, handle: str, part: str
) -> None:
    _, absent = group_of(ledger, OnFailure.END_ALL)
    active = active_at(ledger.live_between(NOW), DURING)
    refused = RefusedPart(handle or absent.group or "", part, NO_SUCH_PROCESS)
    Withholding(ledger).record_refused(active, {device: [refused]}, DURING)
    assert failures(ledger) == []
