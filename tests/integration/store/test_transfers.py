"""Volumes by a deadline in the ledger: profiles, reports of progress, moves that make room, and the version before."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from slotcar.admission import Demand, Refused
from slotcar.admission.highs import HighsSolver
from slotcar.base.timebase import Window
from slotcar.book.applying import ApplyPlan
from slotcar.book.errors import CannotKeep, PlanNotAdmitted, ProgressRefused
from slotcar.book.model import AdmissionRequest, Entry, EntryChange, ProgressReport, State, Terms
from slotcar.book.operation import Move
from slotcar.book.operations import Admit
from slotcar.book.reporting import Report
from slotcar.book.rules.gate import Gate
from slotcar.book.rules.policy import Policy
from slotcar.reservation.model import Reservation
from slotcar.store import Ledger, open_ledger
from tests.support.postgres import migrate
from tests.support.requests import RESOURCES, T0, at, request, reservation, transfer

#: 100 bit/s: one minute at full rate moves 750 bytes.
CAPACITY = 100
MINUTE = 750
TERMS = Terms(dict.fromkeys(RESOURCES, CAPACITY), {}, solver=HighsSolver())


def admission_of(reservation: Reservation, **more: object) -> AdmissionRequest:
    """A transfer's demands: headers are a quarter of the payload."""
    if reservation.need is None:
        return request(reservation, **more)
    demands = tuple(Demand(name, (1,), 5, 4) for name in RESOURCES)
    return replace(request(reservation, **more), demands=demands)


def admit(book: Ledger, reservation: Reservation, now: int = 0) -> Entry:
    entry = book.run(Admit(at(now), admission_of(reservation)))
    assert isinstance(entry, Entry), entry
    return entry


def steps(entry: Entry) -> list[tuple[float, float, int]]:
    """(start, end, rate) of each slot, in minutes."""
    minute = timedelta(minutes=1)
    return [((one.start - T0) / minute, (one.end - T0) / minute, one.forward_bps) for one in entry.reservation.slots]


def free(book: Ledger, start: int, end: int) -> list[int]:
    window = Window(at(start), at(end))
    return book.ask(lambda tables: [tables.capacity(name) - tables.peak(name, window) for name in RESOURCES], T0)[0]


def kinds(book: Ledger, handle: str) -> list[str]:
    return [event.kind.removeprefix("reservation.") for event in book.events(handle=handle)]


@pytest.fixture
def book(ledger: Ledger) -> Ledger:
    ledger.set_terms(TERMS)
    return ledger


