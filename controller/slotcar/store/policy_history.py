"""What was asked of policies in a time: the entries that were live in it, and what became of them, as of one moment."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, or_, select

from slotcar.book.model import OCCUPYING, Entry, Event
from slotcar.store import rows, schema
from slotcar_client.wire.events import PolicyPermitted, PolicyRefused

_entry, _event = schema.entry.c, schema.event.c
_LIVE = tuple(state.value for state in OCCUPYING)
_OF_RESERVATIONS = "reservation."
_POLICY_KINDS = (PolicyPermitted.kind, PolicyRefused.kind)


@dataclass(frozen=True, slots=True)
class PolicyHistory:
    """`entries`: by handle, as they are now. `events`: of these since they were created, and what was refused, in order."""

    entries: dict[str, Entry]
    events: tuple[Event, ...]


def read(connection: Connection, since: datetime, owners: Collection[str] | None) -> PolicyHistory:
    """Of the entries that were live at or after `since`, and of what was refused from then on.

    Args:
        owners: only theirs; None for all.
    """
    live = select(_entry.handle).where(or_(_entry.state.in_(_LIVE), _entry.changed_at >= since))
    of_owner = rows.SELECT_ENTRY.where(or_(_entry.state.in_(_LIVE), _entry.changed_at >= since))
    refused = (_event.kind == PolicyRefused.kind) & (_event.at >= since)
    if owners is not None:
        live, of_owner = live.where(_entry.owner.in_(owners)), of_owner.where(_entry.owner.in_(owners))
        refused &= _event.details["owner"].astext.in_(owners)
    theirs = _event.handle.in_(live) & or_(_event.kind.startswith(_OF_RESERVATIONS), _event.kind.in_(_POLICY_KINDS))
    events = connection.execute(rows.SELECT_EVENT.where(or_(theirs, refused)).order_by(_event.sequence))
    listed = tuple(map(rows.event_from_row, events))
    entries = map(rows.entry_from_row, connection.execute(of_owner))
    return PolicyHistory({one.handle: one for one in entries}, listed)
