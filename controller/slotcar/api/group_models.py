"""What the API answers of groups."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from slotcar.api.models import Answer, EntryOut
from slotcar.base.vocabulary import OnFailure
from slotcar.book.model import State
from slotcar.book.slot_now import SlotState


class GroupSetIn(Answer):
    """Several groups that are reserved in one decision, each as a reservation file says it."""

    together: list[dict[str, Any]] = Field(min_length=1)


class MemberOut(EntryOut):
    """A member: a reservation as the ledger holds it, of a flow or of another resource (`reservation.claim`)."""

    member: str = Field(description="its name in the group")
    on_failure: OnFailure = Field(description="what becomes of the group when it cannot be given at its slot's start")
    group: str = Field(description="handle of the group")


class GroupOut(Answer):
    """Several resources that were reserved together, all or none."""

    handle: str
    owner: str
    name: str
    version: int = Field(
        description="grows with every change of every member; approving it needs the one that was seen"
    )
    state: State = Field(description="of the members that live; where none does, what became of them")
    start: datetime
    end: datetime
    hold_until: datetime | None
    slot_state: SlotState | None = Field(
        default=None, description="what is on the devices of all members: of the one that is furthest from its promise"
    )
    members: list[MemberOut]


class GroupsOut(Answer):
    """One page; `next` is the cursor of the following one, None on the last."""

    items: list[GroupOut]
    next: str | None
