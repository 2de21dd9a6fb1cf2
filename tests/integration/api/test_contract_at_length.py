"""As `test_contract`, at the edges of the document and at length."""

from __future__ import annotations

from itertools import islice

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.generation import GenerationMode

from slotcar.auth.tokens import Role
from tests.integration.api.test_contract import check, schema, tokens

__all__ = ["tokens"]

MANY = settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
OPERATIONS = [found.ok() for found in schema.get_all_operations()]
#: Of one operation. A plan's document has many thousands, and each takes a tenth of a second to derive.
MOST_EDGES = 200

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("who", ["nobody", *(role.value for role in Role)])
@schema.parametrize()
@MANY
def test_every_answer_is_as_the_document_says_at_length(
    case: schemathesis.Case, tokens: dict[str, str], who: str
) -> None:
    check(case, tokens, who)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.label)
def test_every_answer_at_an_edge_is_as_the_document_says(
    operation: schemathesis.APIOperation, tokens: dict[str, str]
) -> None:
    """Derived while the test runs: schemathesis would do it for all of the document while tests are collected."""
    edges = schema.iter_coverage_cases(
        operation, generation_modes=list(GenerationMode), generation_config=schema.config.generation
    )
    cases = list(islice(edges, MOST_EDGES))
    assert cases
    for case in cases:
        check(case, tokens, Role.OPERATOR.value)
