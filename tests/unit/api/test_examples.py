"""Every example of the API's document keeps to the schema beside it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import jsonschema
import pytest

from slotcar.admission.resource_id import ResourceId
from slotcar.api.app import openapi_document
from slotcar.api.examples import EXAMPLES, PROBLEMS
from slotcar.api.openapi import ERRORS
from slotcar.reservation import from_mapping
from slotcar.views.documents import reservation_document
from slotcar.views.offers import services_document

DOCUMENT = openapi_document()


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Path, method and operation."""
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def contents() -> dict[str, tuple[dict[str, Any], Any]]:
    """Schema and example of every JSON that is asked or answered."""
    examples = {}
    for path, method, operation in operations():
        for name, part in {"asked": operation.get("requestBody", {}), **operation["responses"]}.items():
            for media_type, content in part.get("content", {}).items():
                if "json" in media_type and "example" in content:
                    examples[f"{method} {path} {name}"] = (content["schema"], content["example"])
    return examples


@pytest.mark.parametrize("where", contents())
def test_an_example_is_what_its_schema_says(where: str) -> None:
    schema, example = contents()[where]
    validator = jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    assert [f"{error.json_path}: {error.message}" for error in validator.iter_errors(example)] == []


def test_every_operation_has_an_example_of_its_answer() -> None:
    for _, _, operation in operations():
        good = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
        assert any("example" in content for content in good["content"].values()), operation["operationId"]


def test_every_example_is_of_an_operation_or_of_a_status_that_there_is() -> None:
    statuses = {int(status) for _, _, operation in operations() for status in operation["responses"]}
    assert set(EXAMPLES) == {operation["operationId"] for _, _, operation in operations()} == set(ERRORS)
    assert set(PROBLEMS) == {status for status in statuses if status >= 400}


def test_an_answers_reservation_is_what_its_request_says() -> None:
    request, answers = EXAMPLES["create"]
    entry = answers["application/json"]
    asked_at = datetime.fromisoformat(entry["created_at"])
    assert entry["reservation"] == reservation_document(from_mapping(request, asked_at))
    assert EXAMPLES["services"].answers["application/json"] == services_document()


def amounts_in(document: Any) -> Iterator[dict[str, Any]]:
    """Everything in an example that is of one resource."""
    if isinstance(document, dict) and "resource" in document:
        yield document
    for one in document.values() if isinstance(document, dict) else document if isinstance(document, list) else ():
        yield from amounts_in(one)


def test_an_amount_in_an_example_has_its_resources_unit() -> None:
    listed = [one for _, example in contents().values() for one in amounts_in(example)]
    units = {one["resource"]: one["unit"] for one in listed}
    assert units == {name: ResourceId.parse(name).kind_of.unit for name in units}
    assert {"bps", "millicores"} <= set(units.values())
