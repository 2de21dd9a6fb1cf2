"""More than one path (ADR 25): where the shortest is full the next ones are tried, and what was chosen stays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from slotcar.admission.resource_id import interface_resource
from slotcar.base.problems import InvalidInput
from slotcar.base.settings import Settings
from slotcar.base.timebase import iso
from slotcar.base.vocabulary import Service
from slotcar.book.model import Entry
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries
from slotcar.desk.files import ReservationFiles
from slotcar.desk.grouping import Groups
from slotcar.desk.requests import Options, Requests
from slotcar.desk.reservations import cancel, commit
from slotcar.network.model import InterfaceId, Network
from slotcar.network.path import Path as FoundPath
from slotcar.network.path import find_paths
from slotcar.planning import routing, source
from slotcar.planning.errors import RefusedByAdmission, StalePlan
from slotcar.planning.modification import Modification
from slotcar.planning.plan_file import plan_document, plan_of_document
from slotcar.planning.routing import RoutedReservation
from slotcar.planning.source import members_of_groups, read_source, source_of_body
from slotcar.policy.policies import Policies
from slotcar.policy.site import Site
from slotcar.policy.statements import Source
from slotcar.reservation import from_mapping
from slotcar.reservation.model import Reservation
from slotcar.store import Ledger
from slotcar_client.wire import verbs
from tests.integration.api.conftest import START
from tests.support.halves import decisions
from tests.support.narrow_datagrid import DATAGRID, MBIT, narrow_datagrid

OPERATOR = Caller(name="ops", role=Role.OPERATOR)
NOW = START - timedelta(hours=1)
#: From CERN to INFN: directly, over Germany, and round over France, Britain and the Netherlands.
DIRECT = ("geant-ch", "geant-it")
OVER_DE = ("geant-ch", "geant-de", "geant-it")


@pytest.fixture(scope="module")
def narrow() -> Network:
    return narrow_datagrid()


@pytest.fixture
def desk(ledger: Ledger, narrow: Network, tmp_path: Path) -> Desk:
    return Desk(ledger, narrow, Settings(state_dir=tmp_path, inventory=DATAGRID, paths=3))


def document_of(name: str, rate: str | None, **more: Any) -> dict[str, Any]:
    usual = {
        "name": name, "owner": "eo", "source": "cern-ce", "destination": "infn-se", "protocol": "udp", "rate": rate,
        "service": "ip-premium", "start": iso(START), "duration": "PT2H",
    }  # fmt: skip
    return {key: value for key, value in (usual | more).items() if value is not None}


def admitted(desk: Desk, name: str, rate: str | None, **more: Any) -> Entry:
    return Requests(desk).create(from_mapping(document_of(name, rate, **more), NOW), OPERATOR, NOW)


def geant(entry: Entry | RoutedReservation) -> tuple[str, ...]:
    """Which of the backbone's routers it crosses."""
    return tuple(hop.device for hop in entry.paths[0].hops if hop.device.startswith("geant-"))


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the reservations for which the shortest path is searched."""
    names: list[str] = []

    def find(reservation: Reservation, network: Network) -> Sequence[FoundPath]:
        names.append(reservation.name)
        return find_paths(reservation, network)

    for module in (routing, source):
        monkeypatch.setattr(module, "find_paths", find)
    return names


def test_the_next_path_is_taken_where_the_shortest_is_full(desk: Desk, ledger: Ledger) -> None:
    first, second = admitted(desk, "first", "30 Mbit/s"), admitted(desk, "second", "30 Mbit/s")
    assert (geant(first), geant(second)) == (DIRECT, OVER_DE)
    kept = ledger.get(second.handle)
    assert kept is not None
    assert kept.paths == second.paths
    assert {one.resource for one in kept.demands} == {one.resource for one in second.demands}


def test_one_path_is_all_that_is_tried_unless_it_is_said(desk: Desk, ledger: Ledger, narrow: Network) -> None:
    single = Desk(ledger, narrow, Settings(inventory=DATAGRID))
    admitted(single, "first", "30 Mbit/s")
    with pytest.raises(RefusedByAdmission) as refused:
        admitted(single, "second", "30 Mbit/s")
    assert (refused.value.refused.paths_tried, refused.value.refused.path) == (1, ())
    assert "paths were tried" not in str(refused.value)


def test_a_refusal_says_what_the_best_path_lacks(desk: Desk) -> None:
    admitted(desk, "first", "30 Mbit/s")
    with pytest.raises(RefusedByAdmission, match="3 paths were tried; the best of them is") as refused:
        admitted(desk, "second", "90 Mbit/s")
    numbers = refused.value.refused
    assert numbers.paths_tried == 3
    assert "geant-de" in numbers.path
    best = admitted(desk, "best", f"{numbers.highest_rate_bps} bit/s")
    assert tuple(hop.device for hop in best.paths[0].hops) == numbers.path


def test_routers_that_are_pinned_are_crossed_on_every_path(desk: Desk) -> None:
    admitted(desk, "first", "30 Mbit/s")
    assert "geant-uk" in geant(admitted(desk, "pinned", "30 Mbit/s", via=["geant-uk"]))
    with pytest.raises(RefusedByAdmission) as refused:
        admitted(desk, "large", "90 Mbit/s", via=["geant-de"])
    assert "geant-de" in refused.value.refused.path


def test_a_change_stays_on_its_path(desk: Desk) -> None:
    first, second = admitted(desk, "first", "30 Mbit/s"), admitted(desk, "second", "30 Mbit/s")
    cancel(verbs.Cancel(first.handle), desk, OPERATOR, NOW)
    changed = Requests(desk).modify(second.handle, Modification(rate_bps=20 * MBIT), OPERATOR, NOW)
    assert geant(changed) == OVER_DE, "the shortest has room, and a flow that changes its path may lose packets"
    again = admitted(desk, "again", "45 Mbit/s")
    assert geant(again) == DIRECT
    assert geant(Requests(desk).modify(again.handle, Modification(rate_bps=60 * MBIT), OPERATOR, NOW)) == OVER_DE


def test_nobody_moves_while_another_path_has_room(desk: Desk, ledger: Ledger) -> None:
    volume = {"volume": "50 GB", "by": iso(START + timedelta(hours=3)), "at_most": "45 Mbit/s", "duration": None}
    moves = admitted(desk, "moves", None, start=iso(START), **volume)
    assert geant(moves) == DIRECT
    assert geant(admitted(desk, "beside", "30 Mbit/s", duration="PT10M")) == OVER_DE
    assert not ledger.events(kinds=["reservation.moved"])
    admitted(desk, "over-de", "20 Mbit/s", duration="PT10M")
    assert geant(admitted(desk, "third", "40 Mbit/s", duration="PT10M")) == DIRECT, "no path has room without a move"
    assert [one.handle for one in ledger.events(kinds=["reservation.moved"])] == [moves.handle]


def test_a_volume_that_no_path_could_carry_is_wrong(desk: Desk) -> None:
    by = iso(START + timedelta(hours=1))
    assert geant(admitted(desk, "de", None, volume="30 GB", by=by, duration=None)) == OVER_DE
    with pytest.raises(InvalidInput, match="can ever carry"):
        admitted(desk, "never", None, volume="300 GB", by=by, duration=None)


def test_a_hold_and_an_idempotency_key_keep_the_path(desk: Desk) -> None:
    admitted(desk, "first", "30 Mbit/s")
    options = Options(hold=timedelta(minutes=5), idempotency_key="once")
    twice = [
        Requests(desk).create(from_mapping(document_of("held", "30 Mbit/s"), NOW), OPERATOR, NOW, options)
        for _ in range(2)
    ]
    assert twice[0] == twice[1]
    commit(verbs.Commit(twice[0].handle), desk, OPERATOR, NOW)
    assert geant(Entries(desk).status(twice[0].handle, OPERATOR)) == OVER_DE


def test_a_plan_is_applied_along_its_own_paths(desk: Desk, ledger: Ledger, narrow: Network) -> None:
    wanted = {"version": 1, "reservations": [document_of("first", "30 Mbit/s"), document_of("second", "30 Mbit/s")]}
    plan = ReservationFiles(desk).plan(source_of_body(wanted, NOW, "run", 100), OPERATOR, NOW)
    assert ["takes the path" in step.note for step in plan.steps] == [False, True]
    document = plan_document(plan)
    hops = [[hop["device"] for hop in step["paths"][0]["hops"]] for step in document["steps"]]
    read = plan_of_document(document, "plan.json", "")
    with pytest.raises(StalePlan, match="none of the paths that are tried here"):
        ReservationFiles(Desk(ledger, narrow, Settings(inventory=DATAGRID))).apply(read, OPERATOR, NOW)
    elsewhere = plan_document(plan)
    elsewhere["steps"][0]["paths"][0]["hops"].pop(2)
    with pytest.raises(StalePlan, match="none of the paths that are tried here"):
        ReservationFiles(desk).apply(plan_of_document(elsewhere, "plan.json", ""), OPERATOR, NOW)
    assert not ledger.events(kinds=["reservation.committed"])
    entries = ReservationFiles(desk).apply(read, OPERATOR, NOW).entries
    assert [[hop.device for hop in entry.paths[0].hops] for entry in entries] == hops
    again = ReservationFiles(desk).plan(source_of_body(wanted, NOW, "run", 100), OPERATOR, NOW)
    assert again.changes_nothing


def test_an_enquiry_tells_of_the_path_with_the_most(desk: Desk) -> None:
    admitted(desk, "first", "30 Mbit/s")
    answer = Requests(desk).enquire(from_mapping(document_of("enquiry", "1 bit/s"), NOW), OPERATOR, NOW)
    [forward] = answer.directions
    assert "geant-de" in forward.routers
    assert geant(admitted(desk, "exactly", f"{forward.rate_bps} bit/s")) == OVER_DE


def test_no_link_is_exceeded_by_many_at_once(desk: Desk, ledger: Ledger, narrow: Network) -> None:
    def ask(number: int) -> bool:
        try:
            admitted(desk, f"many-{number}", "20 Mbit/s", destination=f"infn-se:{5000 + number}")
        except RefusedByAdmission:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(ask, range(12)))
    assert 0 < sum(done) < len(done)
    entries = ledger.live_between(START)
    for (device, name), service in {
        ((one.resource.place.split(":")[0], one.resource.place.partition(":")[2]), Service.IP_PREMIUM)
        for entry in entries
        for one in entry.demands
        if one.resource.kind == "if"
    }:
        port = InterfaceId(device=device, name=name)
        capacity = narrow.interface(port).share_bps(service)
        for way in ("in", "out"):
            resource = interface_resource(port, way, service)
            taken = sum(one.peak for entry in entries for one in entry.demands if one.resource == resource)
            assert taken <= capacity, resource


def test_the_shortest_path_is_searched_once_for_each_request(desk: Desk, searches: list[str]) -> None:
    for name, way in (("first", DIRECT), ("second", OVER_DE)):
        entry = admitted(desk, name, "30 Mbit/s")
        assert geant(entry) == way
        assert searches == [name]
        Requests(desk).modify(entry.handle, Modification(rate_bps=29 * MBIT), OPERATOR, NOW)
        assert searches == [name, name], "once for the change, too"
        searches.clear()


def test_the_shortest_path_is_searched_once_for_each_step_of_a_plan(
    desk: Desk, narrow: Network, searches: list[str], tmp_path: Path
) -> None:
    volume = {"volume": "30 GB", "by": iso(START + timedelta(hours=1)), "duration": None}
    documents = [document_of("a", "30 Mbit/s"), document_of("b", "30 Mbit/s"), document_of("de", None, **volume)]
    (tmp_path / "a.json").write_text(json.dumps({"version": 1, "reservations": documents[:2]}), encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps({"version": 1, "reservations": documents[2:]}), encoding="utf-8")
    read_source([tmp_path / "b.json"], NOW, narrow, most_paths=3)
    assert searches == ["de"], "which the shortest could never carry in time"
    searches.clear()
    plan = ReservationFiles(desk).plan(read_source([tmp_path / "a.json"], NOW, narrow, most_paths=3), OPERATOR, NOW)
    assert [step.routed and geant(step.routed) for step in plan.steps] == [DIRECT, OVER_DE]
    assert searches == ["a", "b"]
    ReservationFiles(desk).apply(plan_of_document(plan_document(plan), "plan", ""), OPERATOR, NOW)
    assert searches == ["a", "b", "a", "b"]


def test_the_paths_of_a_group_are_searched_once_for_each_member(desk: Desk, searches: list[str]) -> None:
    flow = {key: document_of("", "5 Mbit/s")[key] for key in ("source", "destination", "protocol", "rate", "service")}
    members = [{"name": name, "network": flow} for name in ("one", "two")]
    group = {"name": "g", "owner": "eo", "start": iso(START), "duration": "PT2H", "members": members}
    (entries,) = Groups(desk).create(members_of_groups([group], NOW, 100, desk.network), OPERATOR, NOW)
    assert [geant(entry) for entry in entries] == [DIRECT, DIRECT]
    assert searches == ["g.one", "g.two"]


@pytest.fixture
def policed(desk: Desk) -> Site:
    """A site with a policy that reads totals beside one that does not."""
    text = """
    @id("not-france") forbid (principal, action == Action::"reserve", resource in Link::"geant-fr:nowhere");
    @id("little") forbid (principal, action == Action::"reserve", resource) when { context.totals.owner.reservations > 9 };
    """
    site = Site(Policies([Source("site.cedar", text)]))
    terms = desk.ledger.terms
    reserving = replace(terms.policy.reserving, site=site)
    desk.ledger.set_terms(replace(terms, policy=replace(terms.policy, reserving=reserving)))
    return site


def test_policies_are_asked_by_halves_on_the_way_that_is_taken(
    desk: Desk, policed: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = decisions(desk.ledger, monkeypatch)
    caller = policed.caller("eo", Role.REQUESTER, "eo")
    ways = []
    for name, port in (("first", 6001), ("around", 6002)):
        document = document_of(name, "30 Mbit/s", destination=f"infn-se:{port}")
        ways.append(geant(Requests(desk).create(from_mapping(document, NOW), caller, NOW)))
    assert ways == [DIRECT, OVER_DE]
    assert noted.taken().keys() == {"first before", "second under"}


def test_a_plan_asks_policies_without_the_lock_and_its_apply_by_halves(
    desk: Desk, policed: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan looks for other ways where there is no room on the shortest; what it asks of these is asked of a copy of the
    ledger, for which nobody waits."""
    noted = decisions(desk.ledger, monkeypatch)
    caller = policed.caller("eo", Role.REQUESTER, "eo")
    documents = [
        document_of(name, "30 Mbit/s", destination=f"infn-se:{port}") for name, port in (("a", 6001), ("b", 6002))
    ]
    (tmp_path / "a.json").write_text(json.dumps({"version": 1, "reservations": documents}), encoding="utf-8")
    plan = ReservationFiles(desk).plan(
        read_source([tmp_path / "a.json"], NOW, desk.network, most_paths=3), caller, NOW
    )
    assert [step.routed and geant(step.routed) for step in plan.steps] == [DIRECT, OVER_DE]
    assert noted.taken() == {"whole before": 2}
    ReservationFiles(desk).apply(plan_of_document(plan_document(plan), "plan", ""), caller, NOW)
    assert noted.taken() == {"first before": 2, "second under": 2}
