"""Shares: what a community's manager shares out among its members."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar_client.calls.requests import Time, send, time_text
from slotcar_client.transport import Conversation
from slotcar_client.wire import documents, verbs


def share_give(
    community: str, name: str, rate: str, *, members: Iterable[str] = (), until: Time | None = None,
    hours: Iterable[int] = (), services: Iterable[str] = (),
) -> Conversation[documents.CommunityShare]:  # fmt: skip
    """Lets the owner `name`, or these members together, have at most `rate` of what the community was given.

    Raises:
        Wrong: more than the community has, or somebody is no member of it.
    """
    when = time_text(until)
    return (
        yield from send(verbs.ShareGive(community, name, rate, tuple(members), when, tuple(hours), tuple(services)))
    )


def share_withdraw(community: str, name: str) -> Conversation[documents.CommunityShare]:
    """Takes a share away.

    Raises:
        Conflict: there is none of that name.
    """
    return (yield from send(verbs.ShareWithdraw(community, name)))


def share_list() -> Conversation[documents.CommunityShares]:
    """What was shared out to one's owner, and in the communities that one manages."""
    return (yield from send(verbs.ShareList()))
