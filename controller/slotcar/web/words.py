"""States in a word, a shape and a colour, and in sentences. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from slotcar.base.timebase import Window
from slotcar.book.model import Entry, State
from slotcar.book.rules.roles import Caller, Role, may_change
from slotcar.book.slot_now import SlotState
from slotcar.book.slot_states import ACTING
from slotcar.policy.asking import owner_of, verdict_on
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
    Phase.WITHHELD: StateMark("withheld", "‖", "bad"),
    Phase.UNCHANGED: StateMark("nothing to do", "–", "soft"),
}  # fmt: skip
DEVICES = {
    DeviceState.EQUAL: StateMark("as wanted", "●", "good"), DeviceState.DRIFTED: StateMark("drifted", "≠", "bad"),
    DeviceState.FAILED: StateMark("failed", "✕", "bad"), DeviceState.WAITING: StateMark("waits to be adopted", "◌", "wait"),
    DeviceState.HELD: StateMark("held", "‖", "wait"), DeviceState.UNKNOWN: StateMark("not known", "?", "soft"),
}  # fmt: skip
SLOTS = {
    SlotState.PLANNED: StateMark("planned", "○", "soft"), SlotState.ARMED: StateMark("armed", "◑", "wait"),
    SlotState.IN_PLACE: StateMark("in place", "●", "good"), SlotState.WITHHELD: StateMark("withheld", "‖", "bad"),
    SlotState.FAILED: StateMark("failed", "✕", "bad"), SlotState.ROLLED_BACK: StateMark("rolled back", "↶", "bad"),
    SlotState.ENDING: StateMark("ending", "◒", "wait"), SlotState.ENDED: StateMark("ended", "✓", "soft"),
    SlotState.UNKNOWN: StateMark("unknown", "?", "wait"),
}  # fmt: skip
_LEDGER = {
    State.CANCELLED: StateMark("cancelled", "✕", "soft"), State.REJECTED: StateMark("rejected", "✕", "bad"),
    State.TIMED_OUT: StateMark("timed out", "✕", "soft"), State.ENDED: StateMark("ended", "✓", "soft"),
    State.HELD: StateMark("held", "◌", "wait"), State.AWAITING_APPROVAL: StateMark("awaits approval", "?", "wait"),
    State.COMMITTED: StateMark("committed", "○", "soft"),
}  # fmt: skip


#: What a caller is known by, by how `Caller.proof` begins.
_PROOFS = {
    "token ": "Token",
    "subject ": "Sign-in by OpenID Connect, without a password here",
    "certificate ": "Certificate of a program",
    "account ": "Account of the operating system",
    "signed messages ": "Signed messages of a neighbouring domain",
    "none": "Nothing",
}


def proof_words(caller: Caller) -> tuple[str, str]:
    """By which kind of proof somebody is known, and by which one."""
    kind = next((begin for begin in _PROOFS if caller.proof.startswith(begin)), "")
    detail = caller.proof.removeprefix(kind) if kind not in ("subject ", "account ") else caller.proof
    return _PROOFS.get(kind, "Another proof"), detail.lstrip(": ")


def mark_of(entry: Entry) -> StateMark:
    """What is on its devices, where it is in force or one does not know that it is gone; else the ledger's word."""
    slot = entry.slot
    if slot and (entry.state is State.COMMITTED or slot.state is not SlotState.ENDED):
        return SLOTS[slot.state]
    return _LEDGER[entry.state]


def open_window(entry: Entry, now: datetime) -> Window | None:
    return next((one for one in entry.reservation.windows if one.contains(now)), None)


def next_window(entry: Entry, now: datetime) -> Window | None:
    return next((one for one in entry.reservation.windows if one.start > now), None)


