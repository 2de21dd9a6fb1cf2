"""Delays that are promised are checked under the ledger's lock, and cost who has nothing to do with them nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.settings import Settings
from slotcar.base.vocabulary import Service
from slotcar.book.model import Entry
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries
from slotcar.desk.requests import Requests
from slotcar.desk.reservations import cancel
from slotcar.planning.errors import RefusedByAdmission
from slotcar.planning.modification import Modification
from slotcar.reservation.model import Endpoint, TimeBound
from slotcar.store import Ledger
from slotcar_client.wire import verbs
from tests.support.networks import line_network
from tests.support.requests import T0, reservation
from tests.support.statements import statements_of

OPERATOR = Caller("ops", Role.OPERATOR)
MBPS = 1_000_000


@pytest.fixture
def desk(ledger: Ledger, tmp_path: Path) -> Desk:
    bare = line_network(capacity_bps=200 * MBPS, sls_bps=90 * MBPS)
    devices = {
        name: device.model_copy(
            update={
                "interfaces": {
                    key: one.model_copy(update={"propagation_us": 0 if one.neighbour else None})
                    for key, one in device.interfaces.items()
                }
            }
        )
        for name, device in bare.devices.items()
    }
    network = bare.model_copy(update={"devices": devices})
    return Desk(ledger, network, Settings(state_dir=tmp_path, inventory=tmp_path, open=True))


def create(desk: Desk, name: str, rate_mbps: int, delay_ms: int | None = None, **more: Any) -> Entry:
    if delay_ms is not None:
        more["delay"] = TimeBound(at_most_us=delay_ms * 1_000)
    port = 5_000 + sum(map(ord, name))
    ends = {"destination": Endpoint(host="dst", port=port)}
    return Requests(desk).create(reservation(name, rate_mbps * MBPS, **ends, **more), OPERATOR, T0)


def test_who_comes_later_is_refused_and_what_it_leaves_is_given_back(desk: Desk) -> None:
    bounded = create(desk, "a", 20, 30)
    with pytest.raises(RefusedByAdmission, match="hep/a is promised a delay of at most 30 ms forward"):
        create(desk, "b", 60)
    other = create(desk, "b", 2)
    with pytest.raises(RefusedByAdmission, match="the highest payload rate that fits is"):
        Requests(desk).modify(other.handle, Modification(rate_bps=60 * MBPS), OPERATOR, T0)
    cancel(verbs.Cancel(bounded.handle), desk, OPERATOR, T0)
    Requests(desk).modify(other.handle, Modification(rate_bps=60 * MBPS), OPERATOR, T0)


def test_what_is_promised_is_said(desk: Desk) -> None:
    bounded = create(desk, "a", 20, 30)
    (shown,) = Entries(desk).with_slots([bounded], OPERATOR, T0)
    (note,) = shown.notes
    assert note.startswith("forward, in the worst case: delay ")
    assert " of 30 ms; r1:eth2 " in note
    again = Entries(desk).status(bounded.handle, OPERATOR)
    assert again.reservation.delay == TimeBound(at_most_us=30_000)


def test_a_page_of_promises_is_read_beside_all_others_at_once(desk: Desk) -> None:
    entries = [create(desk, name, 2, 40) for name in "abc"]
    with statements_of(desk.ledger) as one_read:
        Entries(desk).with_slots(entries[:1], OPERATOR, T0)
    with statements_of(desk.ledger) as all_read:
        Entries(desk).with_slots(entries, OPERATOR, T0)
    assert len(all_read) == len(one_read)


def test_what_is_said_counts_what_begins_when_it_ends_as_admission_does(desk: Desk) -> None:
    bounded = create(desk, "a", 20, 30)
    (alone,) = Entries(desk).with_slots([bounded], OPERATOR, T0)
    create(desk, "b", 2, start=60, end=120)
    (beside,) = Entries(desk).with_slots([bounded], OPERATOR, T0)
    assert beside.notes != alone.notes


def test_of_requests_at_once_no_two_break_a_promise_together(desk: Desk) -> None:
    """Each by itself would fit."""
    create(desk, "a", 10, 22)

    def trial(number: int) -> bool:
        try:
            create(desk, f"b{number}", 12)
        except RefusedByAdmission:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        admitted = list(threads.map(trial, range(4)))
    assert 1 <= sum(admitted) < 4


def test_who_has_no_bound_where_there_is_none_asks_nothing_more(desk: Desk) -> None:
    """The statements of an admission are the same with and without a promise at another time, and no delay is computed."""
    create(desk, "warm", 1)
    with statements_of(desk.ledger) as before:
        create(desk, "b", 1)
    create(desk, "a", 20, 30, start=120, end=180)
    create(desk, "c", 1)  # reads the names of resources that are new
    calls: list[str] = []
    desk.ledger.set_terms(replace(desk.ledger.terms, check_delays=lambda *_: calls.append("check")))
    with statements_of(desk.ledger) as after:
        create(desk, "d", 1)
    assert len(after) == len(before)
    assert not calls
    create(desk, "e", 1, service=Service.ASSURED_RATE, start=120, end=180)
    assert not calls, "an assured rate makes no packet of premium wait"
    with statements_of(desk.ledger) as beside:
        create(desk, "f", 1, start=120, end=180)
    assert len(beside) == len(before) + 1
    assert calls == ["check"]
