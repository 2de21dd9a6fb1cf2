"""What is over is found among what has begun, however many are live: each turn of the loop looks for it under the lock."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from slotcar.base.timebase import to_us
from slotcar.book.model import Entry, State, Terms
from slotcar.book.operations import Admit
from slotcar.store import Ledger, reading
from tests.support.many import add_copies, rows_looked_at
from tests.support.requests import RESOURCES, T0, at, request, reservation

#: Live, and to begin within months.
COMING = 3_000


@pytest.mark.parametrize("statement", [reading.READ_DUE, reading.READ_RUN_OUT], ids=["due", "run out"])
def test_few_are_looked_at(ledger: Ledger, database_url: str, statement: str) -> None:
    ledger.set_terms(Terms(dict.fromkeys(RESOURCES, 1_000), {}))
    for name, start, end in (("over", 0, 10), ("open", 0, 60), ("later", 30, 60)):
        assert isinstance(ledger.run(Admit(T0, request(reservation(name, 10, start, end)))), Entry)
    held = ledger.run(Admit(T0, request(reservation("held", 10, 40, 60), hold_until=at(5))))
    assert isinstance(held, Entry)
    with psycopg.connect(database_url, autocommit=True) as connection:
        add_copies(connection, "later", COMING)
        connection.execute("ANALYZE entry")
        params = {"now": at(20), "now_us": to_us(at(20))}
        (plans,) = connection.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + statement, params).fetchone() or ([],)
        assert rows_looked_at(plans[0]["Plan"]) < COMING // 10, plans
    ended = ledger.expire(at(20))
    assert [(one.reservation.name, one.state) for one in ended] == [
        ("over", State.ENDED),
        ("held", State.TIMED_OUT),
    ]
    assert ledger.expire(at(20) + timedelta(seconds=1)) == ()
