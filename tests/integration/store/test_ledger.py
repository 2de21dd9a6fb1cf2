"""The ledger against a real PostgreSQL: what is admitted is durable, what is refused holds nothing."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy
from sqlalchemy.pool import QueuePool

from slotcar.admission import SlotTables
from slotcar.admission.model import Refused
from slotcar.base.timebase import Window
from slotcar.book.applying import ApplyPlan
from slotcar.book.errors import (
    ForbiddenTransition,
    IdempotencyConflict,
    LedgerUnavailable,
    NameTaken,
    PlanNotAdmitted,
    StaleVersion,
    UnknownHandle,
)
from slotcar.book.model import TRANSITIONS, Cancellation, Entry, State, Terms
from slotcar.book.operation import Move
from slotcar.book.operations import Admit, ExtendHold, Rebind
from slotcar.book.rules.gate import Gate
from slotcar.book.rules.policy import Policy
from slotcar.store import EntryFilter, Ledger, open_ledger, pages
from slotcar.store.database import make_engine
from slotcar.store.revisions import SchemaState
from tests.support.patience import PATIENCE_S
from tests.support.requests import RESOURCES, T0, at, request, reservation

CAPACITY_BPS = 100


@pytest.fixture
def book(ledger: Ledger) -> Ledger:
    ledger.set_terms(Terms(dict.fromkeys(RESOURCES, CAPACITY_BPS), {}))
    return ledger


def admitted(book: Ledger, **more: object) -> Entry:
    options = {key: more.pop(key) for key in list(more) if key in ("hold_until", "idempotency_key")}
    answer = book.run(Admit(T0, request(reservation(**more), **options)))  # type: ignore[arg-type]
    assert isinstance(answer, Entry), answer
    return answer


def gated(book: Ledger, rate_bps: int) -> None:
    """Above the rate a reservation waits for approval from now on."""
    policy = Policy(gate=Gate(rate_bps=rate_bps))
    book.set_terms(Terms(dict.fromkeys(RESOURCES, CAPACITY_BPS), {}, policy))


def free_bps(book: Ledger, start: int, end: int, now: int = 0) -> int:
    window = Window(at(start), at(end))
    peak, _ = book.ask(lambda tables: tables.peak(RESOURCES[0], window), at(now))
    return CAPACITY_BPS - peak


def test_an_entry_reads_back_as_it_was_admitted(book: Ledger) -> None:
    entry = admitted(book, labels={"experiment": "gara-5.2"})
    assert book.get(entry.handle) == entry
    assert book.find("hep", "a") == entry
    assert (entry.state, entry.version, entry.number) == (State.COMMITTED, 1, 1)


def test_a_refused_request_holds_nothing_and_leaves_no_trace(book: Ledger) -> None:
    admitted(book, rate_bps=80)
    answer = book.run(Admit(T0, request(reservation("b", 30))))
    assert isinstance(answer, Refused)
    assert answer.shortfalls[0].free == 20
    assert answer.nearest_window == Window(at(60), at(120))
    assert answer.highest_rate_bps == 20
    assert book.find("hep", "b") is None
    assert free_bps(book, 0, 60) == 20


def test_two_reservations_with_the_same_start_and_rate_both_count(book: Ledger) -> None:
    admitted(book, name="one", rate_bps=50)
    admitted(book, name="two", rate_bps=50)
    assert isinstance(book.run(Admit(T0, request(reservation("three", 1)))), Refused)


def test_slots_that_touch_do_not_overlap(book: Ledger) -> None:
    admitted(book, name="one", rate_bps=100, start=0, end=60)
    admitted(book, name="two", rate_bps=100, start=60, end=120)
    assert free_bps(book, 0, 120) == 0


def test_a_request_over_several_smaller_ones_is_measured_by_their_peak(book: Ledger) -> None:
    for number in range(6):
        admitted(book, name=f"n{number}", rate_bps=60, start=10 * number, end=10 * number + 10)
    admitted(book, name="long", rate_bps=40, start=0, end=60)
    assert isinstance(book.run(Admit(T0, request(reservation("more", 1)))), Refused)


def test_a_modify_past_what_is_free_leaves_the_old_as_it_was(book: Ledger) -> None:
    entry = admitted(book, rate_bps=40)
    admitted(book, name="b", rate_bps=50)
    raised = reservation("a", 51)
    answer = book.run(Admit(T0, request(raised, replaces=entry.handle, expected_version=1)))
    assert isinstance(answer, Refused)
    assert answer.highest_rate_bps == 50
    assert book.get(entry.handle) == entry
    changed = book.run(Admit(T0, request(reservation("a", 50), replaces=entry.handle)))
    assert isinstance(changed, Entry)
    assert (changed.handle, changed.number, changed.version) == (entry.handle, entry.number, 2)
    assert free_bps(book, 0, 60) == 0


def test_a_hold_counts_while_it_lives_and_not_after(book: Ledger) -> None:
    entry = admitted(book, rate_bps=100, hold_until=at(15), start=30, end=90)
    assert entry.state is State.HELD
    assert isinstance(book.run(Admit(at(14), request(reservation("b", 1, 30, 90)))), Refused)
    taken = book.run(Admit(at(15), request(reservation("b", 100, 30, 90))))
    assert isinstance(taken, Entry)
    after = book.get(entry.handle)
    assert after is not None
    assert after.state is State.TIMED_OUT
    with pytest.raises(ForbiddenTransition, match="is timed-out and cannot become committed"):
        book.run(Move(at(16), entry.handle, "tester", to=State.COMMITTED))


def test_a_hold_survives_a_restart_and_can_be_extended(book: Ledger, database_url: str, tmp_path: Path) -> None:
    entry = admitted(book, rate_bps=100, hold_until=at(15), start=30, end=90)
    with open_ledger(database_url, tmp_path) as second:
        second.set_terms(Terms(dict.fromkeys(RESOURCES, CAPACITY_BPS), {}))
        extended = second.run(ExtendHold(at(14), entry.handle, "tester", hold_until=at(25)))
        assert extended.hold_until == at(25)
        assert free_bps(second, 30, 90, now=20) == 0
        assert second.run(Move(at(24), entry.handle, "tester", to=State.COMMITTED)).hold_until is None
    assert free_bps(book, 30, 90, now=26) == 0


def test_a_cancel_gives_the_room_back_at_once(book: Ledger) -> None:
    entry = admitted(book, rate_bps=100)
    book.run(Move(at(1), entry.handle, "tester", to=State.CANCELLED, reason="beam lost"))
    assert free_bps(book, 0, 60) == 100
    again = admitted(book, rate_bps=100)
    assert again.handle != entry.handle
    assert book.find("hep", "a") == again


def test_a_name_is_free_again_when_its_slot_is_over(book: Ledger) -> None:
    entry = admitted(book, start=0, end=60)
    with pytest.raises(NameTaken, match="hep has a live reservation named a already"):
        book.run(Admit(at(59), request(reservation(start=60, end=90))))
    assert isinstance(book.run(Admit(at(60), request(reservation(start=60, end=90)))), Entry)
    ended = book.get(entry.handle)
    assert ended is not None
    assert ended.state is State.ENDED


def test_an_idempotency_key_takes_nothing_twice(book: Ledger) -> None:
    first = admitted(book, rate_bps=60, idempotency_key="k1")
    assert admitted(book, rate_bps=60, idempotency_key="k1") == first
    assert free_bps(book, 0, 60) == 40
    with pytest.raises(IdempotencyConflict, match="was used for a different request"):
        book.run(Admit(T0, request(reservation(rate_bps=61), idempotency_key="k1")))


def test_versions_guard_against_lost_updates(book: Ledger) -> None:
    entry = admitted(book)
    with pytest.raises(StaleVersion, match="at version 1, not 7"):
        book.run(Move(T0, entry.handle, "tester", 7, to=State.CANCELLED))
    with pytest.raises(UnknownHandle):
        book.run(Move(T0, "r-none", "tester", to=State.CANCELLED))


@pytest.mark.parametrize("state", [state for state in State if not TRANSITIONS[state]])
def test_nothing_follows_a_final_state(book: Ledger, state: State) -> None:
    gated(book, 0 if state is State.REJECTED else CAPACITY_BPS)
    entry = admitted(book, hold_until=None)
    if state is State.TIMED_OUT:
        book.run(Move(T0, entry.handle, "tester", to=State.CANCELLED))
        entry = admitted(book, hold_until=at(5))
    final = book.run(Move(at(1), entry.handle, "tester", to=state))
    assert final.state is state
    for to in State:
        with pytest.raises(ForbiddenTransition):
            book.run(Move(at(2), entry.handle, "tester", to=to))


def test_what_awaits_approval_keeps_its_place_until_its_slot_is_over(book: Ledger) -> None:
    gated(book, 99)
    entry = admitted(book, rate_bps=100)
    assert entry.state is State.AWAITING_APPROVAL
    assert free_bps(book, 0, 60) == 0
    assert [e.handle for e in book.expire(at(60))] == [entry.handle]
    after = book.get(entry.handle)
    assert after is not None
    assert after.state is State.TIMED_OUT


def test_a_plan_is_applied_whole_or_not_at_all(book: Ledger) -> None:
    small, big = admitted(book, name="small", rate_bps=20), admitted(book, name="big", rate_bps=80)
    sequence = book.sequence()
    # `small` may only grow as `big` shrinks, whatever their order in the file.
    grow = request(reservation("small", 50), replaces=small.handle)
    shrink = request(reservation("big", 50), replaces=big.handle)
    too_much = request(reservation("new", 1))
    with pytest.raises(PlanNotAdmitted, match="hep/new"):
        book.run(ApplyPlan.of([grow, shrink, too_much], T0, actor="tester"))
    assert book.sequence() == sequence
    assert [book.get(entry.handle) for entry in (small, big)] == [small, big]
    done = book.run(ApplyPlan.of([grow, shrink], T0, actor="tester"))
    assert {entry.reservation.constant_rate_bps for entry in done} == {50}
    book.run(ApplyPlan.of([Cancellation(big.handle)], T0, actor="tester"))
    assert free_bps(book, 0, 60) == 50


def test_two_reservations_may_take_each_others_place(book: Ledger) -> None:
    early, late = (
        admitted(book, name="early", rate_bps=100),
        admitted(book, name="late", rate_bps=100, start=60, end=120),
    )
    swap = [
        request(reservation("early", 100, 60, 120), replaces=early.handle),
        request(reservation("late", 100, 0, 60), replaces=late.handle),
    ]
    assert len(book.run(ApplyPlan.of(swap, T0, actor="tester"))) == 2


def test_every_transition_is_an_event_that_nobody_can_change(book: Ledger, database_url: str) -> None:
    entry = admitted(book, hold_until=at(15))
    book.run(Move(at(1), entry.handle, "night-shift", to=State.COMMITTED))
    book.append_event("push.verified", at(2), device="r1", details={"revision": "x"})
    events = book.events()
    assert [event.kind for event in events] == ["reservation.held", "reservation.committed", "push.verified"]
    assert events[1].details["actor"] == "night-shift"
    assert [event.sequence for event in events] == [1, 2, 3]
    assert [event.kind for event in book.events(kinds=["push."])] == ["push.verified"]
    assert book.events(kinds=["push.", "reservation."]) == events
    assert book.events(after=None, limit=2) == events[-2:], "the last ones, in order"
    engine = make_engine(database_url)
    for statement in ("UPDATE event SET kind = 'x'", "DELETE FROM event", "TRUNCATE event", "DELETE FROM occupancy"):
        with pytest.raises(sqlalchemy.exc.DBAPIError, match="append-only"), engine.begin() as connection:
            connection.execute(sqlalchemy.text(statement))
    engine.dispose()


def test_a_waiter_is_woken_by_a_new_event(book: Ledger, database_url: str, tmp_path: Path) -> None:
    assert not book.wait_for_event(0, 0.05)
    with open_ledger(database_url, tmp_path) as second:
        second.append_event("push.verified", T0)
        assert book.wait_for_event(0, 30)


def test_a_ledger_that_is_closed_keeps_no_connection_that_a_thread_had(
    book: Ledger, database_url: str, tmp_path: Path
) -> None:
    asks, answer = threading.Event(), threading.Event()

    def question(_tables: SlotTables) -> None:
        asks.set()
        answer.wait(PATIENCE_S)

    with open_ledger(database_url, tmp_path) as closed:
        pool = closed._engine.pool
        thread = threading.Thread(target=closed.ask, args=(question, T0))
        thread.start()
        assert asks.wait(PATIENCE_S)
        threading.Timer(0.1, answer.set).start()
    thread.join()
    assert isinstance(pool, QueuePool)
    assert pool.checkedin() == 0


def test_one_controller_leads_at_a_time(book: Ledger, database_url: str, tmp_path: Path) -> None:
    with open_ledger(database_url, tmp_path) as second:
        lease = book.try_lead()
        assert lease is not None
        assert lease.is_held()
        assert second.try_lead() is None
        lease.release()
        taken = second.try_lead()
        assert taken is not None
        taken.release()


def test_lists_are_filtered_and_paged(book: Ledger) -> None:
    for number in range(5):
        admitted(
            book, name=f"n{number}", rate_bps=1, start=10 * number, end=10 * number + 10, labels={"n": str(number)}
        )
    assert [entry.number for entry in book.list(EntryFilter(limit=2))] == [1, 2]
    assert [entry.number for entry in book.list(EntryFilter(after=2, limit=2))] == [3, 4]
    assert [entry.number for entry in book.list(EntryFilter(label=("n", "3")))] == [4]
    assert [entry.number for entry in book.list(EntryFilter(since=at(10), until=at(30)))] == [2, 3]
    assert [entry.number for entry in book.live_between(at(15), at(31))] == [2, 3, 4]
    assert book.states() == {State.COMMITTED: 5}


@pytest.mark.slow
def test_few_are_sorted_and_many_gone_through_with_the_same_outcome(
    book: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`pages.MOST_SORTED` decides between two ways to one page."""
    for number in range(9):
        entry = admitted(book, name=f"a-{number}", rate_bps=1, labels={"n": str(number % 2)})
        if number % 3 == 0:
            book.run(Move(T0, entry.handle, "tester", to=State.CANCELLED))
    owner = book.list(EntryFilter(limit=1))[0].reservation.owner
    requests = [
        EntryFilter(newest=newest, after=after, limit=3, **how)
        for newest in (True, False)
        for after in (0, 5)
        for how in (
            {"owner": owner}, {"owner": "nobody"}, {"label": ("n", "1")}, {"label": ("n", "")}, {"label": ("m", "1")},
            {"states": [State.CANCELLED]}, {"states": [State.CANCELLED], "owner": owner}, {"states": [State.COMMITTED]},
            {"states": [State.CANCELLED, State.HELD]}, {"search": "a 1"}, {"search": "zz"},
            {"search": "r-0123456789abcdef"},
            {"since": T0, "until": at(100)}, {"waits": True},
        )
    ]  # fmt: skip
    sorted_few = [book.list(wanted) for wanted in requests]
    monkeypatch.setattr(pages, "MOST_SORTED", 0)
    assert [book.list(wanted) for wanted in requests] == sorted_few
    assert {len(entries) for entries in sorted_few} == {0, 1, 2, 3}
    cancelled = book.list(EntryFilter(states=[State.CANCELLED], newest=True, limit=10))
    assert [entry.reservation.name for entry in cancelled] == ["a-6", "a-3", "a-0"]


