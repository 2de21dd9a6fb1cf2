"""The running API keeps to its own OpenAPI document, whatever it is sent, and never faults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from controller.api.app import openapi_document
from tests.integration.api.conftest import Serve

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def _generatable() -> dict[str, Any]:
    """Without what a reservation may leave to its file's defaults, which no generator solves, and what never ends."""
    document = openapi_document()
    del document["paths"]["/v1/events/stream"]
    del document["components"]["schemas"]["ReservationFileIn"]["allOf"]
    return document


schema = schemathesis.openapi.from_dict(_generatable())


@pytest.fixture
def address(serve: Serve) -> Iterator[str]:
    """Of an API of the test's own: what it is sent may reserve, change and cancel."""
    with serve() as client:
        yield str(client.base_url)


@schema.parametrize()
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_answer_is_as_the_document_says(case: schemathesis.Case, address: str) -> None:
    response = case.call(base_url=address, timeout=60)
    case.validate_response(response, checks=CHECKS)
