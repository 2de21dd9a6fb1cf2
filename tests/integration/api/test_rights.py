"""The operator's rules over HTTP: nothing walks round the gate, the horizon, quotas, and other owners' flows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from slotcar.auth.tokens import Caller, Role, create_token
from slotcar.broker import Broker, Options
from slotcar.ledger import Ledger, open_ledger
from slotcar.network.model import Network
from slotcar.policy.errors import EndpointNotAllowed
from slotcar.reservation import from_mapping
from slotcar.settings import Settings
from slotcar.timebase import iso
from tests.integration.api.conftest import (
    GARNET,
    START,
    Body,
    Running,
    at,
    body,
    copied,
    created,
    live,
    problem,
    slotted,
)
from tests.support.controllers import NO_TLS

HOUR = timedelta(hours=1)


class World:
    """One API with a gate, quotas and a horizon; `operator` and two requesters of different owners."""

    def __init__(self, url: str, tokens: Path) -> None:
        now = datetime.now(UTC)
        named = (("ops", Role.OPERATOR, "ops"), ("hep", Role.REQUESTER, "hep"), ("astro", Role.REQUESTER, "astro"))
        self.operator, self.hep, self.astro = (
            httpx.Client(
                base_url=url, timeout=60, verify=NO_TLS,
                headers={"Authorization": f"Bearer {create_token(tokens, name, role, owner, now)}"},
            )
            for name, role, owner in named
        )  # fmt: skip


def owned(network: Network) -> Network:
    """The network, in which one end system is one owner's."""
    host = network.hosts["lbnl-competing"].model_copy(update={"owners": ("hep",)})
    return network.model_copy(update={"hosts": {**network.hosts, "lbnl-competing": host}})