def test_a_profile_is_found_and_its_headers_are_counted(book: Ledger, database_url: str, tmp_path: Path) -> None:
    admit(book, reservation("fixed", 60, 30, 60))
    entry = admit(book, transfer("bulk", 80 * 60 * 40 // 8, 60, shape="earliest"))
    assert steps(entry) == [(0, 30, 80), (30, 60, 32)] or steps(entry) == [(0, 30, 80), (30, 55, 32)]
    assert entry.demands == tuple(Demand(name, (100, 40)) for name in RESOURCES)
    assert book.get(entry.handle) == entry
    with open_ledger(database_url, tmp_path) as fresh:
        fresh.set_terms(TERMS)
        for each in (book, fresh):
            assert free(each, 0, 30) == [0, 0, 0]
            assert free(each, 30, 55) == [0, 0, 0]
        book.run(Move(T0, entry.handle, "tester", to=State.CANCELLED))
        assert free(fresh, 0, 30) == [100, 100, 100]


def test_a_refusal_says_the_most_volume_the_earliest_deadline_and_what_is_short(book: Ledger) -> None:
    admit(book, reservation("fixed", 100, 0, 50))
    refused = book.run(Admit(T0, admission_of(transfer("bulk", 8000, 60))))
    assert isinstance(refused, Refused)
    assert refused.transfer is not None
    assert refused.explain() == (
        "ip-premium on r1 eth2, outbound: 8 kB requested, room for 6 kB by 2027-03-01T13:00:00Z",
        "the most volume that fits by 2027-03-01T13:00:00Z is 6 kB",
        "the earliest deadline for the whole volume is 2027-03-01T13:03:20Z",
    )
    most, earliest = refused.transfer.most_bytes, refused.transfer.earliest_deadline
    assert isinstance(book.run(Admit(T0, admission_of(transfer("less", most, 60)))), Entry)
    assert earliest is not None
    later = transfer("later", 2000, 64)
    assert isinstance(book.run(Admit(T0, admission_of(later))), Entry)


def test_done_early_is_given_back_and_behind_asks_for_more(book: Ledger) -> None:
    entry = admit(book, transfer("bulk", 40 * 60 * 60 // 8, 60))
    assert steps(entry) == [(0, 60, 40)]
    half = book.run(Report(at(30), entry.handle, "hep", remaining_bytes=40 * 60 * 15 // 8))
    assert steps(half) == [(0, 30, 40), (30, 60, 20)]
    assert half.progress == ProgressReport(4500, at(30), 20)
    assert free(book, 30, 60) == [75, 75, 75]
    same = book.run(Report(at(40), entry.handle, "hep", remaining_bytes=20 * 60 * 20 // 8))
    assert steps(same) == steps(half), "as planned: no router is told anything"
    slow = book.run(Report(at(50), entry.handle, "hep", remaining_bytes=20 * 60 * 20 // 8))
    assert steps(slow) == [(0, 30, 40), (30, 50, 20), (50, 60, 40)]
    assert kinds(book, entry.handle) == ["committed", "progress", "progress", "progress"]


def test_what_is_behind_and_cannot_have_more_says_so(book: Ledger) -> None:
    entry = admit(book, transfer("bulk", 40 * 60 * 60 // 8, 60))
    admit(book, reservation("fixed", 50, 30, 60))
    behind = book.run(Report(at(30), entry.handle, "hep", remaining_bytes=40 * 60 * 60 // 8))
    assert behind.progress == ProgressReport(18000, at(30), 80, 9000)
    assert steps(behind) == [(0, 60, 40)]
    (event,) = book.events(handle=entry.handle, kinds=["reservation.behind"])
    assert event.details["missing_bytes"] == 9000
    assert event.details["message"].startswith("9 kB of 18 kB cannot be moved by 2027-03-01T13:00:00Z")


def test_nothing_remains_and_the_reservation_is_over(book: Ledger) -> None:
    one, other = (admit(book, transfer(name, 9000, 60, start)) for name, start in (("now", None), ("then", 30)))
    ended = book.run(Report(at(10), one.handle, "hep", remaining_bytes=0))
    assert (ended.state, steps(ended)) == (State.ENDED, [(0, 10, 20)])
    cancelled = book.run(Report(at(10), other.handle, "hep", remaining_bytes=0))
    assert cancelled.state is State.CANCELLED
    assert free(book, 10, 60) == [100, 100, 100]


def test_progress_that_cannot_be_is_refused(book: Ledger) -> None:
    fixed = admit(book, reservation("fixed", 10, 0, 60))
    moving = admit(book, transfer("bulk", 9000, 60))
    book.run(Report(at(10), moving.handle, "hep", remaining_bytes=6000))
    for entry, remaining, now, words in (
        (fixed, 1, 10, "hep/fixed has a fixed rate"),
        (
            moving,
            6001,
            20,
            "6.001 kB of hep/bulk cannot remain: that is more than what remained at 2027-03-01T12:10:00Z, 6 kB",
        ),
        (moving, 100, 60, "is past"),
    ):
        with pytest.raises(ProgressRefused, match=words):
            book.run(Report(at(now), entry.handle, "hep", remaining_bytes=remaining))
    held = book.run(Admit(T0, admission_of(transfer("held", 900, 60), hold_until=at(15))))
    assert isinstance(held, Entry)
    with pytest.raises(ProgressRefused, match="hep/held is held"):
        book.run(Report(at(1), held.handle, "hep", remaining_bytes=1))
    assert book.get(moving.handle).progress == ProgressReport(6000, at(10), 16)  # type: ignore[union-attr]


def moved_events(book: Ledger) -> list[tuple[str, str]]:
    return [
        (event.details["name"], event.details["makes_room_for"]) for event in book.events(kinds=["reservation.moved"])
    ]


def test_a_fixed_request_moves_a_transfer_and_nothing_passes_its_deadline(book: Ledger) -> None:
    bulk = admit(book, transfer("bulk", 80 * 60 * 20 // 8, 60, shape="earliest"))
    assert steps(bulk) == [(0, 20, 80)]
    fixed = admit(book, reservation("fixed", 100, 10, 30))
    after = book.get(bulk.handle)
    assert after is not None
    assert steps(after) == [(0, 10, 80), (30, 40, 80)]
    assert after.version == 2
    assert after.change == EntryChange(bulk.created_at, moves=1), "who was moved least is moved first"
    assert moved_events(book) == [("bulk", fixed.handle)]
    assert [free(book, *part) for part in ((0, 10), (10, 30), (30, 40))] == [[0, 0, 0]] * 3
    assert free(book, 40, 60) == [100, 100, 100]
    refused = book.run(Admit(T0, admission_of(reservation("too-much", 100, 30, 60))))
    assert isinstance(refused, Refused)
    assert book.get(bulk.handle) == after, "a refusal changes nothing"


def test_no_step_is_slower_than_what_the_platforms_police(book: Ledger) -> None:
    book.set_terms(replace(TERMS, policy=Policy(least_rate_bps=30)))
    admit(book, reservation("full", 75, 0, 20))
    bulk = admit(book, transfer("bulk", 10 * 60 * 60 // 8, 60))
    assert steps(bulk) == [(20, 40, 30)], "it pauses where less is free, and ends when it is done"
    slow = admit(book, transfer("slow", 10 * 60 * 60 // 8, 120, start=60, at_most_bps=10))
    assert steps(slow) == [(60, 120, 10)]


def test_what_moves_again_is_as_it_was_last_reported_and_within_the_gate_of_now(book: Ledger) -> None:
    bulk = admit(book, transfer("bulk", 80 * 60 * 20 // 8, 60, shape="earliest"))
    admit(book, reservation("first", 100, 10, 30))
    book.run(Report(at(5), bulk.handle, "hep", remaining_bytes=80 * 60 * 10 // 8))
    admit(book, reservation("second", 100, 30, 40), 5)
    after = book.get(bulk.handle)
    assert after is not None
    assert len(moved_events(book)) == 2
    assert sum(rate * (end - max(start, 5)) for start, end, rate in steps(after) if end > 5) == 80 * 10
    book.set_terms(replace(TERMS, policy=Policy(gate=Gate(rate_bps=10))))
    admit(book, reservation("third", 10, 41, 43), 6)
    assert len(moved_events(book)) == 3
    gated = book.get(bulk.handle)
    assert gated is not None
    assert max(rate for *_, rate in steps(gated)) <= 80


def test_nothing_moves_within_the_frozen_horizon(book: Ledger) -> None:
    book.set_terms(replace(TERMS, policy=Policy(frozen=timedelta(minutes=15))))
    admit(book, transfer("bulk", 80 * 60 * 20 // 8, 60, shape="earliest"))
    assert isinstance(book.run(Admit(T0, admission_of(reservation("soon", 100, 10, 30)))), Refused)
    admit(book, reservation("later", 100, 15, 30))
    assert moved_events(book)


def test_a_transfer_moves_others_where_earliest_deadline_first_finds_nothing(book: Ledger) -> None:
    """Volumes 1, 1, 2 by 2, 2, 2.001, each capped at half of the capacity (in units of ten minutes)."""
    unit = 40 * 600 // 8
    for name in ("one", "two"):
        admit(book, transfer(name, unit, 21, 1, at_most_bps=40, shape="earliest"))
    third = transfer("three", 2 * unit, 22, 1, at_most_bps=40)
    third = third.model_copy(
        update={"need": third.need.model_copy(update={"by": at(21) + timedelta(seconds=1)})}  # type: ignore[union-attr]
    )
    entry = admit(book, third)
    assert sum((one.end - one.start).total_seconds() * one.forward_bps for one in entry.reservation.slots) >= 16 * unit
    assert len(moved_events(book)) == 1


def test_a_chain_is_moved_by_the_linear_program(book: Ledger) -> None:
    """`a` can only go where `b` is, and `b` is as late as it can be; a late one leaves a tenth of 80."""
    unit = 72 * 600 // 8
    a = admit(book, transfer("a", unit, 50, 30, shape="latest"))
    b = admit(book, transfer("b", unit, 40, 2, shape="latest"))
    assert [steps(a), steps(b)] == [[(40, 50, 72)], [(30, 40, 72)]]
    fixed = admit(book, reservation("fixed", 100, 40, 50))
    assert sorted(moved_events(book)) == [("a", fixed.handle), ("b", fixed.handle)]
    moved = [book.get(one.handle) for one in (a, b)]
    assert [steps(one)[0][1] <= end for one, end in zip(moved, (40, 40), strict=True) if one] == [True, True]


def test_what_waits_or_is_held_stays_where_it_was_shown(book: Ledger) -> None:
    book.set_terms(replace(TERMS, policy=Policy(Gate(rate_bps=70))))
    waiting = book.run(Admit(T0, admission_of(transfer("waits", 80 * 60 * 20 // 8, 60, shape="earliest"))))
    assert isinstance(waiting, Entry)
    assert waiting.state is State.AWAITING_APPROVAL
    assert isinstance(book.run(Admit(T0, admission_of(reservation("fixed", 60, 10, 30)))), Refused)


def test_no_move_brings_a_rate_above_the_gate(book: Ledger) -> None:
    book.set_terms(replace(TERMS, policy=Policy(Gate(rate_bps=50))))
    bulk = admit(book, transfer("bulk", 40 * 60 * 40 // 8, 60))
    admit(book, reservation("fixed", 50, 10, 15))
    admit(book, reservation("full", 50, 10, 12))
    after = book.get(bulk.handle)
    assert after is not None
    assert after.reservation.peak_rate_bps <= 50


def test_a_plan_moves_what_it_has_created_itself_or_is_refused_whole(book: Ledger) -> None:
    requests = [
        admission_of(transfer("bulk", 80 * 60 * 20 // 8, 60, shape="earliest")),
        admission_of(reservation("fixed", 100, 10, 30)),
    ]
    entries = book.run(ApplyPlan.of(requests, T0, actor="tester"))
    # As it is after the whole plan: what came second has moved it.
    assert steps(entries[0]) == [(0, 10, 80), (30, 40, 80)]
    assert book.get(entries[0].handle) == entries[0]
    both = [admission_of(reservation("more", 100, 30, 40)), admission_of(transfer("b", 90_000, 60))]
    with pytest.raises(PlanNotAdmitted):
        book.run(ApplyPlan.of(both, T0, actor="tester"))
    assert len(moved_events(book)) == 1


def test_a_change_keeps_what_is_done(book: Ledger) -> None:
    entry = admit(book, transfer("bulk", 40 * 60 * 60 // 8, 60))
    more = admission_of(transfer("bulk", 40 * 60 * 90 // 8, 60), replaces=entry.handle)
    changed = book.run(Admit(at(30), more))
    assert isinstance(changed, Entry)
    assert steps(changed) == [(0, 30, 40), (30, 60, 80)]
    assert changed.progress == ProgressReport(40 * 60 * 60 // 8, at(30), 80)


def test_a_ledger_of_the_version_before_is_kept_and_can_be_taken_back(database_url: str, tmp_path: Path) -> None:
    migrate(database_url, "0004")
    url = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    document = reservation("old", 30).to_document()
    del document["need"]
    start, end = (int(at(n).timestamp()) * 10**6 for n in (0, 60))
    with psycopg.connect(url) as raw:
        raw.execute("INSERT INTO resource (name) VALUES (%s)", [str(RESOURCES[0])])
        raw.execute(
            "INSERT INTO entry (number, handle, owner, name, state, version, document, paths, resources, amounts, labels,"
            " start_us, end_us, created_at, changed_at, windows, volume_bits)"
            " VALUES (1, 'r-old', 'hep', 'old', 'committed', 1, %s, '[]', %s, '{30}', '{}', %s, %s, %s, %s, 1, 1)",
            [json.dumps(document), [str(RESOURCES[0])], start, end, T0, T0],
        )
        raw.execute("INSERT INTO occupancy VALUES (1, 1, 1, '{1}', '{30}', %s, %s, %s)", [[start], [end], end])
        raw.execute("UPDATE head SET sequence = 1, entry_number = 1")
    with open_ledger(database_url, tmp_path, migrate=True) as book:
        book.set_terms(TERMS)
        (old,) = book.live_between(T0)
        assert (old.reservation.need, old.progress) == (None, None)
        assert free(book, 0, 60) == [70, 100, 100]
        bulk = admit(book, transfer("bulk", MINUTE, 60))
    with pytest.raises(CannotKeep, match="1 live reservations are volumes by a deadline"):
        migrate(database_url, "0004")
    with open_ledger(database_url, tmp_path) as book:
        book.run(Move(T0, bulk.handle, "tester", to=State.CANCELLED))
    migrate(database_url, "0004")
    with psycopg.connect(url) as raw:
        assert raw.execute("SELECT bool_or(document ? 'need') FROM entry").fetchone() == (False,)
