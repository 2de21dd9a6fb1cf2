"""What of an event each reader is shown."""

from __future__ import annotations

import ast
import json
from datetime import UTC, datetime
from pathlib import Path

from slotcar.ledger.model import Event
from slotcar.notify.message import message_of
from slotcar.policy.roles import Caller, Role
from slotcar.views.events import OWNERS_DETAILS, ROOM, ROOM_OWNER, shown_to

LEDGER = Path(__file__).parents[3] / "controller" / "slotcar" / "ledger"
HEP = Caller("cms", Role.REQUESTER, "hep")
ALL = [Caller("ops", Role.OPERATOR), Caller("eye", Role.AUDITOR)]


def moved(owner_of_other: str | None, **more: object) -> Event:
    details = {"owner": "hep", "name": "bulk", "version": 2, "reservation": {}, ROOM: "r-other", **more}
    if owner_of_other is not None:
        details[ROOM_OWNER] = owner_of_other
    return Event(7, datetime(2027, 3, 1, tzinfo=UTC), "reservation.moved", "r-bulk", None, details)


def test_whose_room_it_made_is_told_where_that_is_its_own_too() -> None:
    assert shown_to(moved("hep"), HEP).details[ROOM] == "r-other"
    for event in (moved("astro"), moved(None)):  # events from before have no owner
        assert shown_to(event, HEP).details == {"owner": "hep", "name": "bulk", "version": 2, "reservation": {}}
        assert all(shown_to(event, caller) is event for caller in ALL)


def test_what_is_new_is_shown_to_operators_until_it_is_listed() -> None:
    event = moved("hep", neighbours=["astro/secret"])
    assert "neighbours" not in shown_to(event, HEP).details
    assert shown_to(event, ALL[0]).details["neighbours"] == ["astro/secret"]


def test_an_owners_webhook_is_told_what_its_owner_is() -> None:
    event = moved("astro")
    assert "r-other" not in message_of("wh-1", event, "hep").body.decode()
    assert json.loads(message_of("wh-1", event).body)["data"]["details"][ROOM] == "r-other"


def test_every_detail_of_a_reservations_event_is_listed_or_another_owners() -> None:
    """A new one is not forgotten: it is shown, or it is named here."""
    recorded = {
        keyword.arg
        for file in LEDGER.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "record"
        for keyword in node.keywords
        if keyword.arg
    }
    assert {"before", "reservation", "hold_until", ROOM} <= recorded, "they were looked for where they are not"
    assert recorded - OWNERS_DETAILS == {ROOM, ROOM_OWNER}
