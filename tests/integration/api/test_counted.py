"""What devices counted, as a program and an owner see it. What was counted is written as a reading writes it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from slotcar.base.timebase import iso, to_us
from slotcar.book.rules.roles import Role
from slotcar.store import Ledger
from slotcar.store.counts import OUT, CountedStep
from tests.integration.api.conftest import As, Serve, at, created, problem
from tests.support.patience import wait_for

EDGE, STEP_S = "anl-7507-1", 300
NOW = datetime.now(UTC)
OPEN = {"start": iso(NOW + timedelta(seconds=5)), "duration": "PT2H"}


def keep(ledger: Ledger, number: int, used_bytes: int, steps: int = 4, **more: object) -> None:
    """Steps of the last half hour: of each the edge counted all, 300,000 bits of them reserved."""
    last_us = to_us(datetime.now(UTC)) // (STEP_S * 1_000_000) * STEP_S * 1_000_000
    flow = {"entry": number, "direction": "forward", "service": "ip-premium", "interface": "FastEthernet4/0/0"} | more
    ledger.counts.keep(
        [
            CountedStep(
                device=EDGE, step_s=STEP_S, start_us=last_us - place * STEP_S * 1_000_000, counted_us=STEP_S * 1_000_000,
                reserved_bits=300_000, in_profile_packets=7, in_profile_bytes=used_bytes, out_of_profile_packets=0,
                out_of_profile_bytes=0, dropped_packets=1, dropped_bytes=100, **flow,  # type: ignore[arg-type]
            )
            for place in range(steps)
        ],
        [],
    )  # fmt: skip


def test_a_reservations_flow_is_shown_where_it_is_policed(serve: Serve, ledger: Ledger) -> None:
    api = serve()
    entry = created(api, direction="both", destination="lbnl-premium:5001", **OPEN)
    keep(ledger, entry["number"], 30_000)
    forward, reverse = api.get(at(entry, "usage")).json()["flows"]
    assert (forward["device"], forward["interface"], forward["unknown"]) == (EDGE, "FastEthernet4/0/0", "")
    assert forward["total"]["in_profile_bytes"] == 120_000
    assert [one["in_profile_bytes"] for one in forward["items"]] == [30_000] * 4
    assert reverse["unknown"] == "nothing of this time was read of it"
    assert reverse["items"] == []
    early = {"from": iso(NOW - timedelta(days=9)), "until": iso(NOW - timedelta(days=8))}
    assert api.get(at(entry, "usage"), params=early).json()["flows"][0]["items"] == []
    problem(api.get(at(entry, "usage"), params={"from": iso(NOW), "until": iso(NOW)}), 422, "invalid-input")
    problem(api.get("/v1/reservations/r-none/usage"), 404, "unknown-reservation")


def test_a_link_is_shown_with_what_was_free(serve: Serve, ledger: Ledger) -> None:
    api = serve()
    keep(ledger, 0, 1_000_000, direction=OUT, interface="ATM1/0/0")
    asked_for = {"device": EDGE, "interface": "ATM1/0/0"}
    link = api.get("/v1/usage/link", params=asked_for).json()
    assert [one["service"] for one in link["services"]] == ["ip-premium"]
    assert link["items"][0]["free_bits"] == link["capacity_bps"] * STEP_S - 8_000_000
    never = api.get("/v1/usage/link", params={"device": EDGE, "interface": "FastEthernet4/0/0"}).json()
    assert (never["unknown"], never["items"]) == ("nothing of this time was read of it", [])
    detail = problem(api.get("/v1/usage/link", params=asked_for | {"interface": "eth0"}), 422, "invalid-input")
    assert "is none of anl-7507-1" in str(detail)
    problem(api.get("/v1/usage/link", params=asked_for | {"device": "nobody"}), 404, "unknown-device")


def test_sums_and_what_is_unused_are_an_owners_own(as_: As, ledger: Ledger) -> None:
    operator, mine = as_("ops", Role.OPERATOR), as_("cms", Role.REQUESTER)
    used = created(operator, "used", rate="1 Mbit/s", **OPEN)
    idle = created(operator, "idle", rate="1 Mbit/s", destination="lbnl-premium:5002", **OPEN)
    theirs = created(operator, "theirs", rate="1 Mbit/s", owner="astro", destination="lbnl-premium:6123", **OPEN)
    keep(ledger, used["number"], 30_000)
    keep(ledger, idle["number"], 100)
    keep(ledger, theirs["number"], 0, steps=1)
    sums = operator.get("/v1/usage/counted", params={"by": "reservation"}).json()["items"]
    assert {one["name"]: one["in_profile_bytes"] for one in sums} == {
        "hep/used": 120_000, "hep/idle": 400, "astro/theirs": 0,
    }  # fmt: skip
    own = mine.get("/v1/usage/counted", params={"by": "owner"}).json()["items"]
    assert [(one["name"], one["reservations"], one["reserved_bits"]) for one in own] == [("hep", 2, 2_400_000)]
    problem(mine.get("/v1/usage/counted", params={"owner": "astro"}), 403, "not-allowed")
    problem(mine.get("/v1/usage/link", params={"device": EDGE, "interface": "ATM1/0/0"}), 403, "not-allowed")
    problem(mine.get("/v1/usage/unused", params={"below_percent": 0}), 422, "invalid-input")


def test_what_is_unused_says_what_it_would_free(serve: Serve, ledger: Ledger) -> None:
    api = serve()
    soon = {"start": "now + 2 s", "duration": "PT2H", "rate": "1 Mbit/s"}
    entries = [
        created(api, name, destination=f"lbnl-premium:{port}", **soon)
        for port, name in enumerate(("used", "idle", "short", "unknown"), 5001)
    ]
    for entry, used_bytes, steps in zip(entries, (30_000, 100, 0), (4, 4, 2), strict=False):
        keep(ledger, entry["number"], used_bytes, steps)
    wait_for(lambda: api.get("/v1/usage/unused").json()["items"], "the slots' beginning")
    answer = api.get("/v1/usage/unused").json()
    (item,) = answer["items"]
    assert (item["name"], item["forward_bps"], answer["below_percent"]) == ("idle", 1_000_000, 10)
    assert 0.99 * 7_200_000_000 < item["frees_bits"] <= 7_200_000_000
    assert {one["resource"] for one in item["frees"]} == {one["resource"] for one in entries[1]["demands"]}
    most = api.get("/v1/usage/unused", params={"below_percent": 100}).json()["items"]
    assert {one["name"] for one in most} == {"used", "idle"}
