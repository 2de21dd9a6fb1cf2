"""Bodies, texts and forms nested deep: each is refused in words, whoever reads it, and the controller goes on."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from slotcar.api import plan_process
from slotcar.api.app import openapi_document
from slotcar.web import plans
from tests.integration.web.conftest import Site

#: As many forms as stopped the controller before, and more than it has threads for pages.
FORMS = 42
DEEP = ["[" * 100_000, "[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900, "[" * 60 + "]" * 60]
BODIES = [
    (method, path)
    for path, operations in openapi_document()["paths"].items()
    for method, operation in operations.items()
    if "requestBody" in operation
]


@pytest.mark.parametrize("text", DEEP, ids=["open", "closed", "mapping", "few"])
def test_no_body_is_nested_deep(site: Site, text: str) -> None:
    client = site.client()
    client.headers.update({"Authorization": f"Bearer {site.tokens['operator']}", "Content-Type": "application/json"})
    for method, path in BODIES:
        wrapped = text if text.startswith("{") else f'{{"version": 1, "reservations": {text}}}'
        for body in (text, wrapped):
            address = path.replace("{handle}", "r-1").replace("{device}", "lbnl-7507").replace("{webhook}", "1")
            answer = client.request(method, address, content=body, headers={"If-Match": "*"})
            assert answer.status_code == 400, (method, path, answer.text)
            assert answer.json()["detail"] in ("the body is nested deeper than 40 levels", "the body is not JSON")


def test_many_deep_forms_stop_nothing(site: Site) -> None:
    client = site.signed_in("requester")
    with ThreadPoolExecutor(FORMS) as pool:
        forms = [pool.submit(client.post, "/plan", data={"text": "[" * 100_000}) for _ in range(FORMS)]
        assert site.client().get("/healthz").json()["status"] == "ok"
        answers = [one.result() for one in forms]
    assert {one.status_code for one in answers} <= {422, 503}, "as many plans as may wait, and the rest comes again"
    assert any("is nested deeper than 40 levels" in one.text for one in answers)


def test_a_pasted_text_is_read_in_the_process_that_makes_plans(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []
    real = plan_process.PlanRequest
    monkeypatch.setattr(plans, "PlanRequest", lambda *given: sent.append(given[0]) or real(*given))
    text = "version: 1\nreservations: [\n"
    answer = site.signed_in("operator").post("/plan", data={"text": text})
    assert (answer.status_code, "is not YAML" in answer.text, "the text:2" in answer.text) == (422, True, True)
    assert sent == [text.strip()]


def test_a_deep_plan_is_not_applied(site: Site) -> None:
    operator = site.signed_in("operator")
    for text in DEEP:
        answer = operator.post("/plan/apply", data={"plan": json.dumps({"steps": None}).replace("null", text)})
        assert (answer.status_code, "is not a plan" in answer.text) == (422, True)


def test_a_text_with_many_mistakes_is_answered_in_few_lines(site: Site) -> None:
    text = "version: 1\nreservations:\n" + "".join(f"  - {{name: n{number}}}\n" for number in range(500))
    answer = site.signed_in("operator").post("/plan", data={"text": text})
    assert answer.status_code == 422
    assert "more problems" in answer.text
    assert answer.text.count("the text:") <= 100
