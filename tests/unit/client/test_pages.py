"""Lists that the API gives page by page: a verb that promises all of a list gives all of it."""

from __future__ import annotations

from typing import Any

import pytest

from slotcar_client import calls
from slotcar_client.transport import Answer, Conversation, Request, Retries, steps_of

#: Each verb with the parameter by which its list goes on.
LISTS: dict[str, tuple[Any, str]] = {
    "timeline": (lambda **more: calls.timeline(**more), "from"),
    "boundaries": (lambda **more: calls.boundaries(**more), "from"),
    "revisions": (lambda **more: calls.revisions(**more), "before"),
    "webhook_dead_letters": (lambda **more: calls.webhook_dead_letters("w-1", **more), "after"),
    "reservations": (lambda **more: calls.reservations(**more), "after"),
    "groups": (lambda **more: calls.groups(**more), "after"),
}


def queries_and_items(conversation: Conversation[Any]) -> tuple[list[dict[str, Any]], Any]:
    """The queries of a conversation with a controller that has three pages, and what it ends with."""
    steps = steps_of(conversation, Retries())
    queries: list[dict[str, Any]] = []
    step = steps.send(None)
    try:
        while True:
            assert isinstance(step, Request)
            queries.append(dict(step.query))
            number = len(queries)
            page = {"items": [f"{number}a", f"{number}b"], "next": f"page {number + 1}" if number < 3 else None}
            step = steps.send(Answer(200, page))
    except StopIteration as done:
        return queries, done.value


@pytest.mark.parametrize("name", LISTS)
def test_all_of_a_list_are_all_of_its_pages(name: str) -> None:
    verb, cursor = LISTS[name]
    queries, given = queries_and_items(verb())
    assert given == ["1a", "1b", "2a", "2b", "3a", "3b"]
    assert [one.get(cursor) for one in queries] == [None, "page 2", "page 3"]


@pytest.mark.parametrize("name", LISTS)
def test_a_limit_asks_for_no_more(name: str) -> None:
    verb, _ = LISTS[name]
    queries, given = queries_and_items(verb(limit=4))
    assert (given, [one["limit"] for one in queries]) == (["1a", "1b", "2a", "2b"], [4, 2])


def test_a_list_begins_where_it_is_told_to() -> None:
    queries, _ = queries_and_items(calls.revisions(before="r-9"))
    assert queries[0]["before"] == "r-9"
    queries, _ = queries_and_items(calls.timeline(since="2027-03-01T00:00:00Z"))
    assert [one["from"] for one in queries] == ["2027-03-01T00:00:00Z", "page 2", "page 3"]
