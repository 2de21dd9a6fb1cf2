"""Plans that ask for much: bounded in windows, time, memory and answer, and nothing else waits for them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from tests.integration.api.conftest import Body, Serve, body, created, problem

DAILY = {"recurrence": "FREQ=DAILY;COUNT=3000", "duration": "PT1H"}
CREATE = {key: value for key, value in body().items() if key != "name"}


def file(count: int, **defaults: Any) -> Body:
    """A reservation file of a few kilobytes; what its reservations share is in its defaults."""
    named = [{"name": f"n{number}"} for number in range(count)]
    return {"version": 1, "defaults": CREATE | defaults, "reservations": named}


#: Each of its recurrences is searched to its end before it is refused: minutes of work, and little memory.
ENDLESS = file(20_000, **DAILY | {"duration": "P2D"})


def test_the_windows_of_a_plan_are_counted_together(api: httpx.Client) -> None:
    answer = api.post("/v1/plans", json=file(50, **DAILY))
    (error,) = problem(answer, 422, "invalid-input")["errors"]
    assert error["key"] == "reservations[3]"
    assert "12000, more than the 10000" in error["message"]
    assert "SLOTCAR_MAX_WINDOWS" in error["hint"]


@pytest.mark.slow
def test_every_way_in_counts_windows(serve: Serve) -> None:
    api = serve(max_windows=20)
    twenty, more = ({**DAILY, "recurrence": f"FREQ=DAILY;COUNT={count}"} for count in (20, 21))
    created(api, "fits", **twenty)
    for path in ("/v1/reservations", "/v1/enquiries"):
        answer = api.post(path, json=body("large", **more))
        assert "21, more than the 20" in problem(answer, 422, "invalid-input")["errors"][0]["message"]
    plan = api.post("/v1/plans", json=file(1, **twenty)).json()
    plan["steps"].append(plan["steps"][0] | {"action": "no-op", "name": "other"})
    (error,) = problem(api.post("/v1/applies", json=plan), 422, "invalid-input")["errors"]
    assert error["key"] == "steps[1].reservation"


@pytest.mark.slow
def test_a_plan_that_takes_too_long_is_ended_and_the_next_one_is_made(serve: Serve) -> None:
    api = serve(plan_timeout=timedelta(seconds=2))
    answer = api.post("/v1/plans", json=ENDLESS, timeout=None)
    assert "2 s" in problem(answer, 422, "plan-too-large")["detail"]
    api = serve()
    assert api.post("/v1/plans", json=file(1)).json()["summary"]["create"] == 1


@pytest.mark.slow
def test_a_plan_that_takes_too_much_memory_is_ended_and_the_next_one_is_made(serve: Serve) -> None:
    api = serve(plan_memory_bytes=60_000_000, max_windows=10**6, plan_timeout=timedelta(minutes=10))
    answer = api.post("/v1/plans", json=file(70, **DAILY), timeout=None)
    assert "60000000 bytes" in problem(answer, 422, "plan-too-large")["detail"]
    assert api.post("/v1/plans", json=file(1)).json()["summary"]["create"] == 1


def pages(api: httpx.Client, document: Body, lines: int) -> Iterator[Body]:
    start: dict[str, str] = {}
    while True:
        page = api.post("/v1/plans", json=document, params={"lines": lines, **start}).json()
        yield page
        if page["next"] is None:
            return
        start = {"from": page["next"]}


def diffs(plans: list[Body]) -> dict[tuple[str, str], list[str]]:
    """By boundary and device all lines of its diff, which must come in their order."""
    lines: dict[tuple[str, str], list[str]] = {}
    for plan in plans:
        for boundary in plan["boundaries"]:
            for one in boundary["devices"]:
                before = lines.setdefault((boundary["at"], one["device"]), [])
                assert one["first_line"] == len(before)
                before += one["diff"]
    return lines


@pytest.mark.parametrize("lines", [7, 40])
def test_the_pages_of_a_plan_are_the_whole_of_it(api: httpx.Client, lines: int) -> None:
    document = file(2, recurrence="FREQ=DAILY;COUNT=3", duration="PT1H")
    (whole,) = pages(api, document, 10_000)
    parts = list(pages(api, document, lines))
    assert len(parts) > 2
    assert diffs(parts) == diffs([whole])
    assert all(sum(len(one) for one in diffs_of(part)) <= lines for part in parts)
    assert [part["steps"] for part in parts] == [whole["steps"]] * len(parts)


def diffs_of(part: Body) -> list[list[str]]:
    return [one["diff"] for boundary in part["boundaries"] for one in boundary["devices"]]


def test_boundaries_beyond_the_first_two_dozen_are_on_the_next_page(api: httpx.Client) -> None:
    first, second = pages(api, file(1, recurrence="FREQ=DAILY;COUNT=14", duration="PT1H"), 10_000)
    assert (len(first["boundaries"]), first["boundaries_left_out"]) == (24, 4)
    assert (len(second["boundaries"]), second["boundaries_left_out"]) == (4, 0)
    assert first["next"].startswith(second["boundaries"][0]["at"])


def test_a_page_that_no_plan_named_is_refused(api: httpx.Client) -> None:
    for start in ("", "x", "now/r1/x", "yesterday//0"):
        answer = api.post("/v1/plans", json=file(1), params={"from": start})
        assert problem(answer, 422, "invalid-input")["errors"][0]["key"] == "from"
