"""Amounts over time in the ledger: kept, given back, followed by another controller; and a ledger of the version before."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy.engine import make_url

from slotcar.admission import Demand, Refused, ResourceId
from slotcar.base.timebase import Window, to_us
from slotcar.book.model import Entry, Proposal, State, Terms
from slotcar.book.operation import Move
from slotcar.book.operations import Admit
from slotcar.reservation.model import Slot
from slotcar.store import Ledger, open_ledger
from tests.support.postgres import migrate
from tests.support.requests import RESOURCES, T0, at, request
from tests.unit.reservation.test_slots import varying

TERMS = Terms(dict.fromkeys(RESOURCES, 100), {})
VARYING = varying((0, 60, 40, 5), (60, 120, 90, 0))


def demands() -> tuple[Demand, ...]:
    """One resource that the way forward crosses, one of the way back, one of both."""
    forward, back, both = RESOURCES
    return (Demand(forward, (40, 90)), Demand(back, (5, 0)), Demand(both, (45, 90)))


def admit(book: Ledger) -> Entry:
    entry = book.run(Admit(T0, replace(request(VARYING), demands=demands())))
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
        refused = ledger.run(Admit(T0, request(varying((30, 90, 20, 20), name="b"))))
        assert isinstance(refused, Refused)
        assert {one.window for one in refused.shortfalls} == {Window(at(60), at(90))}
        ledger.run(Move(T0, entry.handle, "tester", to=State.CANCELLED))
        assert [free(fresh, name, 0, 120) for name in RESOURCES] == [100, 100, 100]  # follows


#: As version 3 of the tables had an entry and its place in the slot tables.
_INSERT_ENTRY = """
    INSERT INTO entry (number, handle, owner, name, state, version, document, paths, resources, rates_bps, labels,
        start_us, end_us, hold_until, created_at, changed_at, proposed, windows, volume_bits)
    VALUES (%(number)s, %(handle)s, 'hep', %(name)s, %(state)s, 1, %(document)s, '[]', %(resources)s, %(rates)s, '{}',
        %(start)s, %(end)s, %(hold_until)s, %(at)s, %(at)s, %(proposed)s, 2, 1)
"""
_INSERT_OCCUPANCY = "INSERT INTO occupancy VALUES (%s, %s, %s, '{1}', %s, %s, %s, %s)"
#: Name, state, rate and proposed rate of each.
ROWS: tuple[tuple[str, str, int, int | None], ...] = (
    ("firm", "committed", 7, None),
    ("raised", "committed", 10, 20),
    ("held", "held", 3, None),
    ("cancelled", "cancelled", 40, None),
    ("free", "committed", 0, None),
    ("free-raised", "committed", 0, 0),
)
#: In minutes: with a gap between them.
_WINDOWS = ((0, 30), (60, 90))


def document_of_version_3(name: str, direction: str, rate_bps: int, service: str = "ip-premium") -> dict[str, Any]:
    """One rate over some windows. The forms of times differ, and stay as they are."""
    document = varying((0, 30, 7, 7), name=name).to_document()
    windows = [
        {"start": at(start).isoformat().replace("+00:00", "Z"), "end": at(end).isoformat()} for start, end in _WINDOWS
    ]
    later = {key: value for key, value in document.items() if key not in ("slots", "share", "need")}
    return later | {"direction": direction, "service": service, "rate_bps": rate_bps, "windows": windows}


def insert_of_version_3(raw: psycopg.Connection[Any], direction: str) -> None:
    """A committed entry, one with a change that waits, a held one, a cancelled one, and two without resources, of which a
    change of one waits.
    """
    raw.execute("INSERT INTO resource (name) VALUES (%s)", [str(RESOURCES[0])])
    starts, ends = ([to_us(at(window[end])) for window in _WINDOWS] for end in (0, 1))
    sequence = 0
    for number, (name, state, rate_bps, proposed_bps) in enumerate(ROWS, 1):
        service = "ip-premium" if rate_bps else "best-effort"
        document = document_of_version_3(name, direction, rate_bps, service)
        proposed = None
        if proposed_bps is not None:
            demanded = [[str(RESOURCES[0]), proposed_bps + 1]] if proposed_bps else []
            reserved = document_of_version_3(name, direction, proposed_bps, service)
            proposed = {
                "reservation": reserved,
                "paths": [],
                "demands": demanded,
                "actor": "me",
                "at": at(-5).isoformat(),
            }
        row = {
            "number": number, "handle": f"r-{name}", "name": name, "state": state, "document": json.dumps(document),
            "resources": [str(RESOURCES[0])] if rate_bps else [], "rates": [rate_bps + 1] if rate_bps else [],
            "start": starts[0], "end": ends[-1], "hold_until": at(10) if state == "held" else None, "at": T0,
            "proposed": proposed and json.dumps(proposed),
        }  # fmt: skip
        raw.execute(_INSERT_ENTRY, row)
        highest = max(rate_bps, proposed_bps or 0)
        for sign in (1, -1) if state == "cancelled" else (1,) if highest else ():
            sequence += 1
            raw.execute(_INSERT_OCCUPANCY, [sequence, number, sign, [highest + 1], starts, ends, ends[-1]])
    raw.execute("UPDATE head SET sequence = %s, entry_number = %s", [sequence, len(ROWS)])


def rows_of(url: str) -> dict[str, list[tuple[Any, ...]]]:
    with psycopg.connect(url) as raw:
        return {table: raw.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in ("entry", "occupancy")}


@pytest.mark.parametrize("direction", ["forward", "reverse", "both"])
def test_a_ledger_of_the_version_before_is_kept_whole(database_url: str, tmp_path: Path, direction: str) -> None:
    """Recurring reservations, written as version 3 of the tables had them; then read, and taken back to version 3."""
    migrate(database_url, "0003")
    url = make_url(database_url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url) as raw:
        insert_of_version_3(raw, direction)
    before = rows_of(url)
    assert len(before["entry"]) == len(ROWS)
    with open_ledger(database_url, tmp_path, migrate=True) as book:
        book.set_terms(TERMS)
        for name, state, rate_bps, proposed_bps in ROWS:
            entry = book.get(f"r-{name}")
            assert entry is not None
            assert entry.state.value == state
            assert entry.hold_until == (at(10) if state == "held" else None)
            check_form(entry, direction, rate_bps)
            assert (entry.proposed is None) == (proposed_bps is None)
            if entry.proposed is not None and proposed_bps is not None:
                assert (entry.proposed.actor, entry.proposed.at) == ("me", at(-5))
                check_form(entry.proposed, direction, proposed_bps)
        assert {one.reservation.name for one in book.live_between(T0, at(600))} == {row[0] for row in ROWS} - {
            "cancelled"
        }
        assert [free(book, RESOURCES[0], n, n + 30) for n in (0, 30, 60)] == [100 - 8 - 21 - 4, 100, 100 - 8 - 21 - 4]
    migrate(database_url, "0003")
    assert rows_of(url) == before


def check_form(form: Entry | Proposal, direction: str, rate_bps: int) -> None:
    """A constant rate, in the directions that are reserved, over the windows."""
    rates = [rate_bps if direction in (way, "both") else 0 for way in ("forward", "reverse")]
    assert form.reservation.slots == tuple(Slot(at(start), at(end), *rates) for start, end in _WINDOWS)
    assert form.reservation.direction == direction
    assert form.demands == ((Demand(RESOURCES[0], (rate_bps + 1,)),) if rate_bps else ())
