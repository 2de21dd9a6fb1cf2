"""As `test_contract`, at every edge of the document and at length. Collected in the long run only (`conftest.py`)."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from controller.api.app import openapi_document
from controller.auth.tokens import Role
from tests.integration.api.test_contract import STATUSES, check, tokens

__all__ = ["tokens"]

MANY = settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
schema = schemathesis.openapi.from_dict(openapi_document(), config=schemathesis.Config.from_dict(STATUSES))


@pytest.mark.slow
@pytest.mark.parametrize("who", ["nobody", *(role.value for role in Role)])
@schema.parametrize()
@MANY
def test_every_answer_is_as_the_document_says_at_length(
    case: schemathesis.Case, tokens: dict[str, str], who: str
) -> None:
    check(case, tokens, who)
