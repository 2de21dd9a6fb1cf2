"""Groups: several resources reserved together, all or none."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar_client.calls.requests import Json, Time, pages, send, time_text
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents, verbs


def group_create(group: Json, *, hold: str | None = None) -> Conversation[documents.Group]:
    """Reserves all members of what a reservation file would say of a group, or none; `hold` as of `create`.

    Raises:
        Refused: no room for some member, which it names, and nothing is held.
    """
    return (yield from send(verbs.GroupCreate(group, hold)))


def group_create_all(groups: Iterable[Json], *, hold: str | None = None) -> Conversation[list[documents.Group]]:
    """Reserves all members of all groups, or none of any; each group and `hold` as of `group_create`.

    Raises:
        Conflict: no room for some members, which it names, and nothing is held.
    """
    return (yield from send(verbs.GroupCreateAll(list(groups), hold)))["items"]


def groups(
    *, owner: str | None = None, state: Iterable[str] = (), since: Time | None = None, until: Time | None = None,
    newest: bool = False, limit: int | None = None,
) -> Conversation[list[documents.Group]]:  # fmt: skip
    """All of them, page by page, or the first `limit`; `state` is the group's."""
    verb = verbs.GroupList(owner, list(state) or None, time_text(since), time_text(until), newest)
    return (yield from pages(verb, limit))


def group(handle: str) -> Conversation[documents.Group]:
    """One group as it is now, with its members."""
    return (yield from send(verbs.Group(handle)))


def group_commit(handle: str, *, version: int | None = None) -> Conversation[documents.Group]:
    """Makes a held group firm, or leaves it to approval."""
    return (yield from send(verbs.GroupCommit(handle, version)))


def group_cancel(handle: str, reason: str = "", *, version: int | None = None) -> Conversation[documents.Group]:
    """Gives all members back at once."""
    return (yield from send(verbs.GroupCancel(handle, reason, version)))


def group_approve(handle: str, *, version: int) -> Conversation[documents.Group]:
    """Lets what waits of its members through as it was at `version`: what somebody has seen. Operators only."""
    return (yield from send(verbs.GroupApprove(handle, version)))


def group_reject(handle: str, reason: str = "", *, version: int | None = None) -> Conversation[documents.Group]:
    """Turns away what waits of its members. Operators only."""
    return (yield from send(verbs.GroupReject(handle, reason, version)))
