"""Which devices are set aside, why, and until when."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from slotcar.rollout.health import FIRST_RETRY, LAST_RETRY, DeviceHealth
from slotcar.rollout.status import LoopStatus
from slotcar_client.wire.events import DeviceSetAside
from tests.support.requests import T0


class Events:
    """In place of a ledger."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def record(self, says: DeviceSetAside, _at: object, *, device: str) -> None:
        self.messages.append(f"{device}: {says.message}")


@pytest.fixture
def health() -> DeviceHealth:
    ledger: Any = Events()
    return DeviceHealth(ledger, LoopStatus())


def test_a_device_is_set_aside_for_longer_each_time_and_not_for_ever(health: DeviceHealth) -> None:
    now, waits = T0, []
    for _ in range(8):
        health.set_aside("r1", "it does not answer", now)
        assert health.is_waiting("r1", now)
        (retry,) = health.retries(now)
        waits.append(retry - now)
        now = retry
        assert health.waiting(now) == set(), "it is tried again"
    assert (waits[0], waits[1], waits[-1]) == (FIRST_RETRY, 2 * FIRST_RETRY, LAST_RETRY)
    health.recovered(["r1"])
    health.set_aside("r1", "it does not answer", now)
    assert health.retries(now) == [now + FIRST_RETRY]


def test_a_reason_is_recorded_once_and_stands_in_the_status_until_it_is_over(health: DeviceHealth) -> None:
    for why in ("it does not answer", "it does not answer", "its disk is full"):
        health.set_aside("r1", why, T0)
    assert health.ledger.messages == ["r1: it does not answer", "r1: its disk is full"]  # type: ignore[attr-defined]
    assert (health.status.troubles, health.all_well) == ({"r1": "its disk is full"}, False)
    health.recovered(["r1", "r2"])
    assert (health.status.troubles, health.all_well) == ({}, True)


def test_of_many_only_those_are_set_aside_that_do_not_wait_already(health: DeviceHealth) -> None:
    assert health.set_aside_all({"r1": "no room", "r2": "no room"}, T0)
    assert not health.set_aside_all({"r1": "no room"}, T0)
    assert health.set_aside_all({"r1": "no room"}, T0 + FIRST_RETRY)


@pytest.mark.parametrize("ahead", [timedelta(minutes=1), timedelta(hours=1)])
def test_none_waits_for_longer_than_it_was_to_because_the_clock_was_ahead(
    health: DeviceHealth, ahead: timedelta
) -> None:
    health.set_aside("r1", "it does not answer", T0 + ahead)
    assert health.is_waiting("r1", T0 + ahead)
    assert (health.is_waiting("r1", T0), health.waiting(T0), health.retries(T0)) == (False, set(), [T0])
    health.set_aside("r1", "it does not answer", T0)
    assert health.retries(T0) == [T0 + 2 * FIRST_RETRY], "from now on by the right time"


def test_a_clock_that_a_time_server_holds_back_a_little_changes_no_wait(health: DeviceHealth) -> None:
    health.set_aside("r1", "it does not answer", T0)
    assert health.is_waiting("r1", T0 - timedelta(milliseconds=20))


def test_where_there_was_no_room_here_it_is_tried_again_as_soon_as_at_first(health: DeviceHealth) -> None:
    now = T0
    for _ in range(4):
        health.set_aside("r1", "no room", now, of_this_machine=True)
        (now,) = (retry for retry in health.retries(now) if retry - now == FIRST_RETRY)
    health.set_aside("r1", "it does not answer", now)
    assert health.retries(now) == [now + 2 * FIRST_RETRY]
