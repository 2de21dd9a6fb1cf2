"""What the controller that leads says of each slot, by what it verified and set aside: events `slot.*` (ADR 60)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from slotcar.book.appending import AppendEvents
from slotcar.book.model import Entry, State
from slotcar.book.slot_now import SlotState
from slotcar.book.slot_states import SlotRecord, configured_devices, form_of, present_slot
from slotcar.rollout.holding import Hold
from slotcar.store import Ledger
from slotcar_client.wire.events import OfSlot

#: A new leader looks for slots of which nobody has said yet that they ended, so long back.
LOOK_BACK = timedelta(days=7)
HELD, ASIDE, UNADOPTED, LOST = (
    "held by an operator", "it takes no push", "it waits to be adopted", "it is not in the inventory any more"
)  # fmt: skip
#: What a device may still have of a slot that is over.
_MAY_BE_THERE = (SlotState.IN_PLACE, SlotState.ARMED, SlotState.UNKNOWN, SlotState.FAILED)


@dataclass(frozen=True, slots=True)
class SlotFindings:
    """What a leader knows after a turn.

    Attributes:
        at: for which instant the devices have what is wanted.
        open: handles of what is open then; admitted: of those what is wanted on devices.
        armed: by boundary for which devices were armed, the handles that are wanted from then on.
        verified: devices that were read and have what is wanted, and do what they are to do.
        acting: devices that act by themselves.
        held: by an operator. aside: why devices take no push.
        verified_at: when each device was read that it was verified by. valid_for: so long that holds without another check.
        devices: all of the inventory.
    """

    at: datetime
    open: Collection[str]
    admitted: Collection[str]
    armed: Mapping[datetime, Collection[str]]
    verified: Collection[str]
    acting: Collection[str]
    held: Mapping[str, Hold]
    aside: Mapping[str, str]
    verified_at: Mapping[str, datetime]
    devices: Collection[str]
    valid_for: timedelta

    def record(
        self, entry: Entry, number: int, devices: Mapping[str, SlotState], why: Mapping[str, str], form: str
    ) -> SlotRecord:
        window = entry.reservation.windows[number - 1]
        # What is read just before a start has it from then.
        read = {
            name: max(self.verified_at.get(name, self.at), window.start)
            for name, state in devices.items()
            if state is SlotState.IN_PLACE
        }
        verified_at = min(read.values(), default=None)
        return SlotRecord(
            entry.handle,
            window,
            number,
            form,
            devices,
            why,
            verified_at,
            verified_at + self.valid_for if verified_at else None,
            version=entry.version,
            later={name: at for name, at in read.items() if verified_at and at > verified_at},
        )


def news(entries: Sequence[Entry], latest: Mapping[str, SlotRecord], findings: SlotFindings) -> Iterator[SlotRecord]:
    """What is to be said of the slots that was not said yet, in its order.

    Args:
        entries: live ones, as the ledger has them. latest: what was said last, by handle.
    """
    by_handle = {entry.handle: entry for entry in entries if entry.state is State.COMMITTED}
    for handle, record in latest.items():
        entry = by_handle.get(handle)
        if record.state is not SlotState.ENDED and (entry is None or record.window.end <= findings.at):
            ended = _ended(record, findings)
            if not ended.says_the_same_as(record):
                yield ended
    horizon = max([findings.at, *findings.armed])
    for entry in by_handle.values():
        if entry.reservation.start > horizon:  # a ledger may hold a hundred thousand of these
            continue
        number, window = present_slot(entry.reservation.windows, findings.at)
        if window.start > horizon or window.end <= findings.at:
            continue
        record = _present(entry, number, latest.get(entry.handle), findings)
        begins = set(record.devices.values()) != {SlotState.PLANNED}
        if not record.says_the_same_as(latest.get(entry.handle)) and (begins or entry.handle in latest):
            yield record


def _present(entry: Entry, number: int, latest: SlotRecord | None, findings: SlotFindings) -> SlotRecord:
    window = entry.reservation.windows[number - 1]
    earlier = latest if latest is not None and latest.is_of(entry, window) else None
    devices: dict[str, SlotState] = {}
    why: dict[str, str] = {}
    for name in sorted(configured_devices(entry)):
        before = earlier.devices.get(name) if earlier else None
        devices[name], reason = _of_device(name, entry.handle, window.start, window.end, before, findings)
        if reason:
            why[name] = reason
    form = earlier.form if earlier else form_of(entry, window)
    return findings.record(entry, number, devices, why, form)


def _of_device(
    name: str, handle: str, start: datetime, end: datetime, before: SlotState | None, findings: SlotFindings
) -> tuple[SlotState, str]:
    """Its state, and why where it is not as it should be. `before`: what was said of it last, of the same slot."""
    was_there = before in (SlotState.IN_PLACE, SlotState.UNKNOWN)
    if hold := findings.held.get(name):
        in_it = start <= hold.since < end or before is SlotState.ROLLED_BACK
        if handle in hold.removed and in_it:
            return SlotState.ROLLED_BACK, "by an operator"
        if before is SlotState.ROLLED_BACK:  # a later rollback brought it back, and nobody has read it since
            return SlotState.UNKNOWN, HELD
        return _of_held(before, is_open=start <= findings.at)
    if reason := (findings.aside.get(name) if name in findings.devices else LOST):
        return (SlotState.UNKNOWN if was_there else SlotState.FAILED), reason
    if name not in findings.verified:
        return (SlotState.UNKNOWN, ASIDE) if was_there else (SlotState.PLANNED, "")
    return _of_verified(name, handle, start, findings), ""


def _of_held(before: SlotState | None, *, is_open: bool) -> tuple[SlotState, str]:
    """Nothing is pushed to it: it keeps what it has, and does what it was armed to do."""
    if before is SlotState.IN_PLACE:
        return before, ""
    if before is SlotState.ARMED:
        return (SlotState.UNKNOWN if is_open else before), HELD
    return (before if before is SlotState.UNKNOWN else SlotState.WITHHELD), HELD


def _of_verified(name: str, handle: str, start: datetime, findings: SlotFindings) -> SlotState:
    if start <= findings.at:
        kept_from_it = handle in findings.open and handle not in findings.admitted
        return SlotState.WITHHELD if kept_from_it else SlotState.IN_PLACE
    if start not in findings.armed:
        return SlotState.PLANNED
    if handle not in findings.armed[start]:
        return SlotState.WITHHELD
    return SlotState.ARMED if name in findings.acting else SlotState.PLANNED


def _ended(latest: SlotRecord, findings: SlotFindings) -> SlotRecord:
    """What is to be said of a slot that is over, cancelled or moved away."""
    devices, why = {}, {}
    for name, before in latest.devices.items():
        taken_away = before not in _MAY_BE_THERE or name in findings.verified
        devices[name] = SlotState.ENDED if taken_away else SlotState.UNKNOWN
        if not taken_away:
            held = HELD if name in findings.held else ""
            why[name] = held or findings.aside.get(name) or (ASIDE if name in findings.devices else LOST)
    return SlotRecord(latest.handle, latest.window, latest.number, latest.form, devices, why, version=latest.version)


@dataclass(slots=True)
class SlotTelling:
    """Attributes:
    latest: what was said last of each slot, by handle; what has ended is forgotten.
    """

    ledger: Ledger
    latest: dict[str, SlotRecord] = field(default_factory=dict)

    def take_over(self, live: Iterable[Entry], now: datetime) -> None:
        """What other controllers said, of what is live and of what has ended lately."""
        handles = {entry.handle for entry in live} | {*self.ledger.summaries.over_since(now - LOOK_BACK)}
        records = self.ledger.summaries.slot_records(sorted(handles)).items()
        self.latest = {handle: one for handle, one in records if one.state is not SlotState.ENDED}

    def tell(self, live: Sequence[Entry], findings: SlotFindings, now: datetime) -> None:
        records = list(news(live, self.latest, findings))
        if records:
            entries = {entry.handle: entry for entry in live}
            entries |= self.ledger.get_all({one.handle for one in records} - entries.keys())  # those that have ended
            names = {handle: entry.reservation.key for handle, entry in entries.items()}
            self.ledger.run(AppendEvents(now, [(_event(one, names), one.handle) for one in records]))
        for one in records:
            self.latest[one.handle] = one
            if one.state is SlotState.ENDED:
                del self.latest[one.handle]


def _event(record: SlotRecord, names: Mapping[str, tuple[str, str]]) -> OfSlot:
    """With what people read: the reservation's name, and the routers."""
    owner, name = names.get(record.handle, ("", ""))
    reasons = [f"{device}: {why}" for device, why in sorted(record.why.items())]
    words = "; ".join(reasons) or f"on {', '.join(sorted(record.devices))}"
    return record.event(owner, name, words)
