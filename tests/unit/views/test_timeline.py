"""What a timeline says of boundaries that were and that come."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slotcar.base.timebase import Window, iso
from slotcar.book.model import Entry, Event, State
from slotcar.network.model import InterfaceId
from slotcar.network.path.model import Hop, Path
from slotcar.views.phases import Phase, records_of
from slotcar.views.timeline import TimelineItem, TimelineQuery, timeline
from tests.support.requests import T0, at, reservation

WIDE = TimelineQuery(at(-1000), at(1000))


def entry(number: int, *slots: tuple[int, int], devices: str = "r1 r2", **more: Any) -> Entry:
    """`slots` are minutes from T0."""
    request = reservation(f"n{number}").over(tuple(Window(at(start), at(end)) for start, end in slots))
    hops = tuple(
        Hop(name, InterfaceId(device=name, name="eth1"), InterfaceId(device=name, name="eth2"))
        for name in devices.split()
    )
    path = Path("src", "dst", "10.0.0.2", "10.0.3.2", request.service, hops, (), frozenset({"over"}))
    return Entry(f"h{number}", number, State.COMMITTED, 1, request, (path,), (), T0, T0, **more)


def log(*records: tuple[str, int, str | None, dict[str, Any]]) -> list[Event]:
    """Kind, seconds from T0, device, details."""
    return [
        Event(number, T0 + timedelta(seconds=second), kind, None, device, details)
        for number, (kind, second, device, details) in enumerate(records, 1)
    ]


def one(items: tuple[TimelineItem, ...], when: datetime) -> TimelineItem:
    return next(item for item in items if item.at == when)


def phases(item: TimelineItem) -> dict[str, str]:
    return {device.device: device.phase.value for device in item.devices}


def test_what_starts_and_ends_is_named_with_the_devices_that_it_concerns() -> None:
    entries = [entry(1, (0, 10)), entry(2, (10, 20), devices="r2 r3 over")]
    items = timeline(entries, [], WIDE, at(5))
    assert [(item.at, item.starting, item.ending, item.active) for item in items] == [
        (at(0), ("hep/n1",), (), 1),
        (at(10), ("hep/n2",), ("hep/n1",), 1),
        (at(20), (), ("hep/n2",), 0),
    ]
    assert phases(items[0]) == {"r1": "unrecorded", "r2": "unrecorded"}
    assert phases(items[1]) == {"r1": "planned", "r2": "planned", "r3": "planned"}, "none in a domain without QoS"


def test_devices_go_from_staged_to_active_as_the_log_tells() -> None:
    boundary = {"at": iso(at(1)), "devices": ["r1", "r2"]}
    events = log(
        ("push.started", 40, "r1", {"revision": "rev", "activate_at": iso(at(1))}),
        ("boundary.staged", 45, None, boundary),
        ("push.armed", 46, "r1", {"revision": "rev", "id": "x", "until": iso(at(9))}),
        ("push.verified", 47, "r1", {"revision": "rev", "activate_at": iso(at(1))}),
        ("boundary.active", 61, None, {"at": iso(at(1)), "devices": ["r1"], "lag_us": 20_000}),
        ("boundary.active", 62, None, {"at": iso(at(1)), "devices": ["r2"], "lag_us": {"r2": 70_000}}),
    )
    entries = [entry(1, (1, 9))]
    phases_then = [phases(one(timeline(entries, events[:count], WIDE, at(0)), at(1))) for count in range(7)]
    assert phases_then == [
        {"r1": "planned", "r2": "planned"}, {"r1": "staged", "r2": "planned"}, {"r1": "staged", "r2": "staged"},
        {"r1": "armed", "r2": "staged"}, {"r1": "armed", "r2": "staged"}, {"r1": "active", "r2": "staged"},
        {"r1": "active", "r2": "active"},
    ]  # fmt: skip
    item = one(timeline(entries, events, WIDE, at(2)), at(1))
    assert (item.phase, item.lag_us, item.skew_us) == (Phase.ACTIVE, 70_000, 50_000)
    assert one(timeline(entries, events[:5], WIDE, at(2)), at(1)).phase is Phase.STAGED, "as far as the last device"


def test_a_boundary_that_names_its_revision_is_armed() -> None:
    events = log(("boundary.staged", 45, None, {"at": iso(at(1)), "devices": ["r1"], "revision": "rev"}))
    assert phases(one(timeline([entry(1, (1, 9))], events, WIDE, at(0)), at(1))) == {"r1": "armed", "r2": "planned"}


def test_a_failure_stays_until_it_is_made_good_and_says_why() -> None:
    failed = {"at": iso(at(1)), "devices": ["r1"], "message": "no route"}
    events = log(
        ("boundary.staged", 45, None, {"at": iso(at(1)), "devices": ["r1", "r2"]}),
        ("boundary.failed", 60, None, failed),
        ("push.started", 70, "r1", {"revision": "again", "activate_at": iso(at(1) + timedelta(seconds=10))}),
        ("push.verified", 75, "r1", {"revision": "again", "activate_at": iso(at(1) + timedelta(seconds=10))}),
    )
    broken = one(timeline([entry(1, (1, 9))], events[:3], WIDE, at(2)), at(1))
    assert (broken.phase, broken.devices[0].message) == (Phase.FAILED, "no route")
    late = one(timeline([entry(1, (1, 9))], events, WIDE, at(2)), at(1)).devices[0]
    assert (late.phase, late.lag_us) == (Phase.ACTIVE, None)
    assert late.message == "late, at 2027-03-01T12:01:15Z: no route"


def test_a_reservation_that_was_withheld_is_so_at_its_start_until_its_devices_are_verified() -> None:
    withheld = Event(1, at(1), "push.withheld", "h1", None, {"devices": ["r2"], "message": "not active anywhere"})
    item = one(timeline([entry(1, (1, 9))], [withheld], WIDE, at(2)), at(1))
    assert (item.phase, phases(item)) == (Phase.WITHHELD, {"r1": "withheld", "r2": "withheld"})
    assert item.devices[0].message == "hep/n1 was withheld: trouble with r2"
    well = [
        Event(number, at(3), "push.verified", None, name, {"revision": "x", "activate_at": iso(at(3))})
        for number, name in ((2, "r1"), (3, "r2"))
    ]
    assert one(timeline([entry(1, (1, 9))], [withheld, *well], WIDE, at(4)), at(1)).phase is Phase.ACTIVE
    recurring = [entry(1, (-20, -10), (5, 9))]
    assert one(timeline(recurring, [withheld], WIDE, at(6)), at(5)).phase is Phase.WITHHELD
    assert one(timeline(recurring, [withheld], WIDE, at(6)), at(-20)).phase is Phase.UNRECORDED


def test_after_a_recovery_nothing_stays_armed_that_is_past_and_what_came_late_is_told() -> None:
    """A controller died after it had armed r1; the next one found r1 right, and pushed to r2 12 s late."""
    events = log(
        ("push.armed", 1, "r1", {"revision": "rev", "at": iso(at(1))}),
        ("controller.leading", 70, None, {}),
        ("push.verified", 72, "r2", {"revision": "late", "activate_at": iso(at(1) + timedelta(seconds=10))}),
        ("boundary.seen", 73, None, {"devices": ["r1"], "until": iso(at(1) + timedelta(seconds=10))}),
    )
    entries = [entry(1, (1, 2))]
    before = timeline(entries, events[:2], WIDE, at(3))
    assert phases(one(before, at(1))) == {"r1": "armed", "r2": "unrecorded"}
    items = timeline(entries, events, WIDE, at(3))
    assert [(each.phase, each.lag_us, each.message) for each in one(items, at(1)).devices] == [
        (Phase.ACTIVE, None, "in place by 2027-03-01T12:01:13Z"),
        (Phase.ACTIVE, None, "in place by 2027-03-01T12:01:12Z"),
    ]
    assert phases(one(items, at(2))) == {"r1": "unrecorded", "r2": "unrecorded"}, "it was seen before that boundary"


@pytest.mark.parametrize(
    ("kind", "second", "instant"),
    [("push.verified", 72, {"activate_at": iso(at(1))}), ("boundary.active", 61, {"at": iso(at(1))})],
)
def test_a_router_that_a_boundary_does_not_change_is_in_place_when_the_others_are(
    kind: str, second: int, instant: dict[str, Any]
) -> None:
    events = log((kind, second, "r1", instant | {"revision": "rev", "unchanged": ["r2"]}))
    (item, later) = timeline([entry(1, (1, 2))], events, WIDE, at(3))
    assert phases(item) == {"r1": "active", "r2": "active"}
    assert phases(later) == {"r1": "unrecorded", "r2": "unrecorded"}


def test_a_slot_that_is_told_to_be_withheld_is_so_at_its_start_until_it_is_in_place() -> None:
    """By a held router, of which no push failed."""
    edges = {"start": iso(at(1)), "end": iso(at(9)), "message": "r1: it is held"}

    def slot_event(number: int, minute: int, state: str) -> Event:
        devices = {"devices": {"r1": state, "r2": state}}
        return Event(number, at(minute), f"slot.{state}", "h1", None, edges | devices)

    events = [slot_event(1, 0, "withheld")]
    item = one(timeline([entry(1, (1, 9))], events, WIDE, at(2)), at(1))
    assert (item.phase, phases(item)) == (Phase.WITHHELD, {"r1": "withheld", "r2": "withheld"})
    assert item.devices[0].message == "r1: it is held"
    late = one(timeline([entry(1, (1, 9))], [*events, slot_event(2, 3, "in-place")], WIDE, at(4)), at(1))
    assert late.phase is Phase.UNCHANGED, "it was read, and no push to it is on record"
    begun = Event(0, at(1), "boundary.active", None, None, {"at": iso(at(1)), "devices": ["r1", "r2"]})
    assert one(timeline([entry(1, (1, 9))], [begun, *events], WIDE, at(2)), at(1)).phase is Phase.ACTIVE


def test_what_was_withheld_is_in_place_by_a_push_only() -> None:
    withheld = Event(1, at(1), "push.withheld", "h1", None, {"devices": ["r2"], "message": "not active anywhere"})
    boundary_event = Event(2, at(2), "boundary.seen", None, None, {"devices": ["r1"], "until": iso(at(2))})
    assert one(timeline([entry(1, (1, 9))], [withheld, boundary_event], WIDE, at(3)), at(1)).phase is Phase.WITHHELD
    failed = Event(
        1, at(1), "boundary.failed", None, None, {"devices": ["r1"], "at": iso(at(1)), "message": "no route"}
    )
    item = one(timeline([entry(1, (1, 9), devices="r1")], [failed, boundary_event], WIDE, at(3)), at(1))
    assert (item.phase, item.devices[0].message) == (Phase.ACTIVE, "late, at 2027-03-01T12:02:00Z: no route")


def test_a_push_that_was_not_rolled_back_says_so() -> None:
    events = log(
        ("push.started", 50, "r1", {"revision": "rev", "activate_at": iso(at(1))}),
        ("push.failed", 61, "r1", {"revision": "rev", "message": "the device differs"}),
        ("push.not-rolled-back", 63, "r1", {"revision": "rev", "message": "unreachable"}),
    )
    assert records_of(events)[at(1), "r1"].message == "not rolled back: unreachable"


def test_what_names_no_boundary_is_passed_over() -> None:
    odd = log(
        ("boundary.staged", 1, None, {"at": "soon", "devices": ["r1"]}),
        ("boundary.staged", 1, None, {"at": "2027-03-01T12:00:00", "devices": ["r1"]}),
        ("boundary.active", 1, None, {"devices": ["r1"]}),
        ("push.armed", 1, "r1", {"revision": "unknown"}),
        ("push.withheld", 1, None, {"devices": ["r1"]}),
        ("reservation.committed", 1, None, {"at": iso(at(0))}),
    )
    assert records_of(odd) == {}


def test_a_cancelled_reservation_keeps_the_boundaries_that_it_had() -> None:
    cancelled = replace(entry(1, (0, 10), (20, 30)), state=State.CANCELLED, changed_at=at(5))
    items = timeline([cancelled], [], WIDE, at(50))
    assert [(item.at, item.starting, item.active) for item in items] == [(at(0), ("hep/n1",), 1)]


@pytest.mark.parametrize("state", [State.HELD, State.AWAITING_APPROVAL, State.TIMED_OUT, State.REJECTED])
def test_what_was_never_committed_has_none(state: State) -> None:
    assert timeline([replace(entry(1, (0, 10)), state=state)], [], WIDE, at(0)) == ()


def test_it_is_asked_by_time_device_and_reservation() -> None:
    entries = [entry(1, (0, 10)), entry(2, (10, 20), devices="r9")]

    def times(**how: Any) -> list[datetime]:
        return [item.at for item in timeline(entries, [], replace(WIDE, **how), at(0))]

    assert times(since=at(0), until=at(10)) == [at(0), at(10)], "both ends belong to it"
    assert times(devices=("r9",)) == [at(10), at(20)]
    assert times(handle="h1") == [at(0), at(10)]
    assert times(limit=1) == [at(0)]


slots = st.tuples(st.integers(0, 40), st.integers(1, 20)).map(lambda one: (one[0], one[0] + one[1]))
states = st.tuples(st.sampled_from([State.COMMITTED, State.ENDED, State.CANCELLED, State.HELD]), st.integers(-5, 60))


@given(st.lists(st.tuples(slots, states), max_size=6))
def test_how_many_are_active_is_counted_as_it_is_defined(drawn: list[Any]) -> None:
    entries = [
        replace(entry(number, slot), state=state, changed_at=at(changed))
        for number, (slot, (state, changed)) in enumerate(drawn, 1)
    ]
    for item in timeline(entries, [], WIDE, at(0)):
        counted = [
            one
            for one in entries
            if one.state in (State.COMMITTED, State.ENDED)
            or (one.state is State.CANCELLED and item.at <= one.changed_at)
            if one.reservation.windows[0].contains(item.at)
        ]
        assert item.active == len(counted)


KINDS = ["boundary.staged", "push.started", "push.armed", "push.verified", "boundary.active", "boundary.failed"]


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(["r1", "r2"])), max_size=12))
def test_once_active_only_a_failure_takes_it_back(steps: list[tuple[str, str]]) -> None:
    details = {"at": iso(at(1)), "activate_at": iso(at(1)), "revision": "rev"}
    events = log(*((kind, 61 + index, device, details) for index, (kind, device) in enumerate(steps)))
    for count in range(len(events)):
        before, after = records_of(events[:count]), records_of(events[: count + 1])
        for key, record in before.items():
            if record.phase is Phase.ACTIVE and events[count].kind != "boundary.failed":
                assert after[key].phase is Phase.ACTIVE
