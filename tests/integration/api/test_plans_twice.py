"""Plan documents that name a reservation more than once: each is wrong input, whatever its steps would do, and no fault."""

from __future__ import annotations

import itertools
from typing import Any

import httpx
import pytest

from tests.integration.api.conftest import body, created, live, problem

ACTIONS = ("create", "change", "cancel", "no-op")


@pytest.fixture
def plan(api: httpx.Client) -> dict[str, Any]:
    """Of one reservation to change and one to create."""
    created(api, "there", destination="lbnl-premium:5002")
    wanted = [body("there", destination="lbnl-premium:5002", rate="2 Mbit/s"), body("new", rate="1 Mbit/s")]
    answer: dict[str, Any] = api.post("/v1/plans", json={"version": 1, "reservations": wanted}).json()
    return answer


def test_a_reservation_has_one_step(api: httpx.Client, plan: dict[str, Any]) -> None:
    present, new = plan["steps"]
    assert (present["action"], new["action"]) == ("change", "create")
    for first, second in itertools.product(ACTIONS, repeat=2):
        for step in (present, new):
            pair = [step | {"action": action} for action in (first, second)]
            answer = api.post("/v1/applies", json=plan | {"steps": pair})
            detail = problem(answer, 422, "invalid-input")["detail"]
            whole = step is present and "create" not in (first, second)
            whole = whole or (step is new and {first, second} <= {"create", "no-op"})
            assert ("steps.1: is given twice" in detail) == whole, (first, second, detail)
    other = present | {"name": "other", "action": "cancel"}
    answer = api.post("/v1/applies", json=plan | {"steps": [present, new, other]})
    assert f"got {present['handle']}" in problem(answer, 422, "invalid-input")["detail"]
    assert [one["reservation"]["name"] for one in live(api)] == ["there"], "nothing was done"
    assert api.post("/v1/applies", json=plan).json()["changed"] == 1


def test_what_is_to_be_created_has_no_handle(api: httpx.Client, plan: dict[str, Any]) -> None:
    present = plan["steps"][0] | {"action": "create"}
    answer = api.post("/v1/applies", json=plan | {"steps": [present]})
    assert "to create has a handle" in problem(answer, 422, "invalid-input")["detail"]
