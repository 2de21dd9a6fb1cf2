"""What is on the routers of a slot: the one decision that every face prints, from what is recorded. Pure.

The ledger's state says what was promised; this says what was verified (ADR 60). The clock alone never puts a slot in place:
it only takes away what nobody has verified for too long.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from slotcar.base.timebase import Window, iso
from slotcar.book.model import Entry, Event, State
from slotcar.book.slot_now import DeviceSlot, SlotNow, SlotState, whole
from slotcar_client.wire import events
from slotcar_client.wire.events import ControllerChecked, DeviceHeld, DeviceReleased, OfSlot

#: Devices that were armed act by themselves at a start, and are read shortly after it: so long nothing is amiss.
ACTING = timedelta(seconds=60)
#: Events of a device after which nobody knows what it has, until a slot's event says it again.
_DOUBTS: Mapping[type, str] = {
    events.DeviceDrifted: "it was found changed by somebody else",
    events.DeviceSetAside: "it takes no push",
    events.PushFailure: "a push to it failed",
    events.PushNotRolledBack: "a push to it failed, and could not be rolled back",
}
#: Of these the last one of a device counts.
TELLING = tuple(
    kind.kind for kind in events.KINDS.values() if kind in {*_DOUBTS, DeviceHeld, DeviceReleased, events.PushVerified}
)


#: The event of a slot that is in this state now; nobody verifies that one is ending.
IN_STATE: Mapping[SlotState, type[OfSlot]] = {
    SlotState.PLANNED: events.SlotPlanned,
    SlotState.ARMED: events.SlotArmed,
    SlotState.IN_PLACE: events.SlotInPlace,
    SlotState.WITHHELD: events.SlotWithheld,
    SlotState.FAILED: events.SlotFailed,
    SlotState.ROLLED_BACK: events.SlotRolledBack,
    SlotState.ENDED: events.SlotEnded,
    SlotState.UNKNOWN: events.SlotUnknown,
}


@dataclass(frozen=True, slots=True)
class SlotRecord:
    """What the controller that led said of a slot when that changed last.

    Attributes:
        window: the slot's, from the start of what touches to the end of it.
        form: of the reservation when it was said (`form_of`). version: its version then; 0 where nobody knows.
        why: of devices that are not as they should be.
        verified_at: when the device was read that was read first. later: when others were, by device.
        until: it holds without another check until then; later nobody knows.
    """

    handle: str
    window: Window
    number: int
    form: str
    devices: Mapping[str, SlotState]
    why: Mapping[str, str] = field(default_factory=dict)
    verified_at: datetime | None = None
    until: datetime | None = None
    sequence: int = 0
    at: datetime | None = None
    version: int = 0
    later: Mapping[str, datetime] = field(default_factory=dict)

    @property
    def state(self) -> SlotState:
        return whole(list(self.devices.values()))

    def says_the_same_as(self, other: SlotRecord | None) -> bool:
        mine = (self.window, self.form, dict(self.devices), dict(self.why))
        return other is not None and mine == (other.window, other.form, dict(other.devices), dict(other.why))

    def is_of(self, entry: Entry, window: Window) -> bool:
        """Whether it was said of this slot, in the form that the reservation has now."""
        return self.window == window and (self.version == entry.version or self.form == form_of(entry, window))

    def event(self, owner: str = "", name: str = "", message: str = "") -> OfSlot:
        """Its event, with what people read: the reservation's name, and words."""
        return IN_STATE[self.state](
            start=self.window.start,
            end=self.window.end,
            number=self.number,
            form=self.form,
            version=self.version,
            devices={device: state.value for device, state in sorted(self.devices.items())},
            why=dict(sorted(self.why.items())) or None,
            verified_at=self.verified_at,
            until=self.until,
            later={device: at.isoformat() for device, at in sorted(self.later.items())} or None,
            owner=owner,
            name=name,
            message=message,
        )


