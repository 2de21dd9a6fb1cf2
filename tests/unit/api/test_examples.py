"""Every example of the API's document keeps to the schema beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from slotcar.admission.resource_id import ResourceId
from slotcar.api.app import openapi_document

DOCUMENT = openapi_document()


def contents() -> dict[str, tuple[dict[str, Any], Any]]:
    """Schema and example of every JSON that is asked or answered."""
    examples = {}
    for path, operations in DOCUMENT["paths"].items():
        for method, operation in operations.items():
            answers = {f"{status}": answer for status, answer in operation["responses"].items()}
            for name, part in {"asked": operation.get("requestBody", {}), **answers}.items():
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
    for operations in DOCUMENT["paths"].values():
        for operation in operations.values():
            good = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
            assert any("example" in content for content in good["content"].values()), operation["operationId"]


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