def test_a_rebind_changes_ports_and_no_room(book: Ledger) -> None:
    entry = admitted(book)
    sequence = book.sequence()
    bound = book.run(Rebind(at(1), entry.handle, "tester", reservation=reservation(labels={"bound": "yes"})))
    assert (bound.version, bound.reservation.labels) == (2, {"bound": "yes"})
    assert book.sequence() == sequence


def test_a_recurrence_takes_each_of_its_windows(book: Ledger) -> None:
    windows = (Window(at(0), at(10)), Window(at(60), at(70)))
    admitted(book, rate_bps=100, windows=windows)
    assert [free_bps(book, s, e) for s, e in ((0, 10), (10, 60), (60, 70))] == [0, 100, 0]


def test_tables_are_rebuilt_from_the_log_whatever_was_modified_and_cancelled(
    book: Ledger, database_url: str, tmp_path: Path
) -> None:
    a, b = admitted(book, name="a", rate_bps=10), admitted(book, name="b", rate_bps=20)
    book.run(Admit(T0, request(reservation("a", 30, 0, 90), replaces=a.handle)))
    book.run(Move(T0, b.handle, "tester", to=State.CANCELLED))
    admitted(book, name="b", rate_bps=5, start=30, end=60)
    window = Window(at(0), at(120))
    steps, _ = book.ask(lambda tables: tables.steps(RESOURCES[1], window), T0)
    with open_ledger(database_url, tmp_path) as fresh:
        fresh.set_terms(Terms(dict.fromkeys(RESOURCES, CAPACITY_BPS), {}))
        assert fresh.ask(lambda tables: tables.steps(RESOURCES[1], window), T0)[0] == steps
    assert [level for _, level in steps] == [30, 35, 30, 0]


