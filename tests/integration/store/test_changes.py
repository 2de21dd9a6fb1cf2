"""When an entry came into force, and what was in force before: kept, so that others are told before it takes from them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slotcar.book.approving import Approve, Commit
from slotcar.book.model import Entry, EntryChange, State
from slotcar.book.operations import Admit
from slotcar.book.rules.gate import Gate
from slotcar.book.rules.policy import Policy
from slotcar.store import Ledger
from tests.integration.store.test_transfers import TERMS, admission_of
from tests.support.requests import T0, at, reservation


@pytest.fixture
def book(ledger: Ledger) -> Ledger:
    ledger.set_terms(TERMS)
    return ledger


def changed(book: Ledger, entry: Entry, rate: int, now: int) -> Entry:
    request = admission_of(reservation("one", rate, 0, 60), replaces=entry.handle)
    answer = book.run(Admit(at(now), request))
    assert isinstance(answer, Entry)
    return answer


def test_a_raise_knows_what_it_raised(book: Ledger) -> None:
    entry = book.run(Admit(T0, admission_of(reservation("one", 20, 0, 60))))
    assert isinstance(entry, Entry)
    assert entry.change is None
    raised = changed(book, entry, 40, 10)
    assert raised.change == EntryChange(at(10), entry.reservation.slots)
    assert book.get(entry.handle) == raised
    again = changed(book, raised, 60, 20)
    assert again.change == EntryChange(at(20), raised.reservation.slots)


def test_a_hold_is_in_force_from_its_commit(book: Ledger) -> None:
    entry = book.run(Admit(T0, admission_of(reservation("one", 20, 0, 60), hold_until=at(15))))
    assert isinstance(entry, Entry)
    entry = changed(book, entry, 30, 5)
    assert entry.change is None, "a hold was not in force"
    committed = book.run(Commit(at(10), entry.handle, "hep"))
    assert committed.change == EntryChange(at(10))
    assert book.get(entry.handle) == committed


def test_what_waited_for_approval_is_in_force_from_then(book: Ledger) -> None:
    book.set_terms(replace(TERMS, policy=Policy(gate=Gate(rate_bps=30))))
    entry = book.run(Admit(T0, admission_of(reservation("one", 40, 0, 60))))
    assert isinstance(entry, Entry)
    assert entry.state is State.AWAITING_APPROVAL
    approved = book.run(Approve(at(10), entry.handle, "ops"))
    assert approved.change == EntryChange(at(10))
    waits = changed(book, approved, 60, 20)
    assert (waits.change, waits.proposed is None) == (EntryChange(at(10)), False)
    raised = book.run(Approve(at(30), entry.handle, "ops"))
    assert raised.change == EntryChange(at(30), approved.reservation.slots)
    assert book.get(entry.handle) == raised