@pytest.fixture(scope="module")
def running_world(
    server_url: str, migrated: str, network: Network, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    state_dir, running = tmp_path_factory.mktemp("rights"), Running()
    settings = Settings(
        state_dir=state_dir, inventory=GARNET, approval_rate_bps="20 Mbit/s", approval_duration="4 h",
        longest_hold="2 h", horizon="30 d",
        owner_quotas={"few": {"reservations": 2, "windows": 4, "holds": 1, "volume": "10 GB"}},
    )  # fmt: skip
    with copied(server_url, migrated) as url, open_ledger(url, state_dir) as ledger:
        found = World(str(running.start(ledger, owned(network), settings).base_url), settings.tokens_path)
        yield found
        for client in (found.operator, found.hep, found.astro):
            client.close()
        running.stop()


@pytest.fixture
def world(running_world: World) -> Iterator[World]:
    yield running_world
    for entry in live(running_world.operator):
        running_world.operator.post(at(entry, "cancel")).raise_for_status()


def patched(client: httpx.Client, entry: Body, **change: str) -> Body:
    answer = client.patch(at(entry), json=change, headers={"If-Match": f'"{entry["version"]}"'})
    assert answer.status_code == 200, answer.text
    document: Body = answer.json()
    return document


def applied(client: httpx.Client, *reservations: Body) -> list[Body]:
    file = {"version": 1, "reservations": list(reservations)}
    plan = client.post("/v1/plans", json=file)
    assert plan.status_code == 200, plan.text
    done = client.post("/v1/applies", json=plan.json())
    assert done.status_code == 200, done.text
    entries: list[Body] = done.json()["entries"]
    return entries


def approved(world: World, entry: Body) -> Body:
    answer = world.operator.post(at(entry, "approve"), headers={"If-Match": f'"{entry["version"]}"'})
    assert answer.status_code == 200, answer.text
    document: Body = answer.json()
    return document


# -- the gate ------------------------------------------------------------------------------------------------------


def in_force_bps(entry: Body) -> tuple[str, int, int | None]:
    change = entry["proposed"]
    return entry["state"], entry["reservation"]["rate_bps"], change and change["reservation"]["rate_bps"]


def test_a_raise_above_the_gate_by_patch_waits_and_the_old_rate_stays(world: World) -> None:
    entry = created(world.hep, rate="1 Mbit/s")
    raised = patched(world.hep, entry, rate="24 Mbit/s")
    assert in_force_bps(raised) == ("committed", 1_000_000, 24_000_000)
    assert raised["demands"] == entry["demands"]
    assert in_force_bps(approved(world, raised)) == ("committed", 24_000_000, None)


def test_a_raise_above_the_gate_by_a_plan_waits_and_says_so(world: World) -> None:
    usual = {**body(), "owner": "hep"}
    applied(world.hep, usual | {"rate": "1 Mbit/s"})
    more = {"version": 1, "reservations": [usual | {"rate": "24 Mbit/s"}]}
    plan = world.hep.post("/v1/plans", json=more).json()
    assert [(step["action"], step["note"]) for step in plan["steps"]] == [("change", "waits for approval")]
    assert plan["boundaries"] == [], "nothing is pushed before it is approved"
    done = world.hep.post("/v1/applies", json=plan).json()
    assert in_force_bps(done["entries"][0]) == ("committed", 1_000_000, 24_000_000)
    again = world.hep.post("/v1/plans", json=more).json()
    assert [(step["action"], step["note"]) for step in again["steps"]] == [("no-op", "its change waits for approval")]


def test_a_second_raise_after_an_approval_waits_again_however_small(world: World) -> None:
    entry = approved(world, created(world.hep, rate="21 Mbit/s"))
    raised = patched(world.hep, entry, rate="21001 kbit/s")
    assert in_force_bps(raised) == ("committed", 21_000_000, 21_001_000)
    lowered = patched(world.hep, raised, rate="20500 kbit/s")
    assert in_force_bps(lowered) == ("committed", 20_500_000, None), "less than was approved needs nobody, and is new"


@pytest.mark.parametrize("change", [{"duration": "5 h"}, {"end": iso(START + 7 * HOUR)}], ids=["duration", "end"])
def test_a_longer_slot_above_the_gate_waits(world: World, change: dict[str, str]) -> None:
    entry = created(world.hep)
    raised = patched(world.hep, entry, **change)
    assert raised["reservation"]["windows"] == entry["reservation"]["windows"]
    assert raised["proposed"]["reservation"]["windows"][0]["end"] > entry["reservation"]["windows"][0]["end"]


def test_slots_of_a_recurrence_count_together_at_the_gate(world: World) -> None:
    assert created(world.hep, "short", recurrence="FREQ=DAILY;COUNT=2")["state"] == "committed"
    daily = {"recurrence": "FREQ=DAILY;COUNT=3", "destination": "lbnl-premium:5002"}
    assert created(world.hep, "long", **daily)["state"] == "awaiting-approval"


def test_other_packets_or_smaller_ones_above_the_gate_wait(world: World) -> None:
    usual = {**body(rate="21 Mbit/s"), "owner": "hep"}
    approved(world, applied(world.hep, usual)[0])
    for other in ({"destination": "lbnl-competing:5001"}, {"packet_size": "1000 B"}):
        (entry,) = applied(world.hep, usual | other)
        assert entry["proposed"] is not None, other


def test_a_slot_that_is_open_is_not_moved_on_without_an_approval(world: World) -> None:
    """Each form is as long as the first; together with what was used already they would never end."""
    usual = {**body(rate="21 Mbit/s", start=iso(datetime.now(UTC) - HOUR)), "owner": "hep"}
    approved(world, applied(world.operator, usual)[0])
    (moved,) = applied(world.hep, usual | {"start": iso(datetime.now(UTC).replace(microsecond=0))})
    assert moved["proposed"] is not None


def test_what_waits_keeps_room_for_both_and_a_rejection_gives_the_new_room_back(world: World) -> None:
    entry = created(world.hep, rate="1 Mbit/s")
    raised = patched(world.hep, entry, rate="24 Mbit/s")
    greedy = body("greedy", rate="19 Mbit/s", destination="lbnl-premium:5002")
    problem(world.hep.post("/v1/reservations", json=greedy), 409, "refused")
    rejected = world.operator.post(at(raised, "reject"), json={"reason": "maintenance"}).json()
    assert in_force_bps(rejected) == ("committed", 1_000_000, None)
    assert world.hep.post("/v1/reservations", json=greedy).status_code == 201
    answer = world.operator.post(at(rejected, "approve"), headers={"If-Match": f'"{rejected["version"]}"'})
    problem(answer, 409, "forbidden-transition")


def test_an_approval_is_of_the_version_that_was_seen(world: World) -> None:
    entry = created(world.hep, rate="21 Mbit/s")
    assert entry["state"] == "awaiting-approval"
    raised = patched(world.hep, entry, rate="24 Mbit/s")
    approve = at(entry, "approve")
    problem(world.operator.post(approve), 428, "precondition-required")
    problem(world.operator.post(approve, headers={"If-Match": "*"}), 428, "precondition-required")
    stale = world.operator.post(approve, headers={"If-Match": '"1"'})
    assert problem(stale, 412, "stale-version")["current_version"] == 2
    assert approved(world, raised)["reservation"]["rate_bps"] == 24_000_000
    problem(world.hep.post(approve, headers={"If-Match": '"3"'}), 403, "not-allowed")


def test_a_requester_cannot_commit_what_waits_for_approval(world: World) -> None:
    entry = created(world.hep, rate="21 Mbit/s")
    problem(world.hep.post(at(entry, "commit")), 409, "forbidden-transition")


def test_a_hold_that_was_raised_waits_when_it_is_committed(world: World) -> None:
    held = created(world.hep, rate="1 Mbit/s", hold="PT5M")
    raised = patched(world.hep, held, rate="24 Mbit/s")
    assert raised["state"] == "held"
    problem(
        world.operator.post(at(held, "approve"), headers={"If-Match": '"2"'}), 409, "forbidden-transition"
    )  # nobody has asked for it yet
    assert world.hep.post(at(held, "commit")).json()["state"] == "awaiting-approval"


def test_a_hold_ends_where_the_operator_says(world: World) -> None:
    asked = world.hep.post("/v1/reservations", json=body(), params={"hold": "300 d"})
    assert "a hold lasts at most 2 h" in problem(asked, 409, "hold-too-long")["detail"]
    held = created(world.hep, hold="PT1H")
    answer = world.hep.post(at(held, "extend"), json={"by": "3000 d"})
    assert "extensions included" in problem(answer, 409, "hold-too-long")["detail"]
    assert world.hep.post(at(held, "extend"), json={"by": "110 min"}).status_code == 200
    problem(world.hep.post(at(held, "extend"), json={"by": "121 min"}), 409, "hold-too-long")


# -- the horizon ---------------------------------------------------------------------------------------------------


def test_nothing_ends_beyond_the_horizon_whichever_way_it_comes(world: World) -> None:
    far = iso(START + timedelta(days=31))
    for more in ({"start": far}, {"duration": "31 d"}, {"recurrence": "FREQ=DAILY;COUNT=32"}):
        late = body(**more)
        answer = world.operator.post("/v1/reservations", json=late)
        assert "SLOTCAR_HORIZON" in problem(answer, 422, "beyond-horizon")["detail"]
        problem(world.operator.post("/v1/reservations", json=late, params={"hold": "PT5M"}), 422, "beyond-horizon")
        problem(world.operator.post("/v1/enquiries", json=late), 422, "beyond-horizon")
        problem(world.operator.post("/v1/plans", json={"version": 1, "reservations": [late]}), 422, "beyond-horizon")
    entry = created(world.operator)
    for change in ({"start": far}, {"end": far}, {"duration": "31 d"}):
        answer = world.operator.patch(at(entry), json=change, headers={"If-Match": "*"})
        problem(answer, 422, "beyond-horizon")
    plan = world.operator.post("/v1/plans", json={"version": 1, "reservations": [body("b")]}).json()
    step = plan["steps"][0]
    step["reservation"] = slotted(step["reservation"], start=far, end=iso(START + timedelta(days=32)))
    problem(world.operator.post("/v1/applies", json=plan), 422, "beyond-horizon")
    assert [one["handle"] for one in live(world.operator)] == [entry["handle"]]


# -- quotas --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "numbers"),
    [
        ({}, {"recurrence": "FREQ=DAILY;COUNT=4", "rate": "1 kbit/s", "duration": "PT1H"}, ("windows", 4, 1, 4)),
        ({"hold": "PT5M", "rate": "1 kbit/s"}, {"hold": "PT5M", "rate": "1 kbit/s"}, ("holds", 1, 1, 1)),
        ({}, {"rate": "2 Mbit/s"}, ("volume", 80 * 10**9, 72 * 10**9, 14_400_000_000)),
        ({}, {"rate": "1 Mbit/s", "direction": "both"}, ("volume", 80 * 10**9, 72 * 10**9, 14_400_000_000)),
    ],
    ids=["windows", "holds", "volume", "both directions"],
)
def test_an_owner_has_no_more_than_its_quota(
    world: World, first: dict[str, str], second: dict[str, str], numbers: tuple[str, int, int, int]
) -> None:
    created(world.operator, owner="few", **first)
    hold = {"hold": second["hold"]} if "hold" in second else {}
    more = {key: value for key, value in second.items() if key != "hold"}
    asked = body("more", owner="few", destination="lbnl-premium:5002", **more)
    document = problem(world.operator.post("/v1/reservations", json=asked, params=hold), 409, "quota-exceeded")
    quota = document["quota"]
    assert (quota["what"], quota["limit"], quota["in_use"], quota["asked"]) == numbers
    assert len(live(world.operator)) == 1


