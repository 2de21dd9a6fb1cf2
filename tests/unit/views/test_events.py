"""What of an event each reader is shown."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from slotcar.book.model import Event
from slotcar.book.rules.roles import Caller, Role
from slotcar.notify.message import message_of
from slotcar.views.events import ROOM, ROOM_OWNER, owners_details, shown_to
from slotcar.views.phases import slot_events_of
from slotcar_client.wire.events import KINDS, PROOF, SlotInPlace, layout_of

HEP = Caller("cms", Role.REQUESTER, "hep")
START = datetime(2027, 3, 1, 22, tzinfo=UTC)
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


def test_every_detail_of_a_reservations_event_is_an_owners_or_another_owners() -> None:
    """A new one is not forgotten: it is marked in its class, or it is named here."""
    kinds = [kind for kind in KINDS.values() if kind.kind.startswith("reservation.")]
    assert {detail.key for kind in kinds for detail in layout_of(kind)} - owners_details() == {
        ROOM,
        ROOM_OWNER,
        PROOF,
        "requester",
    }


def test_an_owner_is_shown_these_details_and_no_others() -> None:
    """A mark in a class shows a detail of every event of that name, also of those that were recorded before it."""
    shown = (
        "actor at before counted_s delegated_by delegated_until devices forward_bps hold_until may message"
        " missing_bytes name needed_bps owner part policies reason remaining_bytes reservation reserved_bits"
        " reverse_bps to used_bytes version"
    )
    assert sorted(owners_details()) == shown.split()


def test_a_slots_state_of_a_later_version_tells_of_no_boundary() -> None:
    slot = SlotInPlace(
        start=START, end=START, number=1, form="f", version=1, devices={"r1": "in-place", "r2": "dimmed"}
    )
    event = Event(7, START, slot.kind, "r-mine", None, json.loads(json.dumps(slot.details)))
    assert slot_events_of([event]) == {(START, "r1"): event}
