"""How many webhooks there may be, of how many kinds, and where a requester's may lead."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from urllib.parse import urlsplit

from slotcar.base.problems import SlotcarError

#: Each is looked after at every event. So many of operators, so many of all owners, so many of one owner.
MOST_WEBHOOKS = 50
MOST_OF_OWNERS, MOST_OF_ONE = 100, 5
MOST_KINDS = 20


class WrongWebhook(SlotcarError):
    """What is asked of a webhook makes no sense; the message says what would."""


def check_kinds(kinds: int) -> None:
    """
    Raises:
        WrongWebhook: more than a webhook may have.
    """
    if kinds > MOST_KINDS:
        raise WrongWebhook(f"{kinds} kinds are more than {MOST_KINDS}: say beginnings such as `push.`")


def check_requesters(url: str, secret: str | None, allowed: Collection[str]) -> None:
    """
    Args:
        secret: where a requester says that its secret is. allowed: the hosts that the operator has named.

    Raises:
        WrongWebhook: it says anything of a secret, or leads to a host that the operator has not named.
    """
    if secret is not None:
        raise WrongWebhook("a requester's webhook has no secret of its own: leave it out, the answer has one")
    host = urlsplit(url).hostname or ""
    if host not in {one.strip("[]").lower() for one in allowed}:
        hosts = f"one of {', '.join(allowed)}" if allowed else "no host"
        raise WrongWebhook(
            f"a requester's events are sent to {hosts} (SLOTCAR_WEBHOOK_HOSTS), not to {host}; follow them instead,"
            " as a stream: slotcar events --follow, GET /v1/events/stream"
        )


def check_room(owner: str | None, owners: Sequence[str | None]) -> None:
    """
    Args:
        owner: of the webhook that is to be added, None for operators'. owners: of those that there are.

    Raises:
        WrongWebhook: there are as many as there may be.
    """
    limits = [(owners.count(None), MOST_WEBHOOKS, "of operators")]
    if owner is not None:
        of_owners = len(owners) - owners.count(None)
        limits = [
            (owners.count(owner), MOST_OF_ONE, f"of owner {owner}"),
            (of_owners, MOST_OF_OWNERS, "of owners"),
        ]
    for there_are, most, whose in limits:
        if there_are >= most:
            raise WrongWebhook(f"there are {most} webhooks {whose}, and no more may be: remove one first")