def test_a_quota_holds_for_changes_and_plans_and_not_for_what_shrinks(world: World) -> None:
    entry = created(world.operator, owner="few")
    answer = world.operator.patch(at(entry), json={"rate": "12 Mbit/s"}, headers={"If-Match": "*"})
    assert problem(answer, 409, "quota-exceeded")["quota"]["asked"] == 14_400_000_000
    small = [body(f"n{n}", owner="few", rate="1 kbit/s", destination=f"lbnl-premium:600{n}") for n in range(2)]
    file = {"version": 1, "reservations": small}
    words = problem(world.operator.post("/v1/plans", json=file), 409, "quota-exceeded")["detail"]
    assert words == "owner few may have 2 live reservations, has 1, and asks for 2 more: give some back first"
    plan = world.operator.post("/v1/plans", json={**file, "reservations": small[:1]}).json()
    created(world.operator, "second", owner="few", rate="1 kbit/s", destination="lbnl-premium:5003")
    plan["ledger_sequence"] = world.operator.post("/v1/plans", json={"version": 1, "reservations": []}).json()[
        "ledger_sequence"
    ]
    problem(world.operator.post("/v1/applies", json=plan), 409, "quota-exceeded")
    assert patched(world.operator, entry, rate="9 Mbit/s")["reservation"]["rate_bps"] == 9_000_000
    world.operator.post(at(entry, "cancel")).raise_for_status()
    assert created(world.operator, "third", owner="few", destination="lbnl-premium:5004")["state"] == "committed"


