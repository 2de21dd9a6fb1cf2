"""Each verb over HTTP: what it answers when it is done, and when it is refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from slotcar.base.timebase import iso
from slotcar.base.units import format_rate
from slotcar.store import Ledger
from tests.integration.api.conftest import ROOT, START, Serve, at, body, created, live, problem

#: What fits beside nothing, but not beside itself: GARNET carries 45 Mb/s of ip-premium to ESnet.
LARGE = "30 Mbit/s"


def test_a_reservation_is_created_and_read_back(api: httpx.Client) -> None:
    answer = api.post("/v1/reservations", json=body(rate="36 Mbit/s", labels={"run": "7"}))
    entry = answer.json()
    assert answer.status_code == 201
    assert (entry["state"], entry["version"], answer.headers["etag"]) == ("committed", 1, '"1"')
    assert entry["reservation"]["rate_bps"] == 36_000_000
    assert entry["reservation"]["labels"] == {"run": "7"}
    assert [hop["device"] for hop in entry["paths"][0]["hops"]] == [
        "anl-7507-1", "anl-7507-2", "esnet-7507", "lbnl-7507"
    ]  # fmt: skip
    read = api.get(answer.headers["location"])
    assert (read.status_code, read.json(), read.headers["etag"]) == (200, entry, '"1"')


def test_the_owner_is_the_callers_where_none_is_stated(api: httpx.Client) -> None:
    assert created(api, owner=None)["reservation"]["owner"] == "local"


def test_what_does_not_fit_is_refused_with_numbers_and_nothing_is_held(api: httpx.Client) -> None:
    first = created(api, rate=LARGE)
    refused = api.post("/v1/reservations", json=body("atlas", rate=LARGE))
    document = problem(refused, 409, "refused")
    shortfall = next(one for one in document["refusal"]["shortfalls"] if one["resource"] == "sls:anl-esnet-ip-premium")
    assert shortfall["capacity_bps"] == 45_000_000
    assert shortfall["requested_bps"] > shortfall["free_bps"] > 0
    assert first["reservation"]["windows"][0]["end"] == shortfall["window"]["end"]
    assert document["refusal"]["nearest_window"]["start"] == shortfall["window"]["end"]
    highest = document["refusal"]["highest_rate_bps"]
    assert format_rate(highest) in document["detail"]
    assert [entry["reservation"]["name"] for entry in live(api)] == ["cms"]
    assert created(api, "atlas", rate=f"{highest} bit/s")["state"] == "committed"
    problem(api.post("/v1/reservations", json=body("one-bit-more", rate="1 kbit/s")), 409, "refused")


def test_an_enquiry_names_the_highest_rate_that_is_then_admitted(api: httpx.Client) -> None:
    created(api, rate=LARGE)
    document = body(name=None, owner=None, rate=None)
    answer = api.post("/v1/enquiries", json=document)
    assert answer.status_code == 200
    ways = {one["direction"]: one for one in answer.json()["directions"]}
    assert ways["reverse"]["highest_rate_bps"] > ways["forward"]["highest_rate_bps"] > 0
    assert ways["forward"]["limited_by"].startswith(("if:", "sls:"))
    assert created(api, "exactly", rate=f"{ways['forward']['highest_rate_bps']} bit/s")["state"] == "committed"
    assert [entry["reservation"]["name"] for entry in live(api)] == ["cms", "exactly"], "an enquiry holds nothing"


def test_a_change_needs_the_version_that_the_caller_saw(api: httpx.Client) -> None:
    entry = created(api)
    problem(api.patch(at(entry), json={"rate": "20 Mbit/s"}), 428, "precondition-required")
    for wrong in ("7", '"x"', "", '"1", "2"', '"' + "9" * 30 + '"'):
        answer = api.patch(at(entry), json={"rate": "20 Mbit/s"}, headers={"If-Match": wrong})
        problem(answer, 412, "stale-version")
    changed = api.patch(at(entry), json={"rate": "20 Mbit/s"}, headers={"If-Match": '"1"'})
    assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
    assert changed.json()["reservation"]["rate_bps"] == 20_000_000
    stale = api.patch(at(entry), json={"rate": "21 Mbit/s"}, headers={"If-Match": '"1"'})
    assert problem(stale, 412, "stale-version")["current_version"] == 2
    assert api.patch(at(entry), json={"rate": "22 Mbit/s"}, headers={"If-Match": "*"}).json()["version"] == 3


def test_a_change_that_does_not_fit_leaves_the_old_one(api: httpx.Client) -> None:
    entry = created(api)
    answer = api.patch(at(entry), json={"rate": "90 Mbit/s"}, headers={"If-Match": '"1"'})
    assert problem(answer, 409, "refused")["refusal"]["shortfalls"]
    assert api.get(at(entry)).json() == entry


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "needs a rate, a start, an end or a duration"),
        ({"end": "now + 9 h", "duration": "PT1H"}, "not both"),
        ({"end": "now"}, "not after its start"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_change_without_sense_is_refused(api: httpx.Client, change: dict[str, str], words: str) -> None:
    answer = api.patch(at(created(api)), json=change, headers={"If-Match": "*"})
    assert words in problem(answer, 409, "not-possible")["detail"]


def test_ports_are_bound_later(api: httpx.Client) -> None:
    entry = created(api, destination="lbnl-premium")
    problem(api.post(at(entry, "bind"), json={"destination_port": 5001}), 428, "precondition-required")
    problem(api.post(at(entry, "bind"), json={}, headers={"If-Match": "*"}), 409, "not-possible")
    ports = {"source_port": 40_000, "destination_port": 5001}
    bound = api.post(at(entry, "bind"), json=ports, headers={"If-Match": '"1"'}).json()
    assert (bound["version"], bound["reservation"]["source"]["port"]) == (2, 40_000)
    assert (bound["reservation"]["destination"]["port"], bound["demands"]) == (5001, entry["demands"])


def test_a_hold_is_extended_and_committed(api: httpx.Client) -> None:
    held = created(api, hold="PT5M")
    assert held["state"] == "held"
    longer = api.post(at(held, "extend"), json={"by": "PT1H"}).json()
    assert datetime.fromisoformat(longer["hold_until"]) - datetime.fromisoformat(held["hold_until"]) > timedelta(
        minutes=50
    )
    done = api.post(at(held, "commit")).json()
    assert (done["state"], done["hold_until"], done["version"]) == ("committed", None, 3)
    problem(api.post(at(held, "extend"), json={"by": "PT1H"}), 409, "not-possible")


@pytest.mark.parametrize("verb", ["commit", "extend", "cancel"])
def test_a_hold_that_ran_out_takes_no_verb_though_nobody_swept_it_away(api: httpx.Client, verb: str) -> None:
    held = created(api, hold="1 us")
    answer = api.post(at(held, verb), json={"by": "PT1H"} if verb == "extend" else None)
    assert "timed-out" in problem(answer, 409, "forbidden-transition")["detail"]


def test_a_hold_that_ran_out_has_given_its_place_and_its_name_back(api: httpx.Client) -> None:
    held = created(api, hold="1 us", rate=LARGE)
    assert created(api, rate=LARGE)["state"] == "committed"
    assert api.get(at(held)).json()["state"] == "timed-out"


def test_what_is_cancelled_gives_its_place_back_and_stays_on_record(api: httpx.Client) -> None:
    entry = created(api, rate=LARGE)
    cancelled = api.post(at(entry, "cancel"), json={"reason": "not needed"}).json()
    assert (cancelled["state"], cancelled["version"]) == ("cancelled", 2)
    assert created(api, rate=LARGE)["handle"] != entry["handle"]
    events = [one for one in api.get("/v1/events?limit=1000").json()["items"] if one["handle"] == entry["handle"]]
    assert [one["kind"] for one in events] == ["reservation.committed", "reservation.cancelled"]
    assert events[1]["details"]["reason"] == "not needed"
    for verb in ("cancel", "commit", "approve", "reject"):
        answer = api.post(at(entry, verb), headers={"If-Match": '"2"'})
        problem(answer, 409, "forbidden-transition")


def test_above_the_operators_gate_a_reservation_waits_for_approval(serve: Serve) -> None:
    api = serve(approval_rate_bps="20 Mbit/s")
    entry = created(api, rate=LARGE)
    assert entry["state"] == "awaiting-approval"
    assert api.post(at(entry, "approve"), headers={"If-Match": '"1"'}).json()["state"] == "committed"
    held = created(api, "later", rate="21 Mbit/s", start="now + 9 h", hold="PT5M")
    assert api.post(at(held, "commit")).json()["state"] == "awaiting-approval"
    rejected = api.post(at(held, "reject"), json={"reason": "maintenance"}).json()
    assert rejected["state"] == "rejected"
    problem(api.post(at(held, "approve"), headers={"If-Match": '"3"'}), 409, "forbidden-transition")


def test_a_name_is_its_owners_once(api: httpx.Client) -> None:
    entry = created(api)
    again = problem(api.post("/v1/reservations", json=body(rate="1 Mbit/s")), 409, "name-taken")
    assert entry["handle"] in again["detail"]
    assert created(api, owner="astro", destination="lbnl-premium:5002")["state"] == "committed"


def test_a_plan_is_applied_exactly_and_only_while_it_is_true(api: httpx.Client) -> None:
    file = {
        "version": 1,
        "defaults": {"owner": "hep"},
        "reservations": [body(owner=None)],
    }
    plan = api.post("/v1/plans", json=file, params={"set": "tonight"}).json()
    assert plan["summary"] == {"create": 1, "change": 0, "cancel": 0, "unchanged": 0, "refused": 0}
    assert [boundary["at"] for boundary in plan["boundaries"]] == [
        iso(START), iso(START + timedelta(hours=2))
    ]  # fmt: skip
    assert any("10.20.11.2" in line for line in plan["boundaries"][0]["devices"][0]["diff"])
    assert live(api) == [], "a plan writes nothing"
    applied = api.post("/v1/applies", json=plan).json()
    assert (applied["created"], applied["entries"][0]["reservation"]["name"]) == (1, "cms")
    assert problem(api.post("/v1/applies", json=plan), 409, "stale-plan")["detail"].endswith("make the plan again")
    plan_without = api.post("/v1/plans", json={**file, "reservations": []}, params={"set": "tonight"}).json()
    assert plan_without["summary"]["cancel"] == 0, "a set without reservations speaks for no owner"
    spoken = {"set": "tonight", "owner": ["hep", "astro"]}
    plan_without = api.post("/v1/plans", json={**file, "reservations": []}, params=spoken).json()
    assert (plan_without["summary"]["cancel"], plan_without["owners"]) == (1, ["astro", "hep"])


def test_a_plan_with_a_refusal_is_not_applied(api: httpx.Client) -> None:
    file = {"version": 1, "reservations": [body(), body("greedy", rate="90 Mbit/s")]}
    plan = api.post("/v1/plans", json=file).json()
    assert [bool(step["refusal"]) for step in plan["steps"]] == [False, True]
    assert "greedy" in problem(api.post("/v1/applies", json=plan), 409, "plan-refused")["detail"]
    assert live(api) == []


def test_a_plan_that_was_edited_to_ask_for_more_is_admitted_anew(api: httpx.Client) -> None:
    plan = api.post("/v1/plans", json={"version": 1, "reservations": [body()]}).json()
    reservation = plan["steps"][0]["reservation"]
    reservation["slots"][0]["forward_bps"] = 90_000_000
    del reservation["rate_bps"]
    assert "free of" in problem(api.post("/v1/applies", json=plan), 409, "plan-refused")["detail"]


def test_a_list_is_of_one_name_where_one_is_asked_for(api: httpx.Client) -> None:
    for owner, name, port in (("hep", "cms", 5001), ("hep", "atlas", 5001), ("astro", "cms", 5002)):
        created(api, name, owner=owner, destination=f"lbnl-premium:{port}", rate="1 Mbit/s")
    live = {"state": "committed", "name": "cms"}
    items = api.get("/v1/reservations", params=live).json()["items"]
    assert [one["reservation"]["owner"] for one in items] == ["hep", "astro"]
    (one,) = api.get("/v1/reservations", params={**live, "owner": "astro"}).json()["items"]
    assert (one["reservation"]["owner"], one["reservation"]["name"]) == ("astro", "cms")
    assert api.get("/v1/reservations", params={"name": "cm"}).json()["items"] == []


def test_the_timeline_names_what_starts_and_ends_and_on_which_devices(api: httpx.Client) -> None:
    entry = created(api)
    window = entry["reservation"]["windows"][0]
    devices = sorted(hop["device"] for hop in entry["paths"][0]["hops"])
    items = api.get("/v1/timeline", params={"reservation": "hep/cms"}).json()["items"]
    assert [(one["at"], one["starting"], one["ending"], one["active"], one["phase"]) for one in items] == [
        (window["start"], ["hep/cms"], [], 1, "planned"),
        (window["end"], [], ["hep/cms"], 0, "planned"),
    ]
    assert [one["device"] for one in items[0]["devices"]] == devices
    own = {"reservation": "hep/cms"}
    assert api.get("/v1/timeline", params=own | {"hours": 0.5}).json()["items"] == []
    assert len(api.get("/v1/timeline", params=own | {"device": devices[0]}).json()["items"]) == 2
    late = own | {"from": window["end"], "device": devices[0]}
    assert api.get("/v1/timeline", params=late).json()["items"] == items[1:]
    assert api.get("/v1/timeline", params=own | {"until": window["start"]}).json()["items"] == items[:1]
    problem(api.get("/v1/timeline", params={"device": "nowhere"}), 404, "unknown-device")
    problem(api.get("/v1/timeline", params={"reservation": "hep/nobody"}), 404, "unknown-reservation")
    problem(api.get("/v1/timeline", params={"from": "2027-03-01T12:00:00"}), 422, "invalid-input")


def test_the_timeline_tells_how_far_each_device_got(serve: Serve, ledger: Ledger) -> None:
    api = serve()
    window = created(api)["reservation"]["windows"][0]
    moment = datetime.now(UTC)
    for device, more in (("anl-7507-1", {"revision": "rev"}), ("esnet-7507", {})):
        details = {"at": window["start"], "devices": [device], **more}
        ledger.append_event("boundary.staged", moment, details=details)
    first = api.get("/v1/timeline").json()["items"][0]
    assert {one["device"]: one["phase"] for one in first["devices"]} == {
        "anl-7507-1": "armed", "anl-7507-2": "planned", "esnet-7507": "staged", "lbnl-7507": "planned"
    }  # fmt: skip


def test_a_controller_that_only_answers_leads_nothing(api: httpx.Client) -> None:
    document = api.get("/v1/controller").json()
    assert (document["reconciles"], document["leading"], document["phases"], document["next_boundary"]) == (
        False,
        False,
        {},
        None,
    )


def test_a_wanted_configuration_holds_the_flow_in_its_slot_and_not_before(api: httpx.Client) -> None:
    window = created(api)["reservation"]["windows"][0]

    def lines(when: str) -> list[str]:
        items = api.get("/v1/configurations", params={"at": when, "device": "anl-7507-1"}).json()["items"]
        assert [(one["device"], one["platform"], one["at"]) for one in items] == [("anl-7507-1", "cisco-car", when)]
        return [line for line in items[0]["lines"] if "10.20.11.2" in line]

    assert lines(window["start"])
    assert not lines(window["end"])
    assert len(api.get("/v1/configurations").json()["items"]) == 5
    problem(api.get("/v1/configurations", params={"device": "nowhere"}), 404, "unknown-device")


@pytest.mark.slow
def test_a_devices_difference_says_why_the_device_cannot_be_read(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SLOTCAR_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("SLOTCAR_LAB_PORT_BASE", "0")  # the lab's first router is at port 1, where nothing listens
    api = serve(inventory=ROOT / "inventories" / "lab")
    answer = api.get("/v1/devices/anl-edge/difference")
    assert answer.status_code == 200
    document = answer.json()
    assert (document["device"], document["state"], document["diff"]) == ("anl-edge", "failed", [])
    assert "Connection refused" in document["message"]
    problem(api.get("/v1/devices/nowhere/difference"), 404, "unknown-device")
