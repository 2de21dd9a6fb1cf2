"""What all verbs use: a request with JSON in its answer, lists that come in pages, times and versions as text."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import MISSING, fields, replace
from datetime import UTC, datetime
from typing import Any, TypeVar, get_args, overload
from urllib.parse import quote

from slotcar_client.transport import Conversation, Request
from slotcar_client.wire.documents import Keyword
from slotcar_client.wire.errors import Conflict, StaleVersion, Wrong
from slotcar_client.wire.verbs import Place, Status, Verb

T = TypeVar("T")
Time = str | datetime
Json = Mapping[str, Any]
#: Of one page; the API gives no more.
PAGE = 1000


def send_json(
    method: str, path: str, query: Json | None = None, body: Any = None, headers: Mapping[str, str] | None = None,
    repeatable: bool = True, answer_s: float | None = None,
) -> Conversation[Any]:  # fmt: skip
    answer = yield Request(method, path, without_unset(query or {}), body, headers or {}, repeatable, answer_s)
    if not isinstance(answer.body, dict):
        raise Wrong(answer.status, {"detail": f"it answers {answer.status} without JSON, and so not as Slotcar does"})
    return answer.body


def send(verb: Verb[T]) -> Conversation[T]:
    """The document that answers a verb. Where an attempt was lost that may have been done, it is looked whether it was
    (`Verb.settles`)."""
    try:
        return (yield from _answered(verb))
    except (Conflict, StaleVersion) as problem:
        if not (problem.maybe_done and verb.settles):
            raise
        entry: Any = yield from _answered(Status(verb.handle))  # type: ignore[attr-defined]
        if entry["state"] not in verb.settles:
            raise
        return entry


def _answered(verb: Verb[T]) -> Conversation[T]:
    """What of a verb's query is as it is by default is not said, but for a page's size; nor what of its body is None,
    unless that is all. A header that is not said is a key which makes it safe to send the verb again."""
    defaults = {field.name: field.default for field in fields(verb)}  # type: ignore[arg-type]
    given: dict[Place, dict[str, Any]] = {place: {} for place in Place}
    for field in verb.fields:
        value = getattr(verb, field.name)
        idle = field.place is Place.QUERY and field.name != "limit" and value == defaults[field.name]
        given[field.place][field.sent_as] = None if idle else value
    path = verb.address.format_map({name: quote(str(text), safe="") for name, text in given[Place.ADDRESS].items()})
    keys = given[Place.BODY]
    stated = {key: value for key, value in keys.items() if value is not None} or keys or None
    body = next(iter(given[Place.WHOLE].values()), stated)
    headers = _headers(given, needs_version=defaults.get("version") is MISSING)
    return (yield from send_json(verb.method, path, given[Place.QUERY], body, headers, verb.repeatable, verb.answer_s))


def _headers(given: Mapping[Place, Json], *, needs_version: bool) -> dict[str, str]:
    headers = {name: key or str(uuid.uuid4()) for name, key in given[Place.HEADER].items()}
    for version in given[Place.VERSION].values():
        headers |= {"If-Match": "*"} if version is None and needs_version else if_match(version)
    return headers


def if_match(version: int | None) -> dict[str, str]:
    return {} if version is None else {"If-Match": f'"{version}"'}


def without_unset(given: Json) -> dict[str, Any]:
    """Without what was not said."""
    return {key: value for key, value in given.items() if value is not None and value is not False and value != []}


@overload
def time_text(at: Time) -> str: ...
@overload
def time_text(at: None) -> None: ...
@overload
def time_text(at: Time | None) -> str | None: ...
def time_text(at: Time | None) -> str | None:
    if isinstance(at, datetime):
        if at.tzinfo is None:
            raise ValueError(f"{at.isoformat()} has no time zone")
        return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return at


def pages(
    verb: Verb[Any], limit: int | None = None, cursor: str = "after", *, goes_on: bool = False
) -> Conversation[Any]:
    """All items of a list that the API gives page by page, or the first `limit`; `cursor`: the field by which it goes on,
    which the verb may begin with. `goes_on`: the list has no last page, only one that is not full yet.

    Raises:
        Wrong: a page goes on where it began, so that the list would have no end.
    """
    listed: list[Any] = []
    page_verb: Any = verb
    longest = longest_page(type(verb))
    while True:
        size = longest if limit is None else min(longest, limit - len(listed))
        page = yield from send(replace(page_verb, limit=size))
        listed += page["items"]
        is_last = page["next"] is None or len(page["items"]) < (size if goes_on else 1)
        if is_last or (limit is not None and len(listed) >= limit):
            return listed
        if page["next"] == getattr(page_verb, cursor):
            raise Wrong(200, {"detail": "its list goes on where it was, without end, and so not as Slotcar's does"})
        page_verb = replace(page_verb, **{cursor: page["next"]})


def longest_page(verb: type[Verb[Any]]) -> int:
    """Of how many items the API gives a page at most."""
    (kind,) = (field.kind for field in verb.fields if field.name == "limit")
    return next(note.value for note in get_args(kind) if isinstance(note, Keyword) and note.name == "maximum")
