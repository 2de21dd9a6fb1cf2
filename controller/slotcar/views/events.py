"""What of an event each reader is shown: operators and auditors all of it, an owner what is about its own reservation."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from slotcar.book.model import Event
from slotcar.book.rules.roles import Caller, only_owner
from slotcar_client.wire.events import KINDS, layout_of

#: Of these the handle of another reservation, shown where that is the owner's too; the second names its owner.
ROOM, ROOM_OWNER = "makes_room_for", "makes_room_for_owner"


@cache
def owners_details() -> frozenset[str]:
    """Details of events of reservations that their owner is shown, whatever the kind. What is in no class is not shown.

    Made when it is first asked for: to look through all classes would delay each command.
    """
    return frozenset(detail.key for kind in KINDS.values() for detail in layout_of(kind) if detail.owners)


def shown_to_owner(event: Event, owner: str) -> Event:
    """The event as this owner, whose reservation it is of, may see it."""
    details = {key: value for key, value in event.details.items() if key in owners_details()}
    if ROOM in event.details and event.details.get(ROOM_OWNER) == owner:
        details[ROOM] = event.details[ROOM]
    return replace(event, details=details)


def shown_to(event: Event, caller: Caller) -> Event:
    """The event as the caller, to whom it may be shown, may see it."""
    owner = only_owner(caller)
    return event if owner is None else shown_to_owner(event, owner)
