"""Another owner's request moves a transfer: the transfer's owner is told that it moved, and not for whom."""

from __future__ import annotations

import json
from datetime import timedelta

import httpx

from slotcar.base.timebase import iso
from tests.integration.api.conftest import START, Body, body
from tests.integration.api.rights.conftest import World, approved
from tests.integration.api.test_streaming import stream

KIND = {"kind": "reservation.moved"}


def listed(client: httpx.Client) -> list[Body]:
    items: list[Body] = client.get("/v1/events", params={**KIND, "newest": "true"}).json()["items"]
    return items


def streamed(client: httpx.Client, count: int) -> list[Body]:
    documents: list[Body] = []
    with stream(client, after=0, **KIND) as lines:
        for line in lines:
            if line.startswith("data: "):
                documents.append(json.loads(line.removeprefix("data: ")))
            if len(documents) == count:
                return documents
    raise AssertionError("the stream ended")


def test_whose_request_it_made_room_for_is_told_to_nobody_else(world: World) -> None:
    """A page, the stream, the plan of a requester; the operator is told."""
    end = iso(START + timedelta(hours=4))
    bulk = body("bulk", rate=None, duration=None, volume="20 GB", start=iso(START), end=None, by=end, shape="earliest")
    mine = approved(world, created_of(world.hep, bulk | {"owner": "hep"}))
    theirs = [
        body(
            f"theirs-{port}", owner="astro", rate="19 Mbit/s", start=iso(START), duration="PT1H",
            destination=f"lbnl-premium:{port}",
        )
        for port in (5009, 5010)
    ]  # fmt: skip
    file = {"version": 1, "reservations": theirs}
    planned = world.astro.post("/v1/plans", json=file)
    assert planned.status_code == 200, planned.text
    plan = planned.json()
    assert len(plan["moves"]) == 1
    assert mine["handle"] not in json.dumps(plan)
    applied = world.astro.post("/v1/applies", json=plan)
    assert applied.status_code == 200, applied.text
    others = {entry["handle"] for entry in applied.json()["entries"]}

    moved_names = {(event["handle"], event["details"]["name"]) for event in listed(world.hep)}
    assert moved_names == {(mine["handle"], "bulk")}, "however often it moved"
    for events in (listed(world.hep), streamed(world.hep, 1)):
        assert not any(other in json.dumps(events) for other in others)
        assert "astro" not in json.dumps(events)
    for events in (listed(world.operator), streamed(world.operator, 1)):
        assert events[0]["details"]["makes_room_for"] in others
    assert listed(world.astro) == []


def created_of(client: httpx.Client, document: Body) -> Body:
    answer = client.post("/v1/reservations", json={key: one for key, one in document.items() if one is not None})
    assert answer.status_code == 201, answer.text
    entry: Body = answer.json()
    return entry
