"""Conditions are asked under the ledger's lock, about exactly the others that would be there at the same time."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from slotcar.admission import capacities
from slotcar.base.problems import SlotcarError
from slotcar.book.applying import ApplyPlan
from slotcar.book.model import AdmissionRequest, Condition, Entry, State, Terms
from slotcar.book.operation import Move
from slotcar.book.operations import Admit, Rebind
from slotcar.planning.routing import route
from slotcar.store import EntryFilter, Ledger
from tests.support.networks import line_network
from tests.support.requests import T0, reservation

NETWORK = line_network()
ALL = frozenset(NETWORK.devices)


class TooMany(SlotcarError):
    """What these tests' conditions raise."""


class Witness:
    """Remembers beside whom it was asked; lets so many others be there."""

    def __init__(self, most: int = 1_000, devices: frozenset[str] = ALL) -> None:
        self.questions: list[list[str]] = []
        self.condition = Condition(devices, self._check)
        self._most = most

    def _check(self, entry: Entry, others: Sequence[Entry]) -> None:
        self.questions.append([one.reservation.name for one in others])
        if len(others) > self._most:
            raise TooMany(f"{entry.reservation.name} would be beside {len(others)} others")


@pytest.fixture
def book(ledger: Ledger) -> Ledger:
    ledger.set_terms(Terms(capacities(NETWORK), NETWORK.sls))
    return ledger


def request_for(
    name: str, witness: Witness | None = None, start: int = 0, end: int = 60, **more: object
) -> AdmissionRequest:
    ask = route(reservation(name, 8_000, start, end), NETWORK)
    condition = witness.condition if witness else None
    return AdmissionRequest(ask.reservation, ask.paths, ask.demands, actor="tester", condition=condition, **more)  # type: ignore[arg-type]


def admit(
    book: Ledger, name: str, witness: Witness | None = None, start: int = 0, end: int = 60, **more: object
) -> Entry:
    answer = book.run(Admit(T0, request_for(name, witness, start, end, **more)))
    assert isinstance(answer, Entry)
    return answer


def test_it_hears_of_those_that_are_live_and_open_then(book: Ledger) -> None:
    admit(book, "before", start=0, end=30)
    admit(book, "after", start=60, end=90)
    admit(book, "held", start=30, end=40, hold_until=T0 + timedelta(minutes=5))
    cancelled = admit(book, "gone", start=30, end=60)
    book.run(Move(T0, cancelled.handle, "tester", to=State.CANCELLED))
    admit(book, "inside", start=31, end=32)
    witness = Witness()
    admit(book, "new", witness, start=30, end=60)
    assert witness.questions == [["held", "inside"]]


def test_it_hears_of_those_whose_flows_its_devices_classify(book: Ledger) -> None:
    admit(book, "there")
    for devices, heard in ((ALL, ["there"]), ({"r1"}, ["there"]), ({"r2"}, []), ({"eth1", "elsewhere"}, [])):
        witness = Witness(devices=frozenset(devices))
        entry = admit(book, "new", witness)
        assert witness.questions == [heard], "the path crosses r2, and an interface's name is no device's"
        book.run(Move(T0, entry.handle, "tester", to=State.CANCELLED))


def test_what_it_refuses_is_not_written(book: Ledger) -> None:
    admit(book, "there")
    sequence, events = book.sequence(), book.last_event()
    with pytest.raises(TooMany, match="new would be beside 1 others"):
        book.run(Admit(T0, request_for("new", Witness(most=0))))
    assert (book.sequence(), book.last_event()) == (sequence, events)
    assert [one.reservation.name for one in book.list(EntryFilter())] == ["there"]
    admit(book, "new", Witness(most=1))


def test_a_change_is_not_beside_what_it_was(book: Ledger) -> None:
    entry, witness = admit(book, "a"), Witness(most=0)
    admit(book, "a", witness, start=10, end=70, replaces=entry.handle)
    book.run(
        Rebind(T0, entry.handle, "tester", reservation=reservation("a", 8_000, 10, 70), condition=witness.condition)
    )
    assert witness.questions == [[], []]
    admit(book, "b")
    with pytest.raises(TooMany):
        book.run(
            Rebind(
                T0, entry.handle, "tester", reservation=reservation("a", 8_000, 10, 70), condition=witness.condition
            )
        )
    with pytest.raises(TooMany):
        book.run(Admit(T0, request_for("a", witness, 10, 80, replaces=entry.handle)))
    kept = book.get(entry.handle)
    assert kept is not None
    assert (kept.version, kept.reservation.windows[0].end) == (3, T0 + timedelta(minutes=70))


def test_a_plans_steps_are_beside_what_the_whole_plan_leaves(book: Ledger) -> None:
    """Two that take each other's place are never there together, whatever the order of the steps."""
    a, b = admit(book, "a", start=0, end=30), admit(book, "b", start=30, end=60)
    one, two = Witness(most=0), Witness(most=0)
    steps = [
        request_for("a", one, 30, 60, replaces=a.handle),
        request_for("b", two, 0, 30, replaces=b.handle),
    ]
    book.run(ApplyPlan.of(steps, T0, actor="tester"))
    assert (one.questions, two.questions) == ([[]], [[]])
    with pytest.raises(TooMany):
        book.run(ApplyPlan.of([request_for(name, one) for name in "cd"], T0, actor="tester"))
    assert [entry.reservation.name for entry in book.list(EntryFilter())] == ["a", "b"]


def test_those_that_ask_at_once_cannot_both_be_the_last(book: Ledger) -> None:
    """In one batch or in several: each sees what the ones before it took."""

    def ask(number: int) -> bool:
        try:
            return isinstance(book.run(Admit(T0, request_for(f"n{number}", Witness(most=4)))), Entry)
        except TooMany:
            return False

    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(ask, range(24)))
    assert sum(answers) == 5
    assert len(book.list(EntryFilter())) == 5