# -- other owners' flows -------------------------------------------------------------------------------------------

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


# -- who may use an endpoint -----------------------------------------------------------------------------------------


def test_an_end_system_is_its_owners_by_name_and_by_address_whichever_way_in(world: World, network: Network) -> None:
    address = str(network.hosts["lbnl-competing"].address)
    for host in ("lbnl-competing", address):
        for client in (world.astro, world.operator):
            asked = body("taken", owner="astro", destination=f"{host}:6001")
            for hold in ({}, {"hold": "PT5M"}):
                answer = client.post("/v1/reservations", json=asked, params=hold)
                document = problem(answer, 403, "endpoint-not-allowed")
                assert f"does not let owner astro reserve from or to {host}" in document["detail"]
            file = {"version": 1, "reservations": [asked]}
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
    asked = {**body(owner="astro", destination="lbnl-competing:6001"), "start": iso(START)}
    before = Broker(ledger, network, settings)
    held = before.create(from_mapping(asked, now), caller, now, Options(hold=HOUR))
    waiting = before.create(from_mapping({**asked, "name": "waits", "rate": "21 Mbit/s"}, now), caller, now)
    after = Broker(ledger, owned(network), settings)
    with pytest.raises(EndpointNotAllowed):
        after.commit(held.handle, caller, now)
    with pytest.raises(EndpointNotAllowed):
        after.extend(held.handle, 2 * HOUR, caller, now)
    with pytest.raises(EndpointNotAllowed):
        after.bind(held.handle, caller, now, source_port=4000)
    with pytest.raises(EndpointNotAllowed):
        after.approve(waiting.handle, 1, Caller("ops", Role.OPERATOR), now)
