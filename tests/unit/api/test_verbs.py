"""Verbs that are said once (`slotcar_client.wire.verbs`): the route, and what the client sends, follow from the type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_type_hints, is_typeddict

import pytest

from slotcar.api.app import openapi_document
from slotcar.api.examples import EXAMPLES
from slotcar.base import lengths
from slotcar.base.lengths import OF_KEY
from slotcar.desk import answer_of
from slotcar_client.calls.requests import send
from slotcar_client.transport import Answer, Request
from slotcar_client.wire.documents import Keyword
from slotcar_client.wire.verbs import VERBS, Commit, Create, Hold, List, Modify, Rates, Status, Verb, WebhookRedeliver

DOCUMENT = openapi_document()
#: Operations of which address, fields, errors and answer are written at the route, in the client and in tables. It may only
#: fall: streams, plans and what is no JSON are written by hand for good (`plan`, `event_stream`, `metrics`, `healthz`,
#: `readyz`).
BY_HAND = 5


def test_fewer_and_fewer_operations_are_written_by_hand() -> None:
    by_hand = set(EXAMPLES) - set(VERBS)
    assert len(by_hand) == BY_HAND, "write the new number here"


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_an_operation_of_the_document(name: str) -> None:
    verb = VERBS[name]
    operation = DOCUMENT["paths"][verb.address][verb.method.lower()]
    assert (operation["operationId"], operation["summary"]) == (name, verb.summary)
    assert {int(status) for status in operation["responses"]} >= {201 if verb.created else 200, *verb.errors}


#: How long the controller lets texts be that it does not bound by their key alone.
LONGEST = {"rate": lengths.QUANTITY, "after": lengths.PLACE, "Idempotency-Key": lengths.IDEMPOTENCY_KEY}


def longest_of(kind: Any) -> Iterator[int]:
    """What a type lets the texts in it be."""
    for part in get_args(kind):
        if isinstance(part, Keyword) and part.name == "maxLength":
            yield part.value
        elif not is_typeddict(part):
            yield from longest_of(part)


@pytest.mark.parametrize("name", VERBS)
def test_the_texts_of_verbs_are_as_long_as_the_controller_lets_them_be(name: str) -> None:
    for field in VERBS[name].fields:
        for most in longest_of(field.kind):
            assert most == {**OF_KEY, **LONGEST}.get(field.sent_as, most), field


def test_the_rates_each_way_are_as_long_as_the_controller_lets_them_be() -> None:
    hints = get_type_hints(Rates, include_extras=True)
    assert {key: list(longest_of(kind)) for key, kind in hints.items()} == {
        "forward": [lengths.QUANTITY], "reverse": [lengths.QUANTITY],
    }  # fmt: skip


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_answered_at_the_desk(name: str) -> None:
    answer = answer_of(VERBS[name])
    assert answer.__module__ == f"slotcar.desk.{VERBS[name].family}"


SENT: list[tuple[Verb[Any], Request]] = [
    (Status("r-1/2"), Request("GET", "/v1/reservations/r-1%2F2")),
    (Commit("r-1"), Request("POST", "/v1/reservations/r-1/commit")),
    (Commit("r-1", 3), Request("POST", "/v1/reservations/r-1/commit", headers={"If-Match": '"3"'})),
    (
        Create({"name": "a"}, "5 min", "key-1"),
        Request("POST", "/v1/reservations", {"hold": "5 min"}, {"name": "a"}, {"Idempotency-Key": "key-1"}),
    ),
    (
        Modify("r-1", None, "5 Mbit/s"),
        Request("PATCH", "/v1/reservations/r-1", {}, {"rate": "5 Mbit/s"}, {"If-Match": "*"}),
    ),
    (WebhookRedeliver("w-1"), Request("POST", "/v1/webhooks/w-1/redeliver", body={"sequences": None})),
    (List(state=["held"], limit=3), Request("GET", "/v1/reservations", {"state": ["held"], "limit": 3})),
    (Hold("r1", "a fan"), Request("POST", "/v1/devices/r1/hold", body={"reason": "a fan"})),
]


@pytest.mark.parametrize(("verb", "request_of_it"), SENT)
def test_the_client_sends_what_the_verb_says(verb: Verb[Any], request_of_it: Request) -> None:
    conversation = send(verb)
    assert next(conversation) == request_of_it
    with pytest.raises(StopIteration) as done:
        conversation.send(Answer(200, {"handle": "r-1"}))
    assert done.value.value == {"handle": "r-1"}


def test_what_creates_has_a_key_by_which_it_may_be_sent_again() -> None:
    keys = [next(send(Create({"name": "a"}))).headers["Idempotency-Key"] for _ in range(2)]
    assert len(keys[0]) > 30
    assert keys[0] != keys[1]


def test_a_verb_says_what_it_is() -> None:
    assert (Create.operation, Create.method, Create.address, Create.created) == (
        "create",
        "POST",
        "/v1/reservations",
        True,
    )
    assert Create.answer.__name__ == "Entry"
