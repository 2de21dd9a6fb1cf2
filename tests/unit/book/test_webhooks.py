"""How many webhooks there may be, and where a requester's may lead."""

from __future__ import annotations

import pytest

from slotcar.book.rules.webhooks import (
    MOST_KINDS,
    MOST_OF_ONE,
    MOST_OF_OWNERS,
    MOST_WEBHOOKS,
    WrongWebhook,
    check_kinds,
    check_requesters,
    check_room,
)


def test_operators_all_owners_and_each_owner_have_a_number_of_their_own() -> None:
    many: list[str | None] = [f"owner-{number % 40}" for number in range(MOST_OF_OWNERS)]
    check_room(None, [*many, *[None] * (MOST_WEBHOOKS - 1)])
    check_room("hep", [*["hep"] * (MOST_OF_ONE - 1), *[None] * MOST_WEBHOOKS])
    with pytest.raises(WrongWebhook, match="there are 50 webhooks of operators, and no more may be: remove one first"):
        check_room(None, [None] * MOST_WEBHOOKS)
    with pytest.raises(WrongWebhook, match="there are 5 webhooks of owner hep"):
        check_room("hep", ["hep"] * MOST_OF_ONE)
    with pytest.raises(WrongWebhook, match="there are 100 webhooks of owners"):
        check_room("hep", many)


@pytest.mark.parametrize(
    ("url", "secret", "allowed", "why"),
    [
        ("https://Hooks.Example.org/x", None, ("hooks.example.org",), ""),
        ("https://[2001:db8::1]/x", None, ("[2001:DB8::1]",), ""),
        ("https://elsewhere.org/x", None, ("a.org", "b.org"), "sent to one of a.org, b.org .*, not to elsewhere.org"),
        ("https://elsewhere.org/x", None, (), "sent to no host"),
        ("https://a.org/x", "env:KEY", ("a.org",), "has no secret of its own"),
    ],
)
def test_a_requesters_leads_to_a_host_that_the_operator_has_named(
    url: str, secret: str | None, allowed: tuple[str, ...], why: str
) -> None:
    if not why:
        check_requesters(url, secret, allowed)
        return
    with pytest.raises(WrongWebhook, match=why):
        check_requesters(url, secret, allowed)


def test_a_webhook_has_a_number_of_kinds_at_most() -> None:
    check_kinds(MOST_KINDS)
    with pytest.raises(WrongWebhook, match="21 kinds are more than 20"):
        check_kinds(MOST_KINDS + 1)
