"""Every text that comes in has a greatest length: schemas say it, and a longer one is refused before it is looked at."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.api.app import openapi_document
from slotcar.api.examples import EXAMPLES
from slotcar.base import lengths
from slotcar.base.problems import MOST_QUOTED, InvalidInput, Problem, shortened
from slotcar.planning.plan_file import plan_of_document
from slotcar.reservation import from_mapping, json_schema, load_text
from slotcar.reservation.loading import read_group_documents
from slotcar.reservation.schema import group_schema, reservation_schema
from tests.support.long_texts import tells_too_much, text_of, texts, too_long_value

NOW = datetime(2027, 3, 1, 12, tzinfo=UTC)
DOCUMENT = openapi_document()
OPERATIONS = {
    operation["operationId"]: operation
    for operations in DOCUMENT["paths"].values()
    for operation in operations.values()
}
#: What a plan says to be read only may be of any length: it is not looked at.
NOT_READ = "steps[0].refusal"


def body_schema(operation: dict[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    schema: dict[str, Any] = content.get("application/json", {}).get("schema", {})
    return schema


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_text_of_a_request_has_a_greatest_length(name: str) -> None:
    operation = OPERATIONS[name]
    all_texts = [
        (f"{one['in']}:{one['name']}{path}", schema)
        for one in operation.get("parameters", ())
        for path, schema in texts(one["schema"], DOCUMENT)
    ]
    all_texts += texts(body_schema(operation), DOCUMENT)
    assert [path for path, schema in all_texts if "maxLength" not in schema] == []


def test_every_text_of_a_file_has_a_greatest_length() -> None:
    schema = json_schema()
    all_texts = dict(texts(schema, schema))
    assert len(all_texts) > 50
    assert [path for path, one in all_texts.items() if "maxLength" not in one] == []


def calls_of(action: Callable[[], object]) -> tuple[int, InvalidInput]:
    """How many functions, those written in C too, are called until it refuses; and how it refuses."""
    calls = 0

    def note(_frame: object, event: str, _what: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    # What the collector calls for the objects of other cases that it ends now is no part of it.
    gc.collect()
    gc.disable()
    sys.setprofile(note)
    try:
        action()
    except InvalidInput as error:
        return calls, error
    finally:
        sys.setprofile(before)
        gc.enable()
    raise AssertionError("it was not refused")


def read_reservation(document: Any) -> object:
    return from_mapping(document, NOW)


def read_group(document: Any) -> object:
    return read_group_documents([document], NOW, 1000)


def read_plan(document: Any) -> object:
    return plan_of_document(document, "plan", "")


READERS: dict[str, tuple[Callable[[Any], object], dict[str, Any], str]] = {
    "reservation": (read_reservation, reservation_schema(), ""),
    "group": (read_group, group_schema(), "together[0]."),
}


@pytest.mark.parametrize("arm", [0, 1])
@pytest.mark.parametrize("kind", READERS)
def test_a_longer_text_is_told_at_its_key_and_not_looked_at(kind: str, arm: int) -> None:
    read, schema, above = READERS[kind]
    documents = [too_long_value(schema, schema, arm, beyond) for beyond in (1, 1, 100_000)]
    for document in documents if kind == "group" else ():
        # Each member is of one kind, and the name of a group is no reason not to read its members.
        (member,) = document["members"]
        document |= {"name": "tonight", "on_failure": None}
        document["members"] = [
            {"name": kind, "on_failure": None, kind: member[kind]} for kind in ("network", "cpu", "storage")
        ]
    # What is kept from a first call on is no matter here.
    _, (few, _), (many, error) = [calls_of(lambda document=document: read(document)) for document in documents]
    problems_by_key = {one.key: one for one in error.problems if "is too long" in one.message}
    expected = {f"{above}{one.path}" for one in lengths.too_long(documents[-1])}
    assert len(expected) > 10
    assert expected <= problems_by_key.keys()
    assert many == few, "what is refused for its length costs the same, whatever its length"
    assert all(len(str(one)) < 400 and not tells_too_much(str(one)) for one in error.problems)


@pytest.mark.parametrize("beyond", [1, 100_000])
@pytest.mark.parametrize("place", ["made_at", "network", "set_name", "owners", "moves", "steps", "reservation"])
def test_a_longer_text_of_a_plan_is_refused(place: str, beyond: int) -> None:
    body = EXAMPLES["apply"].request
    document = json.loads(json.dumps(body))
    schema = DOCUMENT["components"]["schemas"]["PlanIn"]
    step = next(one for one in document["steps"] if one["reservation"])
    if place == "reservation":
        step["reservation"]["labels"] = {"run": text_of(lengths.LABEL + beyond)}
    elif place == "steps":
        step["seen"] = text_of(lengths.CHOICE + beyond)
    else:
        document[place] = too_long_value(schema["properties"][place], DOCUMENT, 0, beyond)
    read_plan(body)  # what is not too long is no reason
    with pytest.raises(InvalidInput) as refused:
        read_plan(document)
    assert len(str(refused.value)) < 400
    assert not tells_too_much(str(refused.value))


@pytest.mark.parametrize("key", ["start", "end"])
def test_an_instant_of_a_plan_has_no_fraction_without_end(key: str) -> None:
    document = json.loads(json.dumps(EXAMPLES["apply"].request))
    slot = next(one for one in document["steps"] if one["reservation"])["reservation"]["slots"][0]
    slot[key] = slot[key].replace("Z", f".{'0' * 1000}Z")
    with pytest.raises(InvalidInput, match="is too long"):
        read_plan(document)


@pytest.mark.parametrize("times", [1, 20])
def test_a_default_that_is_too_long_is_told_once(times: int) -> None:
    entries = [{"name": f"one{number}"} for number in range(times)]
    file = {"version": 1, "defaults": {"timezone": "Z" * 65, "source": "a"}, "reservations": entries}
    with pytest.raises(InvalidInput) as refused:
        load_text(json.dumps(file), "a.json", NOW)
    assert [one.key for one in refused.value.problems if "too long" in one.message] == ["defaults.timezone"]


@given(st.text(max_size=300), st.text(max_size=300))
def test_a_problem_tells_a_hundred_characters(key: str, value: str) -> None:
    problem = Problem("request", 0, key, "is wrong", value)
    assert max(len(problem.key), len(problem.value)) <= MOST_QUOTED
    assert shortened(value).startswith(value[: MOST_QUOTED - 3])
    assert len(value) > MOST_QUOTED or shortened(value) == value
