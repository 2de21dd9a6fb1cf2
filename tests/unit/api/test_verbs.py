"""Verbs that are said once (`slotcar_client.wire.verbs`): the route, and what the client sends, follow from the type."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from slotcar.api.app import openapi_document
from slotcar.api.examples import EXAMPLES
from slotcar.base import lengths
from slotcar_client.calls.requests import send
from slotcar_client.transport import Answer, Request
from slotcar_client.wire.documents import Keyword
from slotcar_client.wire.verbs import VERBS, Commit, Create, Hold, Status, Verb

DOCUMENT = openapi_document()
#: Operations of which address, fields, errors and answer are written at the route, in the client and in tables. It may only
#: fall: streams, plans and what is no JSON are written by hand for good (`plan`, `events`, `event_stream`, `metrics`,
#: `healthz`, `readyz`).
BY_HAND = 41


def test_fewer_and_fewer_operations_are_written_by_hand() -> None:
    by_hand = set(EXAMPLES) - set(VERBS)
    assert len(by_hand) == BY_HAND, "write the new number here"


@pytest.mark.parametrize("name", VERBS)
def test_a_verb_is_an_operation_of_the_document(name: str) -> None:
    verb = VERBS[name]
    operation = DOCUMENT["paths"][verb.address][verb.method.lower()]
    assert (operation["operationId"], operation["summary"]) == (name, verb.summary)
    assert {int(status) for status in operation["responses"]} >= {201 if verb.created else 200, *verb.errors}


#: By its name in a verb, how long the controller lets a text be.
LONGEST = {
    "handle": lengths.HANDLE, "hold": lengths.QUANTITY, "idempotency_key": lengths.IDEMPOTENCY_KEY, "device": lengths.PLACE,
    "reason": lengths.REASON, "owner": lengths.OWNER,
}  # fmt: skip


def test_the_texts_of_verbs_are_as_long_as_the_controller_lets_them_be() -> None:
    stated = {
        one.name: note.value
        for verb in VERBS.values()
        for one in verb.fields
        for note in get_args(one.kind)
        if isinstance(note, Keyword) and note.name == "maxLength"
    }
    assert stated == LONGEST


SENT: list[tuple[Verb[Any], Request]] = [
    (Status("r-1/2"), Request("GET", "/v1/reservations/r-1%2F2")),
    (Commit("r-1"), Request("POST", "/v1/reservations/r-1/commit")),
    (Commit("r-1", 3), Request("POST", "/v1/reservations/r-1/commit", headers={"If-Match": '"3"'})),
    (Create({"name": "a"}), Request("POST", "/v1/reservations", body={"name": "a"})),
    (
        Create({"name": "a"}, "5 min", "key-1"),
        Request("POST", "/v1/reservations", {"hold": "5 min"}, {"name": "a"}, {"Idempotency-Key": "key-1"}),
    ),
    (Hold("r1", "a fan"), Request("POST", "/v1/devices/r1/hold", body={"reason": "a fan", "until": None})),
]


@pytest.mark.parametrize(("verb", "request_of_it"), SENT)
def test_the_client_sends_what_the_verb_says(verb: Verb[Any], request_of_it: Request) -> None:
    conversation = send(verb)
    assert next(conversation) == request_of_it
    with pytest.raises(StopIteration) as done:
        conversation.send(Answer(200, {"handle": "r-1"}))
    assert done.value.value == {"handle": "r-1"}


def test_a_verb_says_what_it_is() -> None:
    assert (Create.name, Create.method, Create.address, Create.created) == ("create", "POST", "/v1/reservations", True)
    assert Create.answer.__name__ == "Entry"
