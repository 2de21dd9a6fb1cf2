"""The running API keeps to its own OpenAPI document, whatever it is sent and whoever asks, and never faults."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    missing_required_header,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from slotcar.api.app import openapi_document
from slotcar.api.streaming import Streams
from slotcar.auth.tokens import create_token
from slotcar.base.settings import Settings
from slotcar.book.rules.roles import Role
from slotcar.network.model import Network
from slotcar.store import open_ledger
from tests.integration.api.conftest import GARNET, Running
from tests.integration.conftest import copied
from tests.support.examples import examples
from tests.support.patience import PATIENCE_S

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
#: The server's answer to what is no HTTP, such as a `Content-Length` of letters, which a random header may be: it never
#: reaches the API.
NO_HTTP = (400, b"Invalid HTTP request received.")
#: What a request that breaks the document must meet; who may not ask at all is told that first.
STRICT_CHECKS = [*CHECKS, negative_data_rejection, missing_required_header, unsupported_method]
SOME = examples(few=2, many=25, suppress_health_check=list(HealthCheck))

#: Statuses that tell of a wrong request; a text that is no ETag matches no version (412), and one that is longer than the
#: document lets it be may make the body too large (413).
REJECTED = [str(status) for status in (400, 401, 403, 404, 405, 412, 413, 415, 421, 422, 428, 429)]
STATUSES = {
    "checks": {one: {"expected-statuses": REJECTED} for one in ("negative_data_rejection", "missing_required_header")}
}
#: Cases at every edge of the document take minutes to derive, while tests are collected: only the long run has them.
WITHOUT_EDGES = schemathesis.Config.from_dict({**STATUSES, "phases": {"coverage": {"enabled": False}}})
schema = schemathesis.openapi.from_dict(openapi_document(), config=WITHOUT_EDGES)


@pytest.fixture(scope="module")
def tokens(
    server_url: str, migrated: str, network: Network, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """The address of an API of this module's own, and a token of each role.

    A stream that opens would never end, so none may be: each reader is told that there are too many.
    """
    folder, running, moment = tmp_path_factory.mktemp("contract"), Running(), datetime.now(UTC)
    secrets_ = {role.value: create_token(folder / "tokens.json", role.value, role, "hep", moment) for role in Role}
    with copied(server_url, migrated) as url, open_ledger(url, folder) as ledger:
        client = running.start(
            ledger, network, Settings(state_dir=Path(folder), inventory=GARNET), streams=Streams(each=0)
        )
        yield {**secrets_, "address": str(client.base_url)}
        running.stop()


def headers_of(tokens: dict[str, str], who: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {tokens[who]}"} if who in tokens else {}


def check(case: schemathesis.Case, tokens: dict[str, str], who: str) -> None:
    headers = headers_of(tokens, who)
    strict = STRICT_CHECKS if who == Role.OPERATOR.value else CHECKS
    response = case.call(base_url=tokens["address"], headers=headers, timeout=PATIENCE_S)
    if (response.status_code, response.content) == NO_HTTP:
        return
    # Shown with a failure, so that it can be asked again.
    options = {"base_url": tokens["address"], "headers": headers}
    case.validate_response(response, strict, headers=headers, transport_kwargs=options)


# Nobody is refused every verb in `rights`; at length it is compared with the document.
@pytest.mark.parametrize("who", [pytest.param("nobody", marks=pytest.mark.slow), Role.OPERATOR.value])
@schema.parametrize()
@SOME
def test_every_answer_is_as_the_document_says(case: schemathesis.Case, tokens: dict[str, str], who: str) -> None:
    # What is judged is what is sent: a random case that lacked its token, or had a wrong one, has the right one now.
    case.headers = {**(case.headers or {}), **headers_of(tokens, who)}
    check(case, tokens, who)
