"""Owners' flows and end systems over HTTP: nobody takes what is another owner's, whichever way in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from slotcar.base.settings import Settings
from slotcar.base.timebase import iso
from slotcar.book.rules.errors import EndpointNotAllowed
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk
from slotcar.desk.requests import Options, Requests
from slotcar.desk.reservations import approve, commit, extend
from slotcar.network.model import Network
from slotcar.reservation import from_mapping
from slotcar.store import Ledger
from slotcar_client.wire import verbs
from tests.integration.api.conftest import (
    GARNET,
    START,
    at,
    body,
    created,
    problem,
)
from tests.integration.api.rights.conftest import World, owned, patched

HOUR = timedelta(hours=1)


SPECIFIC = {"source": "anl-premium:4000", "destination": "lbnl-premium:5001", "rate": "8 kbit/s"}


@pytest.mark.parametrize(
    "theirs",
    [SPECIFIC, {"destination": "lbnl-premium"}, {"source": "10.20.11.2", "destination": "10.20.21.2:5001"}],
    ids=["more specific", "any port", "by address"],
)
def test_another_owners_packets_cannot_be_taken(world: World, theirs: dict[str, str]) -> None:
    created(world.hep, "secret-name")
    document = problem(world.astro.post("/v1/reservations", json=body(owner=None, **theirs)), 409, "flow-taken")
    assert "another owner's reservation" in document["detail"]
    assert not any(word in document["detail"] for word in ("secret-name", "hep", "r-", "Z"))
    named = world.operator.post("/v1/reservations", json=body(owner="astro", **theirs))
    assert "the reservation hep/secret-name" in problem(named, 409, "flow-taken")["detail"]


def test_the_same_owner_may_have_overlapping_flows(world: World) -> None:
    created(world.hep)
    assert created(world.hep, "specific", **SPECIFIC)["state"] == "committed"


@pytest.mark.parametrize(
    "apart",
    [
        {"start": iso(START + 2 * HOUR)},
        {"start": iso(START - HOUR), "duration": "PT1H"},
        {"destination": "lbnl-premium:5002"},
        {"protocol": "tcp"},
        {"direction": "reverse"},
        {"destination": "anl-competing-sink:5001", "source": "lbnl-premium"},
    ],
    ids=["after", "before", "port", "protocol", "direction", "hosts"],
)
def test_flows_without_a_packet_or_an_instant_in_common_are_free(world: World, apart: dict[str, str]) -> None:
    created(world.hep)
    assert created(world.astro, "beside", owner=None, **apart)["state"] == "committed"


def test_no_way_in_leads_to_another_owners_packets(world: World) -> None:
    created(world.hep)
    mine = {"owner": None, "destination": "lbnl-premium:5002"}
    early = created(world.astro, "early", owner=None, start=iso(START - HOUR), duration="PT1H")
    other_port = created(world.astro, "port", **mine)
    longer = world.astro.patch(at(early), json={"duration": "61 min"}, headers={"If-Match": "*"})
    problem(longer, 409, "flow-taken")
    bound = world.astro.post(at(other_port, "bind"), json={"destination_port": 5001}, headers={"If-Match": "*"})
    problem(bound, 409, "flow-taken")
    theirs = {**body("port", owner="astro"), **SPECIFIC}
    problem(world.astro.post("/v1/plans", json={"version": 1, "reservations": [theirs]}), 409, "flow-taken")
    plan = world.astro.post(
        "/v1/plans", json={"version": 1, "reservations": [body("port", **mine | {"owner": "astro"})]}
    )
    edited = plan.json()
    step = edited["steps"][0]
    step["reservation"]["destination"]["port"], step["action"] = 5001, "change"
    problem(world.astro.post("/v1/applies", json=edited), 409, "flow-taken")
    held = world.astro.post("/v1/reservations", json=body(owner=None), params={"hold": "PT5M"})
    problem(held, 409, "flow-taken")


def test_a_change_that_waits_has_its_packets_already(world: World) -> None:
    entry = created(world.hep)
    patched(world.hep, entry, duration="6 h")
    late = body(owner=None, start=iso(START + 5 * HOUR))
    problem(world.astro.post("/v1/reservations", json=late), 409, "flow-taken")
    world.operator.post(at(entry, "reject")).raise_for_status()
    assert world.astro.post("/v1/reservations", json=late).status_code == 201


def test_recurrences_are_compared_slot_by_slot(world: World) -> None:
    daily = {"recurrence": "FREQ=DAILY;COUNT=2", "duration": "PT1H"}
    created(world.hep, **daily)
    between = body(owner=None, **daily | {"start": iso(START + HOUR)})
    assert world.astro.post("/v1/reservations", json=between).status_code == 201
    other = body("other", owner=None, start=iso(START + timedelta(days=1, minutes=59)))
    problem(world.astro.post("/v1/reservations", json=other), 409, "flow-taken")


def test_what_is_over_or_given_back_claims_nothing(world: World) -> None:
    entry = created(world.hep)
    world.hep.post(at(entry, "cancel")).raise_for_status()
    assert created(world.astro, owner=None)["state"] == "committed"


def test_a_reservation_reads_back_with_its_change(world: World) -> None:
    entry = patched(world.hep, created(world.hep, rate="1 Mbit/s"), rate="24 Mbit/s")
    assert world.hep.get(at(entry)).json() == entry
    kinds = [
        one["kind"]
        for one in world.operator.get("/v1/events", params={"reservation": entry["handle"]}).json()["items"]
    ]
    assert kinds == ["reservation.committed", "reservation.change-proposed"]


def test_an_end_system_is_its_owners_by_name_and_by_address_whichever_way_in(world: World, network: Network) -> None:
    address = str(network.hosts["lbnl-competing"].address)
    for host in ("lbnl-competing", address):
        for client in (world.astro, world.operator):
            wanted = body("taken", owner="astro", destination=f"{host}:6001")
            for hold in ({}, {"hold": "PT5M"}):
                answer = client.post("/v1/reservations", json=wanted, params=hold)
                document = problem(answer, 403, "endpoint-not-allowed")
                assert f"does not let owner astro reserve from or to {host}" in document["detail"]
            file = {"version": 1, "reservations": [wanted]}
            problem(client.post("/v1/plans", json=file), 403, "endpoint-not-allowed")
        back = body("taken", owner="astro", source=host, destination="anl-premium")
        problem(world.astro.post("/v1/reservations", json=back), 403, "endpoint-not-allowed")
    assert created(world.hep, destination="lbnl-competing:6001")["state"] == "committed"
    mine = body("mine", owner="astro", destination="lbnl-premium:6001")
    plan = world.astro.post("/v1/plans", json={"version": 1, "reservations": [mine]}).json()
    plan["steps"][0]["reservation"]["destination"]["host"] = address
    problem(world.astro.post("/v1/applies", json=plan), 403, "endpoint-not-allowed")


@pytest.mark.slow
def test_a_hold_from_before_the_inventory_named_owners_is_neither_kept_on_nor_committed(
    ledger: Ledger, network: Network, tmp_path: Path
) -> None:
    now, caller = datetime.now(UTC), Caller("astro", Role.REQUESTER, "astro")
    settings = Settings(state_dir=tmp_path, inventory=GARNET, approval_rate_bps="20 Mbit/s")
    wanted = {**body(owner="astro", destination="lbnl-competing:6001"), "start": iso(START)}
    before = Desk(ledger, network, settings)
    held = Requests(before).create(from_mapping(wanted, now), caller, now, Options(hold=HOUR))
    waiting = Requests(before).create(from_mapping({**wanted, "name": "waits", "rate": "21 Mbit/s"}, now), caller, now)
    after = Desk(ledger, owned(network), settings)
    with pytest.raises(EndpointNotAllowed):
        commit(verbs.Commit(held.handle), after, caller, now)
    with pytest.raises(EndpointNotAllowed):
        extend(verbs.Extend(held.handle, "2 h"), after, caller, now)
    with pytest.raises(EndpointNotAllowed):
        Requests(after).bind(held.handle, caller, now, source_port=4000)
    with pytest.raises(EndpointNotAllowed):
        approve(verbs.Approve(waiting.handle, 1), after, Caller("ops", Role.OPERATOR), now)
