"""What all verbs use: a request with JSON in its answer, lists that come in pages, times and versions as text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import quote

from slotcar_client.transport import Conversation, Request
from slotcar_client.wire.errors import Wrong
from slotcar_client.wire.verbs import Place, Verb

T = TypeVar("T")
Time = str | datetime
Json = Mapping[str, Any]
#: Of one page; the API gives no more.
PAGE = 1000


def send_json(
    method: str, path: str, query: Json | None = None, body: Any = None, headers: Mapping[str, str] | None = None,
    repeatable: bool = True,
) -> Conversation[Any]:  # fmt: skip
    answer = yield Request(method, path, without_unset(query or {}), body, headers or {}, repeatable)
    if not isinstance(answer.body, dict):
        raise Wrong(answer.status, {"detail": f"it answers {answer.status} without JSON, and so not as Slotcar does"})
    return answer.body


def send(verb: Verb[T]) -> Conversation[T]:
    """The document that answers a verb."""
    given: dict[Place, dict[str, Any]] = {place: {} for place in Place}
    for one in verb.fields:
        given[one.place][one.name] = getattr(verb, one.name)
    path = verb.address.format_map({name: quote(str(one), safe="") for name, one in given[Place.ADDRESS].items()})
    body = next(iter(given[Place.WHOLE].values()), given[Place.BODY] or None)
    key = next(iter(given[Place.KEY].values()), None)
    headers = if_match(given[Place.VERSION].get("version")) | ({Place.KEY.value: key} if key else {})
    return (yield from send_json(verb.method, path, given[Place.QUERY], body, headers))


def items(path: str, query: Json | None = None) -> Conversation[Any]:
    page = yield from send_json("GET", path, query)
    return page["items"]


def if_match(version: int | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"{version}"'}


def without_unset(given: Json) -> dict[str, Any]:
    """Without what was not said."""
    return {key: value for key, value in given.items() if value is not None and value is not False and value != []}


def time_text(at: Time | None) -> str | None:
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise ValueError(f"{at.isoformat()} has no time zone")
        return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return at


def pages(
    path: str, query: Json, page_size: int = PAGE, limit: int | None = None, cursor: str = "after"
) -> Conversation[list[Any]]:
    """All items of a list that the API gives page by page, or the first `limit`; `cursor`: the parameter by which it goes
    on, which `query` may begin with.

    Raises:
        Wrong: a page goes on where it began, so that the list would have no end.
    """
    listed: list[Any] = []
    after = query.get(cursor)
    while True:
        size = page_size if limit is None else min(page_size, limit - len(listed))
        page = yield from send_json("GET", path, {**query, cursor: after, "limit": size})
        listed += page["items"]
        if page["next"] is None or not page["items"] or (limit is not None and len(listed) >= limit):
            return listed
        if page["next"] == after:
            raise Wrong(200, {"detail": "its list goes on where it was, without end, and so not as Slotcar's does"})
        after = page["next"]
