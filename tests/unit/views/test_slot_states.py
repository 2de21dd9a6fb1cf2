"""What is on the devices of a slot, decided from what is recorded: never in place by the clock alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Service
from slotcar.book.model import Entry, Event, State
from slotcar.book.slot_now import SlotNow, SlotState, whole
from slotcar.book.slot_states import ACTING, Recorded, SlotRecord, form_of, record_of, slot_now
from slotcar.network.model import InterfaceId
from slotcar.network.path.model import Hop, Path
from slotcar_client.wire.events import ControllerChecked
from tests.support.requests import T0, at, reservation

START, END = 10, 20
IN_PLACE, ARMED = SlotState.IN_PLACE, SlotState.ARMED


def entry(*windows: tuple[int, int], state: State = State.COMMITTED, **more: Any) -> Entry:
    """A reservation over r1 and r2; r3 is of a domain that has no QoS."""
    hops = tuple(Hop(name, InterfaceId(device=name, name="a"), InterfaceId(device=name, name="b")) for name in "123")
    hops = tuple(replace(hop, device=f"r{hop.device}") for hop in hops)
    path = Path("a", "b", "", "", Service.IP_PREMIUM, hops, (), frozenset({"r3"}))
    request = reservation().over(tuple(Window(at(start), at(end)) for start, end in windows or ((START, END),)))
    return Entry("h", 1, state, 1, request, (path,), (), T0, T0, **more)


def record(one: Entry, r1: SlotState, r2: SlotState, minute: int = START, **more: Any) -> SlotRecord:
    window = one.reservation.windows[0]
    by_device = {"r1": r1, "r2": r2}
    usual = {"verified_at": at(minute), "until": at(minute + 60), "sequence": 5, "at": at(minute)}
    return SlotRecord("h", window, 1, form_of(one, window), by_device, **(usual | more))


def slot_at(one: Entry, minute: float, record: SlotRecord | None = None, **more: Any) -> SlotNow:
    recorded = Recorded({"h": record} if record else {}, **more)
    slot = slot_now(one, recorded, T0 + timedelta(minutes=minute))
    assert slot is not None
    return slot


def event(sequence: int, kind: str, device: str | None = None, minute: int = START, **details: Any) -> Event:
    return Event(sequence, at(minute), kind, None, device, details)


def by_device(slot: SlotNow) -> Mapping[str, SlotState]:
    return {one.device: one.state for one in slot.devices}


def test_nothing_recorded_is_planned_before_the_start_and_unknown_from_it_on() -> None:
    assert slot_at(entry(), START - 1).state is SlotState.PLANNED
    slot = slot_at(entry(), START + 1)
    assert (slot.state, slot.since) == (SlotState.UNKNOWN, at(START))
    assert set(by_device(slot)) == {"r1", "r2"}, "not a device that has no QoS"


def test_a_device_is_in_place_since_it_was_read_itself() -> None:
    """One that had nothing to do for the slot was read before the others were pushed."""
    recorded = record(entry(), SlotState.IN_PLACE, SlotState.IN_PLACE, later={"r2": at(START + 1)})
    again = record_of(Event(5, at(START + 1), recorded.event().kind, "h", None, recorded.event().details))
    assert again.later == recorded.later
    slot = slot_at(entry(), START + 2, again)
    assert {one.device: one.since for one in slot.devices} == {"r1": at(START), "r2": at(START + 1)}


@pytest.mark.parametrize(
    "state", [State.HELD, State.AWAITING_APPROVAL, State.REJECTED, State.TIMED_OUT, State.CANCELLED]
)
def test_what_was_never_in_force_has_no_slot(state: State) -> None:
    assert slot_now(entry(state=state), Recorded(), at(15)) is None


def test_armed_is_not_in_place_however_late_it_is() -> None:
    armed = record(entry(), ARMED, ARMED, START - 5)
    assert slot_at(entry(), START - 1, armed).state is ARMED
    assert slot_at(entry(), START + 0.5, armed).state is ARMED, "they act by themselves, and are about to be read"
    late = slot_at(entry(), START + ACTING.total_seconds() / 60, armed)
    assert (late.state, late.since) == (SlotState.UNKNOWN, at(START))


def test_in_place_is_as_of_the_last_reading_and_unknown_once_nobody_reads() -> None:
    one = record(entry((START, 200)), IN_PLACE, IN_PLACE, until=at(START + 11))
    slot = slot_at(entry((START, 200)), START + 5, one)
    assert (slot.state, slot.since) == (IN_PLACE, at(START))
    assert slot_at(entry((START, 200)), START + 12, one).words == (
        "unknown since 2027-03-01T12:10:00Z: r1, r2: no controller has read it since"
    )
    checked = ControllerChecked(read_at=at(START + 10), until=at(START + 21), lacking=("r2",), later={})
    check = event(9, checked.kind, **checked.details)
    later = slot_at(entry((START, 200)), START + 15, one, checked=check)
    assert by_device(later) == {"r1": IN_PLACE, "r2": SlotState.UNKNOWN}, "r2 was not read then"
    assert later.devices[0].since == at(START + 10)
    assert later.state is SlotState.UNKNOWN


def test_what_was_said_of_another_form_or_another_slot_counts_for_nothing() -> None:
    before = entry()
    one = record(before, IN_PLACE, IN_PLACE)
    changed = replace(before, reservation=reservation("other", 7_000_000).over((Window(at(START), at(END)),)))
    changed = replace(changed, changed_at=at(START + 3))
    slot = slot_at(changed, START + 4, one)
    assert (slot.state, slot.since) == (SlotState.UNKNOWN, at(START + 3))
    elsewhere = replace(before, paths=(replace(before.paths[0], hops=before.paths[0].hops[:1]),), version=2)
    assert set(by_device(slot_at(elsewhere, START + 4, one))) == {"r1"}, "r2 is not on its path any more"
    labelled = replace(before, reservation=before.reservation.model_copy(update={"labels": {"a": "b"}}))
    assert slot_at(labelled, START + 4, one).state is IN_PLACE, "devices are given the same"
    twice = entry((START, END), (30, 40))
    first = record(twice, IN_PLACE, IN_PLACE)
    assert slot_at(twice, 25, first).state is SlotState.PLANNED
    assert slot_at(twice, 31, first).state is SlotState.UNKNOWN


@pytest.mark.parametrize("kind", ["device.drifted", "push.device-failed", "push.failed", "push.not-rolled-back"])
def test_a_doubt_that_is_newer_than_what_was_said_counts(kind: str) -> None:
    one = record(entry(), IN_PLACE, IN_PLACE)
    assert by_device(slot_at(entry(), 15, one, devices={"r2": event(6, kind, "r2")})) == {
        "r1": IN_PLACE, "r2": SlotState.UNKNOWN,
    }  # fmt: skip
    assert slot_at(entry(), 15, one, devices={"r2": event(4, kind, "r2")}).state is IN_PLACE
    assert slot_at(entry(), 15, one, devices={"r2": event(7, "push.verified", "r2")}).state is IN_PLACE


def test_a_rollback_is_known_though_nobody_leads_and_of_whom_it_took_it() -> None:
    one = record(entry(), IN_PLACE, IN_PLACE)
    taken = event(6, "device.held", "r2", actor="ops", removed=["h"])
    slot = slot_at(entry(), 15, one, devices={"r2": taken})
    assert (slot.state, slot.why) == (SlotState.ROLLED_BACK, "r2: by an operator")
    assert slot_at(entry(), 15, one, devices={"r2": taken}, whole=True).why == "r2: by ops"
    released = event(7, "device.released", "r2", actor="controller", removed=["h"])
    slot = slot_at(entry(), 15, one, devices={"r2": released}, whole=True)
    assert (slot.state, slot.why) == (SlotState.ROLLED_BACK, "r2: by an operator"), "nobody pushed to it since"
    checked = ControllerChecked(read_at=at(15), until=at(26), lacking=(), later={})
    check = event(8, checked.kind, **checked.details)
    assert slot_at(entry(), 16, one, devices={"r2": released}, checked=check).state is IN_PLACE, "somebody put it back"
    others = event(6, "device.held", "r2", actor="ops", removed=["h-other"])
    assert slot_at(entry(), 15, one, devices={"r2": others}).state is IN_PLACE, "it left this one there"


def test_operators_are_told_who_holds_a_device_and_until_when() -> None:
    one = record(entry(), SlotState.WITHHELD, SlotState.WITHHELD, why={"r2": "held by an operator"})
    held = event(4, "device.held", "r2", actor="ops", message="a fan", until=at(90).isoformat())
    assert slot_at(entry(), 15, one, devices={"r2": held}).why == "r2: held by an operator"
    assert slot_at(entry(), 15, one, devices={"r2": held}, whole=True).why == (
        "r2: held by ops until 2027-03-01T13:30:00Z (a fan)"
    )


@pytest.mark.parametrize(("over", "when"), [(State.ENDED, END), (State.CANCELLED, 0), (State.COMMITTED, END)])
def test_a_slot_is_ended_once_that_was_seen_and_unknown_until_then(over: State, when: int) -> None:
    one = entry(state=over)
    slot = slot_at(one, END + 5, record(one, IN_PLACE, IN_PLACE))
    assert (slot.state, slot.since) == (SlotState.UNKNOWN, at(when))
    assert slot_at(one, END + 5, record(one, SlotState.ENDED, SlotState.ENDED)).state is SlotState.ENDED
    assert slot_at(one, END + 5, record(one, SlotState.WITHHELD, SlotState.FAILED)).state is SlotState.UNKNOWN
    assert slot_at(one, END + 5, record(one, SlotState.WITHHELD, SlotState.WITHHELD)).state is SlotState.ENDED


def test_what_was_verified_and_is_cancelled_is_ending_until_its_devices_were_read_again() -> None:
    one = replace(entry(state=State.CANCELLED), changed_at=at(14))
    in_place = record(one, IN_PLACE, IN_PLACE, until=at(18))
    slot = slot_at(one, 15, in_place)
    assert (slot.state, slot.since) == (SlotState.ENDING, at(START)), "read back then"
    assert slot.words == "ending: r1, r2: in place until it is taken away"
    late = slot_at(one, 19, in_place)
    assert (late.state, late.since) == (SlotState.UNKNOWN, at(14)), "nobody has read it for too long"
    drifted = slot_at(one, 15, in_place, devices={"r2": event(6, "device.drifted", "r2")})
    assert by_device(drifted) == {"r1": SlotState.ENDING, "r2": SlotState.UNKNOWN}
    taken = slot_at(one, 15, in_place, devices={"r2": event(6, "device.held", "r2", removed=["h"])})
    assert by_device(taken) == {"r1": SlotState.ENDING, "r2": SlotState.ENDED}, "a rollback took it before"
    partly = slot_at(one, 15, record(one, IN_PLACE, SlotState.ENDED))
    assert partly.state is SlotState.ENDING
    armed = record(one, ARMED, ARMED, 5)
    assert slot_at(replace(one, changed_at=at(6)), 7, armed).why == "r1, r2: armed until it is taken away"
    assert slot_at(replace(one, changed_at=at(6)), START, armed).state is SlotState.UNKNOWN


def test_what_was_verified_and_has_reached_its_end_is_ending_for_as_long_as_devices_take() -> None:
    one = entry()
    in_place = record(one, IN_PLACE, IN_PLACE)
    assert slot_at(one, END, in_place).state is SlotState.ENDING
    assert slot_at(one, END + ACTING.total_seconds() / 60, in_place).state is SlotState.UNKNOWN


def test_a_slots_state_is_that_of_the_device_that_is_furthest_from_its_promise() -> None:
    assert whole([]) is SlotState.PLANNED
    assert whole([IN_PLACE, IN_PLACE]) is IN_PLACE
    assert whole([SlotState.WITHHELD, SlotState.FAILED]) is SlotState.WITHHELD
    assert whole([IN_PLACE, SlotState.FAILED]) is SlotState.FAILED
    for state in set(SlotState) - {IN_PLACE, SlotState.ENDED}:
        assert whole([IN_PLACE, state]) is state, "never in place where one device is not"
    assert whole([SlotState.ENDED, SlotState.UNKNOWN]) is SlotState.UNKNOWN


def test_a_record_is_what_its_event_says() -> None:
    one = record(entry(), IN_PLACE, SlotState.FAILED, why={"r2": "it takes no push"})
    kept = record_of(Event(5, at(START), one.event().kind, "h", None, one.event().details))
    assert kept == one
    assert one.event().kind == "slot.failed"
    assert kept.says_the_same_as(replace(one, sequence=9, verified_at=datetime.max.replace(tzinfo=T0.tzinfo)))
    assert not kept.says_the_same_as(replace(one, devices={"r1": IN_PLACE, "r2": IN_PLACE}))
