"""The operator's gate, horizon and quotas over HTTP: nothing walks round them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from slotcar.base.timebase import iso
from tests.integration.api.conftest import (
    START,
    Body,
    at,
    body,
    created,
    live,
    problem,
    slotted,
)
from tests.integration.api.rights.conftest import World, applied, approved, patched

HOUR = timedelta(hours=1)


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
    answer = world.hep.post("/v1/reservations", json=body(), params={"hold": "300 d"})
    assert "a hold lasts at most 2 h" in problem(answer, 409, "hold-too-long")["detail"]
    held = created(world.hep, hold="PT1H")
    answer = world.hep.post(at(held, "extend"), json={"by": "3000 d"})
    assert "extensions included" in problem(answer, 409, "hold-too-long")["detail"]
    assert world.hep.post(at(held, "extend"), json={"by": "110 min"}).status_code == 200
    problem(world.hep.post(at(held, "extend"), json={"by": "121 min"}), 409, "hold-too-long")


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
    wanted = body("more", owner="few", destination="lbnl-premium:5002", **more)
    document = problem(world.operator.post("/v1/reservations", json=wanted, params=hold), 409, "quota-exceeded")
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