def turns_at(entry: Entry, now: datetime) -> datetime | None:
    """When the sentence becomes another without anything being done; None where it does not."""
    if entry.state is State.HELD:
        return entry.hold_until
    if entry.state is not State.COMMITTED:
        return None
    running, coming = open_window(entry, now), next_window(entry, now)
    if entry.slot and entry.slot.state is SlotState.ENDING:
        return entry.slot.window.end + ACTING
    if running and entry.slot and entry.slot.state is SlotState.ARMED:
        return running.start + ACTING
    return running.end if running else coming.start if coming else None


def sentence(entry: Entry, clock: Clock) -> str:
    """What the reservation is at this moment, on its devices too, and what happens to it next."""
    now = clock.now
    if entry.state is State.HELD:
        until = clock.words(entry.hold_until) if entry.hold_until else "it is given back"
        return f"Held until {until}: commit it by then, or it is given back."
    if entry.state is State.AWAITING_APPROVAL:
        return "It waits for approval; its room is kept meanwhile."
    if entry.state is not State.COMMITTED:
        left = f" {_on_devices(entry, clock)}" if entry.slot and entry.slot.state is not SlotState.ENDED else ""
        return f"It was {_LEDGER[entry.state].word} {clock.words(entry.changed_at)}, and takes no room.{left}"
    running, coming = open_window(entry, now), next_window(entry, now)
    after = f"; the next slot starts {clock.words(coming.start)}" if coming else ""
    devices = _on_devices(entry, clock)
    if running:
        return f"{devices} Its slot ends {clock.words(running.end)}{after}."
    if coming:
        when = f"{clock.words(coming.start)}, {clock.distance(coming.start)}, and ends {clock.words(coming.end)}"
        return f"It starts {when}. {devices}"
    return f"Its last slot ended {clock.words(entry.reservation.end)}. {devices}"


def _on_devices(entry: Entry, clock: Clock) -> str:
    """`It is in place, read back at 14:02.`, `It is withheld: r3: it takes no push.`"""
    slot = entry.slot
    if slot is None:
        return "Nobody was asked what is on its devices."
    why = f": {slot.why}" if slot.why else ""
    since = clock.words(slot.since) if slot.since else ""
    if slot.state is SlotState.IN_PLACE:
        return f"It is in place{f', read back {since}' if since else ''}."
    if slot.state is SlotState.UNKNOWN:
        return f"What its devices have is unknown{f' since {since}' if since else ''}{why}."
    if slot.state is SlotState.PLANNED:
        return f"Its devices have nothing of it yet{why}."
    if slot.state is SlotState.FAILED:
        return f"It failed{why}."
    return f"It is {slot.state.words}{why}."


#: The file, without its ending, of the policies that ship about roles: of them people are told in the page's own words.
SHIPPED_ROLES = "roles"


def why_not_operator(caller: Caller, what: str, verb: str = "operate") -> str:
    """Empty where the caller may do the verb; else who may, or which policy forbids it."""
    return _why_not(caller, verb, f"Only an operator may {what}; you are {article(caller.role)}.", what)


def why_not_change(caller: Caller, verb: str = "change", owner: str | None = None) -> str:
    """As `why_not_operator`, of a verb about reservations of an owner; the caller's own where none is named."""
    whose = owner_of(caller) if owner is None else owner
    only_reads = f"You are {article(caller.role)}, which only reads."
    usual = only_reads if not may_change(caller) else f"You change no reservations of {whose}."
    return _why_not(caller, verb, usual, f"{verb} a reservation of {whose}", whose)


def _why_not(caller: Caller, verb: str, usual: str, what: str, owner: str | None = None) -> str:
    verdict = verdict_on(caller, verb, owner)
    if verdict.allowed:
        return ""
    rules = [*verdict.by, *(near.rule for near in verdict.nearest[:1])]
    if not verdict.errors and all(rule.statement.file.partition(".")[0] == SHIPPED_ROLES for rule in rules):
        return usual
    words = {"who": caller.name, "what": what, "role": caller.role.value, "owner": owner_of(caller), "of": owner or ""}
    sentence = verdict.sentence(words)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def article(role: Role) -> str:
    return f"{'an' if role.value[0] in 'aeiou' else 'a'} {role.value}"
