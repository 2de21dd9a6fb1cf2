"""Whose processes a reservation of a host's cores may bind, whichever way it is asked for (ADR 48)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotcar.base.settings import Settings
from slotcar.book.groups import CommitGroup
from slotcar.book.rules.errors import BindNotAllowed
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk
from slotcar.desk.grouping import Groups
from slotcar.network.model import Device, Network
from slotcar.planning.source import members_of_groups
from slotcar.store import Ledger, open_ledger
from tests.integration.api.conftest import GARNET, START, Body, Running, problem
from tests.integration.api.rights.conftest import World
from tests.integration.conftest import copied

HOST, OPEN = "lbnl-premium", "lbnl-competing"


def with_cores(network: Network) -> Network:
    """Two hosts with cores: one of owner hep, to whom it gives an account, and one where nobody is named."""
    hosts, devices = dict(network.hosts), dict(network.devices)
    for name in (HOST, OPEN):
        devices[name] = Device(
            name=name, domain="lbnl", platform="linux-host", interfaces={}, resources={"cpu": {"": 64_000}}
        )
    accounts = {"hep": ("mover", "dtn")}
    hosts[HOST] = hosts[HOST].model_copy(update={"owners": ("hep", "astro"), "accounts": accounts})
    hosts[OPEN] = hosts[OPEN].model_copy(update={"accounts": accounts})
    return network.model_copy(update={"hosts": hosts, "devices": devices})


@pytest.fixture(scope="module")
def world(
    server_url: str, migrated: str, network: Network, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    state_dir, running = tmp_path_factory.mktemp("binding"), Running()
    settings = Settings(state_dir=state_dir, inventory=GARNET)
    with copied(server_url, migrated) as url, open_ledger(url, state_dir) as ledger:
        started = World(str(running.start(ledger, with_cores(network), settings).base_url), settings.tokens_path)
        yield started
        for client in (started.operator, started.hep, started.astro):
            client.close()
        running.stop()


def cores(bind: Body | None, host: str = HOST, name: str = "g", owner: str = "hep") -> Body:
    request = {"host": host, "cores": 1} | ({"bind": bind} if bind else {})
    moment = START.isoformat()
    return {
        "name": name, "owner": owner, "start": moment, "duration": "1 h", "members": [{"name": "cores", "cpu": request}]
    }  # fmt: skip


def file(group: Body) -> Body:
    return {"version": 1, "together": [group]}


def accounts_of(answer: Body) -> Any:
    return answer["members"][0]["reservation"]["claim"].get("accounts", [])


def given_back(client: httpx.Client, answer: Body) -> None:
    client.post(f"/v1/groups/{answer['handle']}/cancel").raise_for_status()


@pytest.mark.parametrize(
    ("bind", "host", "words"),
    [
        ({"user": "alice"}, HOST, "may not bind user alice: of lbnl-premium owner hep has the accounts mover, dtn"),
        ({"user": "mover"}, OPEN, "does not name owner hep among the owners of lbnl-competing"),
        ({"unit": "httpd.service"}, OPEN, "may not bind unit httpd.service: the inventory does not name owner hep"),
        ({"process": 4711}, OPEN, "may not bind process 4711: the inventory does not name owner hep"),
    ],
)
def test_an_owner_binds_only_where_it_is_named_and_only_its_accounts(
    world: World, bind: Body, host: str, words: str
) -> None:
    group = cores(bind, host)
    for path, sent in (("/v1/groups", group), ("/v1/groups?hold=PT5M", group), ("/v1/plans", file(group))):
        document = problem(world.hep.post(path, json=sent), 403, "bind-not-allowed")
        assert words in document["detail"]
        assert "an operator may bind others" in document["detail"]
    answer = world.operator.post("/v1/groups", json=group)
    assert answer.status_code == 201, answer.text
    assert accounts_of(answer.json()) == ["*"]
    given_back(world.operator, answer.json())


def test_an_owner_without_an_account_binds_nothing_and_reserves_all_the_same(world: World) -> None:
    group = cores({"process": 4711}, owner="astro")
    document = problem(world.astro.post("/v1/groups", json=group), 403, "bind-not-allowed")
    assert "gives owner astro no account of lbnl-premium (slotcar_host_accounts)" in document["detail"]
    answer = world.astro.post("/v1/groups", json=cores(None, owner="astro"))
    assert answer.status_code == 201, answer.text
    assert accounts_of(answer.json()) == []
    given_back(world.astro, answer.json())


def test_what_a_host_has_that_names_nobody_is_an_operators_to_give(world: World) -> None:
    """ADR 51: whichever way a requester asks, and whatever it says that it was granted."""
    group = cores(None, OPEN)
    for path, sent in (("/v1/groups", group), ("/v1/groups?hold=PT5M", group), ("/v1/plans", file(group))):
        document = problem(world.hep.post(path, json=sent), 403, "host-not-given")
        assert "name owner hep there (slotcar_owners)" in document["detail"]
    plan = world.operator.post("/v1/plans", json=file(group)).json()
    problem(world.hep.post("/v1/applies", json=plan), 403, "host-not-given")
    held = world.operator.post("/v1/groups?hold=PT5M", json=group)
    assert held.status_code == 201, held.text
    assert accounts_of(held.json()) == ["*"]
    handle = held.json()["handle"]
    assert world.hep.post(f"/v1/groups/{handle}/commit").status_code == 200, "what an operator gave is its owner's"
    given_back(world.hep, held.json())


@pytest.mark.parametrize("bind", [{"user": "dtn"}, {"unit": "mover.service"}, {"process": 4711}])
def test_what_is_bound_is_bound_with_its_owners_accounts(world: World, bind: Body) -> None:
    answer = world.hep.post("/v1/groups", json=cores(bind))
    assert answer.status_code == 201, answer.text
    assert accounts_of(answer.json()) == ["mover", "dtn"]
    given_back(world.hep, answer.json())


@pytest.mark.parametrize(
    "bind",
    [
        {"user": "root"}, {"user": "0"}, {"unit": "system.slice"}, {"unit": "user.slice"}, {"unit": "init.scope"},
        {"unit": "slotcar-rest"}, {"unit": "slotcar"}, {"unit": "ssh.service"}, {"unit": "-.slice"}, {"process": 1},
    ],
)  # fmt: skip
def test_nobody_binds_what_is_the_machines_own(world: World, bind: Body) -> None:
    for client in (world.hep, world.operator):
        document = problem(client.post("/v1/groups", json=cores(bind)), 422, "invalid-input")
        assert "members[0].cpu.bind" in str(document)
        problem(client.post("/v1/plans", json=file(cores(bind))), 422, "invalid-input")


def test_a_plan_that_somebody_wrote_grants_nothing(world: World) -> None:
    """Of an operator's plan, and of one that names the accounts itself."""
    plan = world.operator.post("/v1/plans", json=file(cores({"user": "alice"}))).json()
    assert plan["steps"][0]["reservation"]["claim"]["accounts"] == ["*"]
    problem(world.hep.post("/v1/applies", json=plan), 403, "bind-not-allowed")
    plan["steps"][0]["reservation"]["claim"]["accounts"] = ["alice"]
    problem(world.hep.post("/v1/applies", json=plan), 403, "bind-not-allowed")
    own = world.hep.post("/v1/plans", json=file(cores({"user": "mover"}))).json()
    own["steps"][0]["reservation"]["claim"]["accounts"] = ["*"]
    entry = world.hep.post("/v1/applies", json=own).json()["entries"][0]
    assert entry["reservation"]["claim"]["accounts"] == ["mover", "dtn"]
    ports = world.hep.post(
        f"/v1/reservations/{entry['handle']}/bind", json={"source_port": 9}, headers={"If-Match": "*"}
    )
    problem(ports, 409, "not-possible")
    again = world.operator.post("/v1/plans", json=file(cores({"user": "mover"}))).json()
    assert [step["action"] for step in again["steps"]] == ["no-op"], "who asks again for the same changes nothing"
    world.hep.post(f"/v1/groups/{entry['group']}/cancel").raise_for_status()


