"""States of reservations and of slots, and what a group does when a member fails: the words of the wire."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Life of an entry (OGF NSI CS v2, §"reservation state machine", and GARA's verbs).

    It says what was promised; what is on the routers says the state of the entry's `slot` (ADR 60).
    """

    HELD = "held"
    AWAITING_APPROVAL = "awaiting-approval"
    COMMITTED = "committed"
    TIMED_OUT = "timed-out"
    REJECTED = "rejected"
    CANCELLED = "cancelled"
    ENDED = "ended"


class SlotState(StrEnum):
    """What is on the devices of a slot.

    `planned`: nothing yet. `armed`: they will begin it by themselves, or have nothing to do for it. `in-place`: read back.
    `withheld`: kept from it because another device is not ready, or held. `failed`: it took no push. `rolled-back`: an
    operator took it away. `ending`: verified before it was cancelled or its end came, and not seen to be gone yet. `ended`:
    seen to be gone. `unknown`: nobody has verified it since.
    """

    PLANNED = "planned"
    ARMED = "armed"
    IN_PLACE = "in-place"
    WITHHELD = "withheld"
    FAILED = "failed"
    ROLLED_BACK = "rolled-back"
    ENDING = "ending"
    ENDED = "ended"
    UNKNOWN = "unknown"

    @property
    def words(self) -> str:
        return self.value.replace("-", " ")


class OnFailure(StrEnum):
    """What becomes of a group when a member of it cannot be given at its slot's start.

    `end-all`: the whole group is cancelled. `go-on`: this member is cancelled, the others have their slots. `report`: it is
    told, and tried again until it works.
    """

    END_ALL = "end-all"
    GO_ON = "go-on"
    REPORT = "report"
