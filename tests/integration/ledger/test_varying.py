"""Amounts over time in the ledger: kept, given back, followed by another controller; and a ledger of the version before."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from slotcar.admission import Demand, Refused, ResourceId
from slotcar.ledger import Ledger, open_ledger
from slotcar.ledger.model import Entry, State, Terms
from slotcar.timebase import Window
from tests.support.postgres import migrate
from tests.support.requests import RESOURCES, T0, at, request
from tests.unit.reservation.test_slots import varying

TERMS = Terms(dict.fromkeys(RESOURCES, 100), {})
ASKED = varying((0, 60, 40, 5), (60, 120, 90, 0))


def demands() -> tuple[Demand, ...]:
    """One resource that the way forward crosses, one of the way back, one of both."""
    forward, back, both = RESOURCES
    return (Demand(forward, (40, 90)), Demand(back, (5, 0)), Demand(both, (45, 90)))


def admit(book: Ledger) -> Entry:
    entry = book.admit(replace(request(ASKED), demands=demands()), T0)
    assert isinstance(entry, Entry), entry
    return entry


def free(book: Ledger, resource: ResourceId, start: int, end: int) -> int:
    window = Window(at(start), at(end))
    return book.ask(lambda tables: tables.capacity(resource) - tables.peak(resource, window), T0)[0]


def test_each_slot_takes_its_own_amount_and_gives_it_back(ledger: Ledger, database_url: str, tmp_path: Path) -> None:
    ledger.set_terms(TERMS)
    entry = admit(ledger)
    assert ledger.get(entry.handle) == entry
    with open_ledger(database_url, tmp_path) as fresh:  # loads what is there
        fresh.set_terms(TERMS)
        for book in (ledger, fresh):
            assert [free(book, name, 0, 60) for name in RESOURCES] == [60, 95, 55]
            assert [free(book, name, 60, 120) for name in RESOURCES] == [10, 100, 10]
        refused = ledger.admit(request(varying((30, 90, 20, 20), name="b")), T0)
        assert isinstance(refused, Refused)
        assert {one.window for one in refused.shortfalls} == {Window(at(60), at(90))}
        ledger.transition(entry.handle, State.CANCELLED, T0, actor="tester")
        assert [free(fresh, name, 0, 120) for name in RESOURCES] == [100, 100, 100]  # follows


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
def test_a_ledger_of_the_version_before_is_kept_whole(database_url: str, tmp_path: Path, direction: str) -> None:
    """A recurring reservation, written as version 3 of the tables had it; then read, and taken back to version 3."""
    migrate(database_url, "0003")
    windows = [
        {"start": (at(n * 60)).isoformat().replace("+00:00", "Z"), "end": at(n * 60 + 30).isoformat()} for n in (0, 1)
    ]
    request = varying((0, 30, 7, 7))
    document = request.to_document()
    del document["slots"]
    document |= {"direction": direction, "rate_bps": 7, "windows": windows}
    starts, ends = ([int((at(n * 60 + m) - at(0)).total_seconds()) for n in (0, 1)] for m in (0, 30))
    base = int(at(0).timestamp())
    url = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url) as raw:
        raw.execute("INSERT INTO resource (name) VALUES (%s)", [str(RESOURCES[0])])
        raw.execute(
            "INSERT INTO entry (number, handle, owner, name, state, version, document, paths, resources, rates_bps, labels,"
            " start_us, end_us, created_at, changed_at, windows, volume_bits)"
            " VALUES (1, 'r-old', 'hep', 'a', 'committed', 1, %s, '[]', %s, %s, '{}', %s, %s, %s, %s, 2, 1)",
            [json.dumps(document), [str(RESOURCES[0])], [8], base * 10**6, (base + ends[-1]) * 10**6, T0, T0],
        )
        raw.execute(
            "INSERT INTO occupancy VALUES (1, 1, 1, '{1}', '{8}', %s, %s, %s)",
            [
                [(base + one) * 10**6 for one in starts],
                [(base + one) * 10**6 for one in ends],
                (base + ends[-1]) * 10**6,
            ],
        )
        raw.execute("UPDATE head SET sequence = 1, entry_number = 1")
    with open_ledger(database_url, tmp_path, migrate=True) as book:
        book.set_terms(TERMS)
        (entry,) = book.live_between(T0, at(600))
        assert entry.reservation.constant_rate_bps == 7
        assert entry.reservation.direction == direction
        assert entry.reservation.windows == (Window(at(0), at(30)), Window(at(60), at(90)))
        assert entry.demands == (Demand(RESOURCES[0], (8,)),)
        assert [free(book, RESOURCES[0], n, n + 30) for n in (0, 30, 60)] == [92, 100, 92]
    migrate(database_url, "0003")
    with psycopg.connect(url) as raw:
        row = raw.execute("SELECT document, rates_bps FROM entry").fetchone()
    assert row is not None
    assert row[0]["rate_bps"] == 7
    assert len(row[0]["windows"]) == 2
    assert row[1] == [8]
