"""What becomes of a slot when a device of its path cannot be made ready: by its own policy, and told once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slotcar.base.vocabulary import IfUnready
from slotcar.book.model import Entry, State, Terms
from slotcar.book.operations import Admit
from slotcar.book.timeline import Active, active_at
from slotcar.planning.offline import entries_of
from slotcar.rollout.withholding import Withholding
from slotcar.store import Ledger
from tests.support.networks import line_network
from tests.support.requests import RESOURCES, T0, at, request, reservation

NETWORK = line_network()
START, END = 10, 60
EARLY, SOON = at(0), at(START)


@pytest.fixture
def book(ledger: Ledger) -> Ledger:
    ledger.set_terms(Terms(dict.fromkeys(RESOURCES, 10**9), {}))
    return ledger


def coming(book: Ledger, policy: IfUnready) -> tuple[Active, ...]:
    """A slot that is to begin, over both routers."""
    wanted = reservation("slot", 1_000_000, START, END, if_unready=policy)
    (drawn,) = entries_of([wanted], NETWORK, T0)
    admitted = book.run(Admit(T0, replace(request(wanted), paths=drawn.paths)))
    assert isinstance(admitted, Entry)
    return active_at([admitted], at(START))


def events_of(book: Ledger) -> list[str]:
    return [event.kind for event in book.events(limit=100) if event.kind.startswith("push.")]


def handles(active: tuple[Active, ...]) -> list[str]:
    return [one.entry.reservation.name for one in active]


@pytest.mark.parametrize("policy", IfUnready)
def test_where_all_devices_answer_no_policy_is_asked(book: Ledger, policy: IfUnready) -> None:
    slot = coming(book, policy)
    assert Withholding(book).admissible(slot, (), EARLY, SOON) == slot
    assert events_of(book) == []


@pytest.mark.parametrize("policy", [IfUnready.DELAY, IfUnready.ALARM, IfUnready.REFUSE])
def test_a_slot_is_on_all_devices_of_its_path_or_on_none(book: Ledger, policy: IfUnready) -> None:
    slot, withholding = coming(book, policy), Withholding(book)
    for _ in range(3):
        assert withholding.admissible(slot, {"r2"}, EARLY, EARLY) == ()
    assert events_of(book) == ["push.withheld"]
    assert withholding.admissible(slot, {"elsewhere"}, EARLY, EARLY) == slot
    assert events_of(book) == ["push.withheld", "push.released"]


def test_a_slot_that_may_degrade_begins_on_the_devices_that_answer(book: Ledger) -> None:
    slot, withholding = coming(book, IfUnready.DEGRADE), Withholding(book)
    assert withholding.admissible(slot, {"r2"}, EARLY, SOON) == slot
    assert events_of(book) == ["push.degraded"]


def test_operators_are_called_shortly_before_a_slot_that_asks_for_it_and_once(book: Ledger) -> None:
    slot, withholding = coming(book, IfUnready.ALARM), Withholding(book)
    assert withholding.admissible(slot, {"r2"}, EARLY, EARLY) == ()
    for _ in range(2):
        assert withholding.admissible(slot, {"r2"}, SOON, SOON) == ()
    assert events_of(book) == ["push.withheld", "push.alarm"]


def test_a_slot_that_is_to_be_refused_is_cancelled_before_it_begins_and_not_hours_before(book: Ledger) -> None:
    slot, withholding = coming(book, IfUnready.REFUSE), Withholding(book)
    withholding.admissible(slot, {"r2"}, EARLY, EARLY)
    (entry,) = book.live_between(EARLY)
    assert entry.state is State.COMMITTED
    for _ in range(2):
        assert withholding.admissible(slot, {"r2"}, EARLY, SOON) == ()
    cancelled = book.get(entry.handle)
    assert cancelled is not None
    assert cancelled.state is State.CANCELLED
    last = book.events(limit=100)[-1]
    assert (last.kind, last.details["reason"]) == ("reservation.cancelled", "r2 could not be made ready for its slot")


def test_what_all_devices_carried_stays_when_one_of_them_fails(book: Ledger) -> None:
    slot, withholding = coming(book, IfUnready.REFUSE), Withholding(book)
    withholding.active_everywhere = {slot[0].entry.handle}
    assert handles(withholding.admissible(slot, {"r2"}, SOON, SOON)) == ["slot"]
    assert events_of(book) == []


def test_who_takes_the_lead_in_a_slot_leaves_it_where_it_is(book: Ledger) -> None:
    """A router that the new leader cannot reach carries it still; the others must not lose it for that."""
    slot, successor = coming(book, IfUnready.REFUSE), Withholding(book)
    successor.take_over(slot)
    assert handles(successor.admissible(slot, {"r2"}, SOON, SOON)) == ["slot"]


def test_who_takes_the_lead_withholds_what_was_withheld(book: Ledger) -> None:
    slot = coming(book, IfUnready.DELAY)
    Withholding(book).admissible(slot, {"r2"}, SOON, SOON)
    successor = Withholding(book)
    successor.take_over(slot)
    assert successor.admissible(slot, {"r2"}, SOON, SOON) == ()
    assert handles(successor.admissible(slot, (), SOON, SOON)) == ["slot"]
