"""What an operation of a batch does and then takes back leaves no trace in the ledger, nor for those that follow it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from slotcar.admission import capacities
from slotcar.base.problems import SlotcarError
from slotcar.base.timebase import Window
from slotcar.book.errors import UnknownHandle
from slotcar.book.model import AdmissionRequest, State, Terms
from slotcar.book.operation import Operation, move
from slotcar.book.operations import Admit, ExtendHold
from slotcar.book.transaction import Transaction
from slotcar.planning.routing import route
from slotcar.reservation.model import Endpoint
from slotcar.store import EntryFilter, Ledger
from tests.support.examples import examples
from tests.support.networks import line_network
from tests.support.requests import T0, at, reservation

NETWORK = line_network()
NAMES = ("a", "b", "c")
_owners = itertools.count(1)


class Regretted(SlotcarError):
    """What an operation ends with that is to be taken back."""


@dataclass(frozen=True)
class Step:
    """One change of the owner's reservation of this name; its port keeps it apart from those of other owners."""

    name: str
    verb: str
    key: str | None = None

    def run(self, transaction: Transaction, owner: str) -> None:
        if self.verb in ("commit", "hold"):
            self._admit(owner).run(transaction)
            return
        entry = transaction.entries.live((owner, self.name))
        if entry is None:
            raise UnknownHandle(self.name)
        if self.verb == "cancel":
            move(transaction, entry, State.CANCELLED, "tester", T0, "")
        elif self.verb == "extend":
            ExtendHold(T0, entry.handle, "tester", hold_until=at(20)).run(transaction)
        else:
            self._admit(owner, replaces=entry.handle).run(transaction)

    def _admit(self, owner: str, replaces: str | None = None) -> Admit:
        rate = 16_000 if self.verb == "raise" else 8_000
        port = 2_000 + int(owner.removeprefix("o"))
        wanted = reservation(self.name, rate, owner=owner, destination=Endpoint(host="dst", port=port))
        way = route(wanted, NETWORK)
        request = AdmissionRequest(
            way.reservation, way.paths, way.demands, actor=owner, idempotency_key=self.key, replaces=replaces,
            hold_until=at(10) if self.verb == "hold" else None,
        )  # fmt: skip
        return Admit(T0, request)


@dataclass(frozen=True)
class Steps(Operation[None]):
    """Several steps as one operation; with `fails` they are taken back."""

    owner: str
    steps: tuple[Step, ...]
    fails: bool = False

    def run(self, transaction: Transaction) -> None:
        for step in self.steps:
            step.run(transaction, self.owner)
        if self.fails:
            raise Regretted("it was not meant")


steps = st.builds(
    Step,
    st.sampled_from(NAMES),
    st.sampled_from(["commit", "hold", "cancel", "extend", "raise"]),
    st.sampled_from([None, None, "k1", "k2"]),
)
batches = st.lists(st.tuples(st.lists(steps, min_size=1, max_size=4), st.booleans()), min_size=1, max_size=8)


@pytest.fixture
def book(ledger: Ledger) -> Ledger:
    ledger.set_terms(Terms(capacities(NETWORK), NETWORK.sls))
    return ledger


def written(book: Ledger, owner: str, batch: Sequence[Steps]) -> list[Any]:
    """The answers' kinds, what the owner has then, and what was recorded of it."""
    answers = book._writer._write(list(batch)) if batch else []
    entries = [
        (one.reservation.name, one.state, one.version, one.hold_until, one.reservation.peak_rate_bps, one.occupied)
        for one in book.list(EntryFilter(owner=owner))
    ]
    kinds = [event.kind for event in book.events(limit=1000) if event.details.get("owner") == owner]
    return [[type(one) for one in answers], sorted(entries, key=str), kinds]


def reserved(book: Ledger) -> list[int]:
    hour = Window(T0, at(60))
    return book.ask(lambda tables: [tables.peak(one, hour) for one in capacities(NETWORK)], T0)[0]


@given(batches)
@examples(few=15, many=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_taken_back_was_never_there(book: Ledger, batch: list[tuple[list[Step], bool]]) -> None:
    one, other = f"o{next(_owners)}", f"o{next(_owners)}"
    before = reserved(book)
    with_failures = written(book, one, [Steps(T0, one, tuple(some), fails) for some, fails in batch])
    between = reserved(book)
    without = written(book, other, [Steps(T0, other, tuple(some)) for some, fails in batch if not fails])
    after = reserved(book)
    meant = [kind for kind, (_, fails) in zip(with_failures[0], batch, strict=True) if not fails]
    assert [meant, *with_failures[1:]] == without
    by_one = [later - earlier for earlier, later in zip(before, between, strict=True)]
    assert by_one == [later - earlier for earlier, later in zip(between, after, strict=True)]
