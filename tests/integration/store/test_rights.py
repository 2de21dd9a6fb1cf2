"""Rules under the ledger's lock: two controllers at once get no packet twice, and no owner more than its quota."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from slotcar.admission import capacities
from slotcar.base.vocabulary import Direction
from slotcar.book.approving import Approve, Reject
from slotcar.book.model import AdmissionRequest, Entry, State, Terms
from slotcar.book.operations import Admit
from slotcar.book.rules.errors import FlowTaken, QuotaExceeded
from slotcar.book.rules.gate import Gate
from slotcar.book.rules.policy import Policy
from slotcar.book.rules.quotas import Quota
from slotcar.planning.routing import route
from slotcar.store import EntryFilter, Ledger, open_ledger
from tests.support.networks import line_network
from tests.support.postgres import migrate
from tests.support.requests import T0, at, reservation

NETWORK = line_network()
POLICY = Policy(gate=Gate(rate_bps=1_000_000), owner_quotas={"few": Quota(reservations=3)})
ROUNDS = 12


@pytest.fixture
def two(database_url: str, tmp_path: Path) -> Iterator[tuple[Ledger, Ledger]]:
    """Two controllers on one database."""
    with open_ledger(database_url, tmp_path, migrate=True) as one, open_ledger(database_url, tmp_path) as other:
        for ledger in (one, other):
            ledger.set_terms(Terms(capacities(NETWORK), NETWORK.sls, POLICY))
        yield one, other


def request_for(name: str, owner: str, start: int, rate_bps: int = 8_000, **more: object) -> AdmissionRequest:
    ask = route(reservation(name, rate_bps, start, start + 10, owner=owner, **more), NETWORK)
    return AdmissionRequest(ask.reservation, ask.paths, ask.demands, actor="tester")


def together(*calls: Callable[[], object]) -> list[object]:
    """What each gave or raised, all of them let go at one instant."""
    gate = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> object:
        gate.wait()
        try:
            return call()
        except (FlowTaken, QuotaExceeded) as error:
            return error

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_two_controllers_never_give_one_flow_to_two_owners(two: tuple[Ledger, Ledger]) -> None:
    one, other = two
    for number in range(ROUNDS):
        start = 10 * number
        answers = together(
            lambda start=start: one.run(Admit(T0, request_for(f"a{start}", "hep", start))),
            lambda start=start: one.run(Admit(T0, request_for(f"b{start}", "astro", start))),
            lambda start=start: other.run(Admit(T0, request_for(f"c{start}", "bio", start))),
        )
        assert sorted(type(answer).__name__ for answer in answers) == ["Entry", "FlowTaken", "FlowTaken"]
    live = one.list(EntryFilter(states=[State.COMMITTED], limit=1000))
    assert len(live) == ROUNDS


def test_two_controllers_never_exceed_a_quota_together(two: tuple[Ledger, Ledger]) -> None:
    calls = [
        lambda ledger=ledger, number=number: ledger.run(Admit(T0, request_for(f"n{number}", "few", 0)))
        for number in range(4)
        for ledger in [two[number % 2]]
    ]
    answers = together(*calls)
    assert sorted(type(answer).__name__ for answer in answers) == ["Entry", "Entry", "Entry", "QuotaExceeded"]


def test_a_change_that_waits_is_kept_by_another_controller_too(two: tuple[Ledger, Ledger]) -> None:
    """Room for both forms, in tables that follow the log and in tables that are loaded from it."""
    one, other = two
    entry = one.run(Admit(T0, request_for("a", "hep", 0)))
    assert isinstance(entry, Entry)
    raised = one.run(Admit(T0, replace(request_for("a", "hep", 0, 2_000_000), replaces=entry.handle)))
    assert isinstance(raised, Entry)
    assert (raised.state, raised.reservation.constant_rate_bps) == (State.COMMITTED, 8_000)
    assert other.get(entry.handle) == raised
    resource = raised.demands[0].resource
    taken = [ledger.ask(lambda tables: tables.peak(resource, raised.reservation.windows[0]), T0)[0] for ledger in two]
    assert raised.proposed is not None
    assert taken == [raised.proposed.demands[0].peak] * 2
    other.run(Reject(T0, entry.handle, "ops"))
    after = [ledger.ask(lambda tables: tables.peak(resource, entry.reservation.windows[0]), T0)[0] for ledger in two]
    assert after == [entry.demands[0].peak] * 2


def test_a_longer_slot_that_nobody_approved_gives_its_room_back_when_the_old_one_ends(
    two: tuple[Ledger, Ledger],
) -> None:
    one, _ = two
    entry = one.run(Admit(T0, request_for("a", "hep", 0, 2_000_000)))
    assert isinstance(entry, Entry)
    entry = one.run(Approve(T0, entry.handle, "ops", 1))
    ask = route(reservation("a", 2_000_000, 0, 60), NETWORK)
    longer = AdmissionRequest(ask.reservation, ask.paths, ask.demands, "tester", replaces=entry.handle)
    changed = one.run(Admit(T0, longer))
    assert isinstance(changed, Entry)
    assert changed.proposed is not None
    (ended,) = one.expire(at(10))
    assert (ended.state, ended.proposed) == (State.ENDED, None)
    window = ask.reservation.windows[0]
    assert one.ask(lambda tables: tables.peak(entry.demands[0].resource, window), at(10))[0] == 0


def test_a_ledger_of_the_version_before_gets_its_flows_and_usage(
    two: tuple[Ledger, Ledger], database_url: str
) -> None:
    one, _ = two
    more = {"direction": Direction.BOTH, "end": 10}
    ask = route(reservation("a", 7, owner="hep", **more), NETWORK)
    one.run(Admit(T0, AdmissionRequest(ask.reservation, ask.paths, ask.demands, actor="tester")))
    url = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    queries = ("SELECT * FROM flow ORDER BY pair", "SELECT windows, volume_bits FROM entry")
    with psycopg.connect(url) as connection:
        before = [connection.execute(text).fetchall() for text in queries]
    migrate(database_url, "0002")
    migrate(database_url, "head")
    with psycopg.connect(url) as connection:
        assert [connection.execute(text).fetchall() for text in queries] == before
    assert len(before[0]) == 2
    assert before[1] == [(1, 2 * 7 * 600)]
