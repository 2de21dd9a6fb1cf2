"""A boundary's diff: equal changes stand once, in hunks with their context."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from slotcar.base.timebase import Window
from slotcar.book.model import Entry, Event, State
from slotcar.network.model import Network
from slotcar.planning.routing import route
from slotcar.reservation.model import Endpoint
from slotcar.rollout.status import LoopStatus
from slotcar.views.boundary import LONGEST_BODY, DiffGroup, Hunk, differences_at, groups_document, groups_of
from slotcar.views.configurations import Differences
from slotcar.views.device_states import DeviceState, known_states
from tests.support.networks import line_network
from tests.support.requests import T0, at, reservation

NETWORK = line_network(5)


def entry(number: int, start: int, end: int, network: Network = NETWORK, **more: Any) -> Entry:
    request = reservation(f"n{number}", destination=Endpoint(host="dst", port=5000 + number)).over(
        (Window(at(start), at(end)),)
    )
    routed = route(request, network)
    state = more.pop("state", State.COMMITTED)
    return Entry(f"h{number}", number, state, 1, request, routed.paths, routed.demands, T0, T0, **more)


def groups_at(minute: int, *entries: Entry) -> tuple[DiffGroup, ...]:
    return groups_of(differences_at(entries, Differences(NETWORK), at(minute)))


def test_devices_that_change_alike_stand_together() -> None:
    groups = groups_at(10, entry(1, 10, 20))
    devices = [name for group in groups for name in group.devices]
    assert sorted(devices) == sorted(set(devices))
    assert "r1" in devices
    assert sum(group.added for group in groups) > 0
    assert all(group.removed + group.added > 0 for group in groups)
    same = [group.hunks for group in groups]
    assert len(same) == len({repr(one) for one in same})


def test_a_group_has_the_notes_of_its_devices() -> None:
    network = line_network(platform="cisco-car")
    (group,) = groups_of(differences_at([entry(1, 10, 20, network)], Differences(network), at(10)))
    assert group.notes[0] == "ip-premium is served by its weight of fair-queue tos and not in strict priority"


def test_what_ended_or_was_cancelled_since_is_shown_as_it_was() -> None:
    one = entry(1, 10, 20)
    ended, cancelled = replace(one, state=State.ENDED), replace(one, state=State.CANCELLED, changed_at=at(15))
    assert groups_at(10, ended) == groups_at(10, cancelled) == groups_at(10, one) != ()
    assert groups_at(20, ended) == groups_at(20, one) != ()
    assert groups_at(20, cancelled) == ()
    assert groups_at(10, replace(one, state=State.HELD)) == ()


def test_a_hunk_says_where_it_begins() -> None:
    groups = groups_at(10, entry(1, 0, 30), entry(2, 10, 20))
    hunk = groups[0].hunks[0]
    assert hunk.first_line > 0
    context = [line for line in hunk.lines if line.startswith(" ")]
    assert 1 <= len(context) <= 6
    assert {line[0] for line in hunk.lines} <= {" ", "+", "-"}


def test_a_long_body_is_told_and_left_out() -> None:
    long = DiffGroup(("r1",), (Hunk(1, ("+x",) * (LONGEST_BODY + 1)),))
    short, whole = groups_document([long], whole=False)[0], groups_document([long])[0]
    assert (short["lines"], short["added"], short["hunks"]) == (LONGEST_BODY + 1, LONGEST_BODY + 1, [])
    assert len(whole["hunks"][0]["lines"]) == LONGEST_BODY + 1


def event(number: int, kind: str, device: str, message: str = "") -> Event:
    return Event(number, T0 + timedelta(seconds=number), kind, None, device, {"message": message} if message else {})


@pytest.mark.parametrize(
    ("events", "state", "message"),
    [
        ([], DeviceState.UNKNOWN, ""),
        ([event(1, "push.verified", "r1")], DeviceState.EQUAL, ""),
        ([event(1, "push.verified", "r1"), event(2, "device.drifted", "r1", "changed")], DeviceState.DRIFTED, "changed"),
        ([event(2, "push.verified", "r1"), event(1, "device.drifted", "r1", "changed")], DeviceState.EQUAL, ""),
        ([event(1, "push.device-failed", "r1", "silent")], DeviceState.FAILED, "silent"),
        ([event(1, "device.unadopted", "r1", "new")], DeviceState.WAITING, "new"),
    ],
)  # fmt: skip
def test_a_device_is_as_the_last_event_left_it(events: list[Event], state: DeviceState, message: str) -> None:
    states = {one.device: one for one in known_states(NETWORK, events, None, at(60))}
    assert set(states) == set(NETWORK.devices)
    assert (states["r1"].state, states["r1"].message) == (state, message)
    assert states["r2"].state is DeviceState.UNKNOWN


@pytest.mark.parametrize(("minute", "state"), [(29, DeviceState.HELD), (30, DeviceState.UNKNOWN)])
def test_a_hold_ends_at_its_time_though_nobody_recorded_it(minute: int, state: DeviceState) -> None:
    details = {"actor": "ops", "message": "a new line card", "until": at(30).isoformat()}
    held = Event(1, T0, "device.held", None, "r1", details)
    shown = known_states(NETWORK, [held], None, at(minute))[0]
    assert (shown.state, "no controller that leads has read it since" in shown.message) == (state, minute == 30)
    troubled = known_states(NETWORK, [held], LoopStatus(troubles={"r1": "silent"}), at(30))[0]
    assert (troubled.state, troubled.message) == (DeviceState.FAILED, "silent")


def test_the_leader_knows_more_than_the_log() -> None:
    drifted = [event(1, "device.drifted", "r1", "changed")]
    read = known_states(NETWORK, drifted, LoopStatus(read_at={"r1": at(5)}, phases={"r1": "active"}), at(60))[0]
    assert (read.state, read.message, read.read_at, read.phase) == (DeviceState.EQUAL, "", at(5), "active")
    trouble = known_states(NETWORK, drifted, LoopStatus(read_at={"r1": at(5)}, troubles={"r1": "silent"}), at(60))[0]
    assert (trouble.state, trouble.message) == (DeviceState.FAILED, "silent")