def test_a_hold_is_not_committed_once_the_inventory_has_taken_the_account_back(
    network: Network, ledger: Ledger, tmp_path: Path
) -> None:
    now, caller, named = datetime.now(UTC), Caller("hep", Role.REQUESTER, "hep"), with_cores(network)
    settings = Settings(state_dir=tmp_path, inventory=GARNET)
    members = members_of_groups([cores({"user": "mover"})], now, settings.max_windows, named)
    held = Groups(Desk(ledger, named, settings)).create(members, caller, now, timedelta(minutes=5))
    host = named.hosts[HOST].model_copy(update={"accounts": {"hep": ("dtn",)}})
    after = Desk(ledger, named.model_copy(update={"hosts": {**named.hosts, HOST: host}}), settings)
    with pytest.raises(BindNotAllowed, match="owner hep has the accounts dtn"):
        Groups(after).on(CommitGroup, held[0][0].group or "", caller, now)


def test_to_cores_no_rate_can_be_added(world: World) -> None:
    group = world.operator.post("/v1/groups", json=cores(None, name="firm")).json()
    (member,) = group["members"]
    answer = world.operator.get(f"/v1/reservations/{member['handle']}/addable")
    assert "hep/firm.cores reserves cpu, which has no rate" in problem(answer, 409, "not-possible")["detail"]
    given_back(world.operator, group)