def record_of(event: Event) -> SlotRecord:
    says = event.says
    assert isinstance(says, OfSlot)
    assert says.start
    assert says.end
    return SlotRecord(
        event.handle or "",
        Window(says.start, says.end),
        says.number,
        says.form,
        {name: SlotState(state) for name, state in says.devices.items()},
        says.why or {},
        says.verified_at, says.until, event.sequence, event.at, says.version,
        {name: datetime.fromisoformat(later) for name, later in (says.later or {}).items()},
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is recorded of the slots of a page of reservations.

    Attributes:
        records: the last of each reservation, by handle.
        devices: the last event of `TELLING` of each device.
        checked: the last event `ControllerChecked`.
        whole: whoever asks may know who holds a device, and a device's own words.
    """

    records: Mapping[str, SlotRecord] = field(default_factory=dict)
    devices: Mapping[str, Event] = field(default_factory=dict)
    checked: Event | None = None
    whole: bool = False


def form_of(entry: Entry, window: Window) -> str:
    """What devices are given for a slot, as a digest: equal where a change of the reservation changes nothing of that.

    A background reservation's rate is what others leave, and no form of its own.
    """
    own = entry.reservation
    inside = (one for one in own.slots if one.start < window.end and window.start < one.end)
    slots = [] if own.share else [(one.start_us, one.end_us, *one.rates) for one in inside]
    hops = [[(hop.device, hop.ingress.name, hop.egress.name) for hop in path.hops] for path in entry.paths]
    flow = [own.source, own.destination, own.protocol, own.direction, own.service, own.packet_size_bytes, own.rtt_us]
    if own.assured_class is not None:
        flow.append(own.assured_class)
    text = repr((slots, own.share, tuple(flow), own.claim, hops))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


#: Why no router has a slot that is open.
NOT_PROVISIONED = "its requester has not provisioned it"


def present_slot(windows: Sequence[Window], now: datetime) -> tuple[int, Window]:
    """Which slot is open, else the next one, else the last; counted from 1."""
    return next(((n, one) for n, one in enumerate(windows, 1) if now < one.end), (len(windows), windows[-1]))


def slot_now(entry: Entry, recorded: Recorded, now: datetime) -> SlotNow | None:
    """What is on the devices of a reservation's present slot. None of one that was never in force: no device has it."""
    record = recorded.records.get(entry.handle)
    if entry.state not in (State.COMMITTED, State.ENDED, State.CANCELLED) or (
        entry.state is State.CANCELLED and record is None
    ):
        return None
    number, window = present_slot(entry.reservation.windows, now)
    over = _over_since(entry, window, now)
    if over is not None and record is not None:
        number, window = record.number, record.window  # a cancelled one had that slot, whichever would have come next
    names = configured_devices(entry)
    if record is not None and (over is not None or record.is_of(entry, window)):
        names = set(record.devices)
    if entry.reservation.released and over is None:
        devices = tuple(DeviceSlot(name, SlotState.PLANNED, None, NOT_PROVISIONED) for name in sorted(names))
    else:
        devices = tuple(_device(name, entry, window, over, recorded, now) for name in sorted(names))
    states = [one.state for one in devices]
    if not devices:
        states = [SlotState.ENDED if over else SlotState.UNKNOWN if window.contains(now) else SlotState.PLANNED]
    state = whole(states)
    those = [one for one in devices if one.state is state]
    instants = [one.since for one in those if one.since is not None]
    return SlotNow(
        number,
        len(entry.reservation.windows),
        window,
        state,
        min(instants, default=None),
        _why(devices, state),
        devices,
    )


def _over_since(entry: Entry, window: Window, now: datetime) -> datetime | None:
    """When it was over: cancelled, or the last slot has ended; None of what is open, or to come."""
    if entry.state is State.CANCELLED:
        return min(entry.changed_at, window.end)
    return window.end if now >= window.end or entry.state is State.ENDED else None


def configured_devices(entry: Entry) -> set[str]:
    """The devices that are configured for it: not those of a domain that has no QoS; of a claim its place."""
    unreserved = {name for path in entry.paths for name in path.unreserved_devices}
    return set(entry.devices) - unreserved


def _device(
    name: str, entry: Entry, window: Window, over: datetime | None, recorded: Recorded, now: datetime
) -> DeviceSlot:
    record = recorded.records.get(entry.handle)
    if record is None or not record.is_of(entry, window):
        return _unrecorded(name, entry, window, over, record, now)
    of_record = DeviceSlot(name, record.devices[name], record.at, _say(name, record.why.get(name, ""), recorded))
    of_record = _by_newer_event(of_record, entry.handle, record, recorded)
    if over is not None:
        ending = _ending(of_record, window, over, record, recorded, now)
        return ending or _after_its_end(of_record, over)
    if of_record.state is SlotState.ARMED and window.start <= now:
        if now < window.start + ACTING:
            return of_record
        return DeviceSlot(name, SlotState.UNKNOWN, window.start, "nobody has read it since the start")
    if of_record.state is SlotState.PLANNED and window.start <= now:
        return DeviceSlot(name, SlotState.UNKNOWN, window.start, "nobody has read it since the start")
    return _while_verified(of_record, record, recorded, now) if of_record.state is SlotState.IN_PLACE else of_record


def _unrecorded(
    name: str, entry: Entry, window: Window, over: datetime | None, record: SlotRecord | None, now: datetime
) -> DeviceSlot:
    """Nothing was said of this slot in its present form."""
    if over is not None:
        by_device = record.devices if record is not None and record.window == window else {}
        before = by_device.get(name, SlotState.ENDED)
        return _after_its_end(DeviceSlot(name, before), over)
    if not window.contains(now):
        return DeviceSlot(name, SlotState.PLANNED)
    since = max(window.start, entry.changed_at)
    changed = " as it is since its last change" if record is not None and record.window == window else ""
    return DeviceSlot(name, SlotState.UNKNOWN, since, f"nobody has seen it there{changed}")


def _ending(
    of_record: DeviceSlot, window: Window, over: datetime, record: SlotRecord, recorded: Recorded, now: datetime
) -> DeviceSlot | None:
    """What is being taken away. None where nobody knows that it was there, or too long has nobody seen what came of it."""
    if of_record.state is SlotState.ARMED and now < window.start:
        return DeviceSlot(of_record.device, SlotState.ENDING, of_record.since, "armed until it is taken away")
    verified = of_record.state is SlotState.IN_PLACE and _while_verified(of_record, record, recorded, now)
    if not verified or verified.state is not SlotState.IN_PLACE or window.end + ACTING <= now:
        return None
    return replace(verified, state=SlotState.ENDING, why="in place until it is taken away")


def _after_its_end(of_record: DeviceSlot, over: datetime) -> DeviceSlot:
    if of_record.state in (SlotState.IN_PLACE, SlotState.ARMED, SlotState.UNKNOWN, SlotState.FAILED):
        since = of_record.since if of_record.state is SlotState.UNKNOWN and of_record.since else over
        return DeviceSlot(
            of_record.device, SlotState.UNKNOWN, since, of_record.why or "nobody has seen that it took the slot away"
        )
    return DeviceSlot(
        of_record.device, SlotState.ENDED, of_record.since if of_record.state is SlotState.ENDED else over
    )


def _by_newer_event(of_record: DeviceSlot, handle: str, record: SlotRecord, recorded: Recorded) -> DeviceSlot:
    """What was recorded of the device after the slot's own event, where nobody leads who would say it of the slot."""
    event = recorded.devices.get(of_record.device)
    if (
        event is None
        or event.sequence <= record.sequence
        or of_record.state not in (SlotState.IN_PLACE, SlotState.ARMED)
    ):
        return of_record
    says = event.says
    if isinstance(says, DeviceHeld | DeviceReleased) and handle in says.removed:
        is_held = isinstance(says, DeviceHeld)
        if is_held or not _checked_since(event.sequence, of_record.device, recorded):
            by = says.actor if recorded.whole and is_held else "an operator"
            return DeviceSlot(of_record.device, SlotState.ROLLED_BACK, event.at, f"by {by}")
    if why := _DOUBTS.get(type(says)):
        return DeviceSlot(of_record.device, SlotState.UNKNOWN, event.at, _say(of_record.device, why, recorded))
    return of_record


def _checked_since(sequence: int, device: str, recorded: Recorded) -> ControllerChecked | None:
    """The last check, where it came after the event of this number and the device had what was wanted."""
    event = recorded.checked
    says = event.says if event is not None and event.sequence > sequence else None
    return says if isinstance(says, ControllerChecked) and device not in says.lacking else None


def _while_verified(of_record: DeviceSlot, record: SlotRecord, recorded: Recorded, now: datetime) -> DeviceSlot:
    """In place, as of the last time that the device was read; not known once that was too long ago."""
    verified_at = record.later.get(of_record.device, record.verified_at or record.at)
    until = record.until
    if checked := _checked_since(record.sequence, of_record.device, recorded):
        later = checked.later.get(of_record.device)
        verified_at = datetime.fromisoformat(later) if later else checked.read_at
        until = checked.until
    if until is not None and until < now:
        return DeviceSlot(of_record.device, SlotState.UNKNOWN, verified_at, "no controller has read it since")
    return replace(of_record, since=verified_at)


def _say(device: str, why: str, recorded: Recorded) -> str:
    """A device's trouble: to who may see devices with its own words, or with who holds it."""
    event = recorded.devices.get(device)
    if not why or not recorded.whole or event is None:
        return why
    says = event.says
    if isinstance(says, DeviceHeld):
        return _held_words(says)
    return f"{why}: {says.words}" if says and says.words and type(says) in _DOUBTS else why


def _held_words(hold: DeviceHeld) -> str:
    end = f" until {iso(hold.until.replace(microsecond=0))}" if hold.until else ""
    return f"held by {hold.actor or 'an operator'}{end}{f' ({hold.message})' if hold.message else ''}"


def _why(devices: Iterable[DeviceSlot], state: SlotState) -> str:
    """The slot's reason: of its devices those that have one, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for one in devices:
        if one.why and state is not SlotState.IN_PLACE:
            by_reason.setdefault(one.why, []).append(one.device)
    return "; ".join(f"{', '.join(names)}: {why}" for why, names in by_reason.items())