def test_the_schema_is_made_once_and_recognised(empty_database_url: str, tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="run slotcar db upgrade"):
        open_ledger(empty_database_url, tmp_path)
    with open_ledger(empty_database_url, tmp_path, migrate=False) as ledger:
        assert ledger.schema_state() is SchemaState.EMPTY
        before, head = ledger.upgrade()
        assert before == ""
        assert head
        assert ledger.upgrade() == (head, head)
        assert ledger.schema_state() is SchemaState.CURRENT


def test_a_database_that_is_not_there_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnavailable, match="the ledger's database does not answer"):
        open_ledger("postgresql://nobody@127.0.0.1:1/none", tmp_path, migrate=True)
    with pytest.raises(LedgerUnavailable, match="the database's URL is not one"):
        open_ledger("this is no url", tmp_path)


def test_time_moves_holds_to_their_end_only_once(book: Ledger) -> None:
    admitted(book, hold_until=at(15), start=30, end=90)
    assert len(book.expire(at(15))) == 1
    assert book.expire(at(15) + timedelta(days=1)) == ()


def test_a_process_that_begins_in_a_recurrence_can_change_it_and_give_it_back(
    book: Ledger, database_url: str, tmp_path: Path
) -> None:
    """Its tables never knew the occurrences that were over by then."""
    windows = (Window(at(0), at(10)), Window(at(20), at(30)), Window(at(40), at(50)))
    entry = admitted(book, rate_bps=60, windows=windows)
    with open_ledger(database_url, tmp_path) as late:
        late.set_terms(Terms(dict.fromkeys(RESOURCES, CAPACITY_BPS), {}))
        assert free_bps(late, 20, 30, now=15) == 40
        raised = reservation(rate_bps=90, windows=windows)
        answer = late.run(Admit(at(15), request(raised, replaces=entry.handle)))
        assert isinstance(answer, Entry)
        assert free_bps(late, 20, 30, now=15) == 10
        late.run(Move(at(25), entry.handle, "tester", to=State.CANCELLED))
        assert free_bps(late, 20, 50, now=25) == CAPACITY_BPS
    assert free_bps(book, 20, 50, now=25) == CAPACITY_BPS
