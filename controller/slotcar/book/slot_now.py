"""What is on the routers of a slot at one moment, and in which words people read it. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from slotcar.base.timebase import Window, iso
from slotcar_client.wire.states import SlotState as SlotState

#: Of a slot's devices the first of these that one of them has is the slot's.
_WORST_FIRST = (
    SlotState.ROLLED_BACK, SlotState.WITHHELD, SlotState.FAILED, SlotState.UNKNOWN, SlotState.PLANNED, SlotState.ARMED,
    SlotState.ENDING, SlotState.IN_PLACE, SlotState.ENDED,
)  # fmt: skip


def whole(states: Collection[SlotState]) -> SlotState:
    """The slot's state as a whole. Without a device there is nothing to verify: it is planned."""
    return next((one for one in _WORST_FIRST if one in states), SlotState.PLANNED)


@dataclass(frozen=True, slots=True)
class DeviceSlot:
    """One device of a slot. `since`: since when it is so, or was last verified; `why`: by what and by whom."""

    device: str
    state: SlotState
    since: datetime | None = None
    why: str = ""

    @property
    def words(self) -> str:
        return words_of(self.state, self.since, self.why)


@dataclass(frozen=True, slots=True)
class SlotNow:
    """The slot that is open, else the next one, else the last: what is on its devices at this moment.

    Attributes:
        number, of: which slot, counted from 1, of how many.
        since: since when; of `in-place` and `ending` when it was last verified, of `unknown` since when nobody has.
        why: by what and by whom, in words; empty where all is as it should be.
    """

    number: int
    of: int
    window: Window
    state: SlotState
    since: datetime | None
    why: str
    devices: tuple[DeviceSlot, ...] = ()

    @property
    def words(self) -> str:
        """`in place`, `withheld: r3 takes no push`, `unknown since 2027-03-01T22:00:00Z`."""
        return words_of(self.state, self.since, self.why)


def words_of(state: SlotState, since: datetime | None, why: str) -> str:
    """What a slot, or one device of it, is said to be: its state, since when where nobody knows it, and why."""
    when = f" since {_iso(since)}" if state is SlotState.UNKNOWN and since else ""
    return f"{state.words}{when}{f': {why}' if why else ''}"


def _iso(at: datetime) -> str:
    return iso(at.replace(microsecond=0))
