"""As `test_contract`, for the other roles, and at the edges of the document."""

from __future__ import annotations

from itertools import islice

import pytest
import schemathesis
from schemathesis.generation import GenerationMode

from slotcar.book.rules.roles import Role
from tests.integration.api.test_contract import NO_HTTP, SOME, check, schema, tokens
from tests.support.patience import PATIENCE_S

__all__ = ["tokens"]

OPERATIONS = [one.ok() for one in schema.get_all_operations()]
#: Of one operation. A plan's document has many thousands, and each takes a tenth of a second to derive.
MOST_EDGES = 200

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("who", [role.value for role in Role if role is not Role.OPERATOR])
@schema.parametrize()
@SOME
def test_every_answer_to_another_role_is_as_the_document_says(
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
        if is_about_the_token(case):
            answer = case.call(base_url=tokens["address"], timeout=PATIENCE_S)
            assert answer.status_code == 401 or (answer.status_code, answer.content) == NO_HTTP, answer.text
        else:
            check(case, tokens, Role.OPERATOR.value)


def is_about_the_token(case: schemathesis.Case) -> bool:
    """Whether its token is what it lacks, or has wrong: it is sent as it is, and not with the token that all others get."""
    data = case.meta.phase.data if case.meta is not None else None
    return (getattr(data, "parameter", None) or "").lower() == "authorization"
