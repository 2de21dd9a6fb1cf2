"""States in a word, a shape and a colour, and in sentences. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from slotcar.ledger.model import Entry, State
from slotcar.policy.roles import Caller, Role, is_operator, may_change
from slotcar.timebase import Window
from slotcar.views.device_states import DeviceState
from slotcar.views.phases import Phase
from slotcar.web.times import Clock


@dataclass(frozen=True, slots=True)
class StateMark:
    """`look`: good, wait, bad or soft, the class of its colour; the word and the shape say the same without it."""

    word: str
    shape: str
    look: str


PHASES = {
    Phase.PLANNED: StateMark("planned", "○", "soft"), Phase.STAGED: StateMark("staged", "◔", "wait"),
    Phase.ARMED: StateMark("armed", "◑", "wait"), Phase.ACTIVE: StateMark("active", "●", "good"),
    Phase.FAILED: StateMark("failed", "✕", "bad"), Phase.UNRECORDED: StateMark("unrecorded", "?", "soft"),
}  # fmt: skip
DEVICES = {
    DeviceState.EQUAL: StateMark("as wanted", "●", "good"), DeviceState.DRIFTED: StateMark("drifted", "≠", "bad"),
    DeviceState.FAILED: StateMark("failed", "✕", "bad"), DeviceState.WAITING: StateMark("waits to be adopted", "◌", "wait"),
    DeviceState.HELD: StateMark("held", "‖", "wait"), DeviceState.UNKNOWN: StateMark("not known", "?", "soft"),
}  # fmt: skip
_OVER = {
    State.CANCELLED: StateMark("cancelled", "✕", "soft"), State.REJECTED: StateMark("rejected", "✕", "bad"),
    State.TIMED_OUT: StateMark("timed out", "✕", "soft"), State.ENDED: StateMark("ended", "✓", "soft"),
}  # fmt: skip


def open_window(entry: Entry, now: datetime) -> Window | None:
    return next((one for one in entry.reservation.windows if one.contains(now)), None)


def next_window(entry: Entry, now: datetime) -> Window | None:
    return next((one for one in entry.reservation.windows if one.start > now), None)


def mark_of(entry: Entry, now: datetime) -> StateMark:
    if entry.state in _OVER:
        return _OVER[entry.state]
    if entry.state is State.HELD:
        return StateMark("held", "◌", "wait")
    if entry.state is State.AWAITING_APPROVAL:
        return StateMark("awaits approval", "?", "wait")
    if open_window(entry, now):
        return StateMark("running", "●", "good")
    return StateMark("coming", "○", "good") if next_window(entry, now) else StateMark("over", "✓", "soft")


def turns_at(entry: Entry, now: datetime) -> datetime | None:
    """When the sentence becomes another without anything being done; None where it does not."""
    if entry.state is State.HELD:
        return entry.hold_until
    if entry.state is not State.COMMITTED:
        return None
    running, coming = open_window(entry, now), next_window(entry, now)
    return running.end if running else coming.start if coming else None


def sentence(entry: Entry, clock: Clock) -> str:
    """What the reservation is at this moment, and what happens to it next."""
    now = clock.now
    if entry.state is State.HELD:
        until = clock.words(entry.hold_until) if entry.hold_until else "it is given back"
        return f"Held until {until}: commit it by then, or it is given back."
    if entry.state is State.AWAITING_APPROVAL:
        return "It waits for an operator's approval; its room is kept meanwhile."
    if entry.state is not State.COMMITTED:
        return f"It was {_OVER[entry.state].word} {clock.words(entry.changed_at)}, and takes no room."
    running, coming = open_window(entry, now), next_window(entry, now)
    after = f"; the next slot starts {clock.words(coming.start)}" if coming else ""
    if running:
        return f"It runs until {clock.words(running.end)}{after}."
    if coming:
        return f"It starts {clock.words(coming.start)}, {clock.distance(coming.start)}, and ends {clock.words(coming.end)}."
    return f"Its last slot ended {clock.words(entry.reservation.end)}."


def why_not_operator(caller: Caller, what: str) -> str:
    """Empty for an operator; else who may."""
    return "" if is_operator(caller) else f"Only an operator may {what}; you are {article(caller.role)}."


def why_not_change(caller: Caller) -> str:
    return "" if may_change(caller) else f"You are {article(caller.role)}, which only reads."


def article(role: Role) -> str:
    return f"{'an' if role.value[0] in 'aeiou' else 'a'} {role.value}"
