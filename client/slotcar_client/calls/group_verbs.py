"""Groups: several resources reserved together, all or none."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from slotcar_client.calls.requests import Json, Time, if_match, pages, send_json, time_text
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents

#: Of one page; the API gives no more groups.
GROUPS_PAGE = 200


def group_create(group: Json, *, hold: str | None = None) -> Conversation[documents.Group]:
    """Reserves all members of what a reservation file would say of a group, or none; `hold` as of `create`.

    Raises:
        Refused: no room for some member, which it names, and nothing is held.
    """
    return (yield from send_json("POST", "/v1/groups", {"hold": hold}, group, repeatable=False))


def group_create_all(groups: Iterable[Json], *, hold: str | None = None) -> Conversation[list[documents.Group]]:
    """Reserves all members of all groups, or none of any; each group and `hold` as of `group_create`.

    Raises:
        Conflict: no room for some members, which it names, and nothing is held.
    """
    body = {"together": list(groups)}
    answer = yield from send_json("POST", "/v1/group-sets", {"hold": hold}, body, repeatable=False)
    created: list[documents.Group] = answer["items"]
    return created


def groups(
    *, owner: str | None = None, state: Iterable[str] = (), since: Time | None = None, until: Time | None = None,
    newest: bool = False, limit: int | None = None,
) -> Conversation[list[documents.Group]]:  # fmt: skip
    """All of them, page by page, or the first `limit`; `state` is the group's."""
    query = {
        "owner": owner, "state": list(state), "from": time_text(since), "until": time_text(until), "newest": newest
    }  # fmt: skip
    return (yield from pages("/v1/groups", query, GROUPS_PAGE, limit=limit))


def group(handle: str) -> Conversation[documents.Group]:
    """One group as it is now, with its members."""
    return (yield from send_json("GET", _group(handle)))


def group_commit(handle: str, *, version: int | None = None) -> Conversation[documents.Group]:
    """Makes a held group firm, or leaves it to approval."""
    return (yield from send_json("POST", f"{_group(handle)}/commit", headers=if_match(version), repeatable=False))


def group_cancel(handle: str, reason: str = "", *, version: int | None = None) -> Conversation[documents.Group]:
    """Gives all members back at once."""
    path, body = f"{_group(handle)}/cancel", {"reason": reason}
    return (yield from send_json("POST", path, body=body, headers=if_match(version), repeatable=False))


def group_approve(handle: str, *, version: int) -> Conversation[documents.Group]:
    """Lets what waits of its members through as it was at `version`: what somebody has seen. Operators only."""
    return (yield from send_json("POST", f"{_group(handle)}/approve", headers=if_match(version), repeatable=False))


def group_reject(handle: str, reason: str = "", *, version: int | None = None) -> Conversation[documents.Group]:
    """Turns away what waits of its members. Operators only."""
    path, body = f"{_group(handle)}/reject", {"reason": reason}
    return (yield from send_json("POST", path, body=body, headers=if_match(version), repeatable=False))


def _group(handle: str) -> str:
    return f"/v1/groups/{quote(handle, safe='')}"
