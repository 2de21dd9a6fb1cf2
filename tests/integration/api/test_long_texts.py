"""Whatever long text a request brings, it is refused in a short answer, or taken; none tells much of it again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from slotcar.api.app import openapi_document
from slotcar.api.examples import EXAMPLES
from slotcar.api.streaming import Streams
from slotcar.base import lengths
from tests.integration.api.conftest import Serve, body
from tests.support.long_texts import PATTERN, resolved, tells_too_much, text_of, too_long_value

DOCUMENT = openapi_document()
OPERATIONS = [
    (method, path, operation)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
]
#: The longest answer that tells of wrong texts: a hundred of them at most, each in a short sentence.
LONGEST_ANSWER = 100_000
#: By the key, what a text begins with so that more of the controller looks at it.
BEGINNINGS = {"url": "https://", "secret": "file:/", "kinds": "push."}
#: What may be a name, what may not, and a text of words.
PATTERNS = ("a", PATTERN, "a7 Qz ")


def requests_of(method: str, path: str, operation: dict[str, Any], beyond: int) -> Iterator[dict[str, Any]]:
    """Requests in which all texts are as long as they may be, and `beyond` characters more."""
    places = {one["name"]: one for one in operation.get("parameters", ())}
    query: dict[str, str] = {}
    headers: dict[str, str] = {}
    for name, one in places.items():
        schema = resolved(one["schema"].get("items", one["schema"]), DOCUMENT)
        if schema.get("type") != "string" or "enum" in schema:
            continue
        text = text_of(schema["maxLength"] + beyond)
        if one["in"] == "path":
            path = path.replace(f"{{{name}}}", text)
        else:
            (query if one["in"] == "query" else headers)[name] = text
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    example = EXAMPLES[operation["operationId"]].request
    yield {"method": method, "url": path, "params": query, "headers": headers, "json": example}
    if query or headers:  # beside what is right otherwise, and one by one
        for name in (*query, *headers):
            only = [{name: place[name]} if name in place else {} for place in (query, headers)]
            right = {"If-Match": "*"} if "If-Match" in headers and name != "If-Match" else {}
            yield {"method": method, "url": path, "params": only[0], "headers": only[1] | right, "json": example}
    for arm in (0, 1) if content else ():
        document = too_long_value(content["schema"], DOCUMENT, arm, beyond)
        yield {"method": method, "url": path, "headers": {"If-Match": "*"}, "json": document}


OF_ALL_DOMAINS = "this controller has all domains of its inventory: its SLSs stand there, and are changed there"


@pytest.mark.in_short("1")
@pytest.mark.parametrize("beyond", [0, 1, 5_000])
def test_no_answer_tells_much_of_what_was_sent(serve: Serve, beyond: int) -> None:
    api = serve(how={"streams": Streams(each=0)})  # a stream that opens would never end
    for method, path, operation in OPERATIONS:
        for request in requests_of(method.upper(), path, operation, beyond):
            sent = {key: one for key, one in request.items() if one is not None}
            answer = api.request(**sent)
            where = (operation["operationId"], answer.status_code, json.dumps(sent)[:500], answer.text[:1000])
            assert answer.status_code < 500 or answer.status_code == 503, where
            assert len(answer.content) < LONGEST_ANSWER, where
            if answer.status_code >= 400:
                assert not tells_too_much(answer.text), where
            if beyond and "json" in sent and request["json"] is not EXAMPLES[operation["operationId"]].request:
                # SLSs are agreed on by a controller of one domain, and this one has all.
                impossible = answer.status_code == 409 and OF_ALL_DOMAINS in answer.text
                assert impossible or answer.status_code in (400, 404, 413, 422), where


ONE_BY_ONE: list[tuple[str, dict[str, Any]]] = [
    (
        "/v1/reservations",
        body(labels={"run": "7"}, via=["anl-border"], timezone="UTC", recurrence="FREQ=DAILY;COUNT=2", rtt="5 ms"),
    ),
    ("/v1/enquiries", body(name=None, rate=None, owner="hep")),
    ("/v1/webhooks", {"url": "https://example.net/", "secret": "file:/nowhere", "kinds": ["push."]}),
    ("/v1/groups", EXAMPLES["group_create"].request or {}),
    ("/v1/applies", EXAMPLES["apply"].request or {}),
]


def one_by_one(document: Any, key: str = "") -> Iterator[Any]:
    """The document with one of its texts as long as it may be, for each of them."""
    if isinstance(document, str):
        most = lengths.LABEL if key == "run" else lengths.OF_KEY.get(key, lengths.OTHERWISE)
        yield from (text_of(most, BEGINNINGS.get(key, ""), pattern) for pattern in PATTERNS)
    elif isinstance(document, dict):
        for name, inner in document.items():
            for changed in one_by_one(inner, name):
                yield {**document, name: changed}
    elif isinstance(document, list):
        for number, inner in enumerate(document):
            for changed in one_by_one(inner, key):
                yield [*document[:number], changed, *document[number + 1 :]]


@pytest.mark.slow  # some hundred requests, one for each text
@pytest.mark.parametrize(("path", "example"), ONE_BY_ONE, ids=[path for path, _ in ONE_BY_ONE])
def test_no_answer_tells_much_of_one_text_among_right_ones(
    api: httpx.Client, path: str, example: dict[str, Any]
) -> None:
    for document in one_by_one(example):
        answer = api.post(path, json=document)
        if answer.status_code >= 400:
            assert answer.status_code < 500, answer.text
            assert not tells_too_much(answer.text), answer.text
            assert not any(text_of(101, pattern=one) in answer.text for one in PATTERNS), answer.text
