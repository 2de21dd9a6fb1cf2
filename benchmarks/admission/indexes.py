"""What the indexes of lists, searches and pages cost an admission: two equal ledgers in turns, one without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import psycopg

from benchmarks.admission.durable import AMPLE_BPS, admission_of, admit, new_database, race
from benchmarks.admission.filling import fill_ledger
from benchmarks.admission.workload import NOW, RESOURCES, Workload, workload
from benchmarks.common import Figure, Say, count
from slotcar.book.model import AdmissionRequest, Terms
from slotcar.store import Ledger, open_ledger

#: None of them is needed to decide or to push.
INDEXES = (
    "entry_words", "entry_labels", "entry_state", "entry_owner", "entry_live_start", "entry_live_slots", "entry_waits",
)  # fmt: skip
#: Each of so many admissions on either side; the first of them fills what is cached, and is not counted.
ROUNDS, EACH = 7, 1_500
#: As those of people have.
LABELS = {"project": "p7", "ticket": "4711"}
NOWHERE = Path("unused: the URL names a server")


@dataclass
class Side:
    ledger: Ledger
    connection: psycopg.Connection[tuple[int]]
    rates: list[float] = field(default_factory=list)
    records: list[float] = field(default_factory=list)

    def admit(self, requests: Sequence[AdmissionRequest]) -> None:
        before = self._written()
        pace = race(len(requests), lambda number, _client: admit(self.ledger, requests[number]), 600)
        self.rates.append(pace.per_second)
        self.records.append((self._written() - before) / len(requests))

    def _written(self) -> int:
        """Log records of the whole server since it began; whole pages, which follow a checkpoint, count as one."""
        self.connection.execute("SELECT pg_stat_clear_snapshot()")
        row = self.connection.execute("SELECT wal_records FROM pg_stat_wal").fetchone()
        assert row is not None
        return row[0]


def measure(url: str, live: int, say: Say, without: Sequence[str] = INDEXES) -> Iterator[Figure]:
    """Of each the median of the rounds; the records of the write-ahead log do not depend on what else the machine does."""
    name = count(live)
    work = workload(live, ROUNDS * EACH)
    requests = [admission_of(request, number, LABELS) for number, request in enumerate(work.requests)]
    with ExitStack() as stack:
        say(f"{name} live: filling two ledgers")
        own = _side(stack, url, work, requests[0], ())
        bare = _side(stack, url, work, requests[0], without)
        for number in range(ROUNDS):
            say(f"{name} live: admissions with and without the indexes of lists and pages, {number + 1} of {ROUNDS}")
            for side in (own, bare) if number % 2 else (bare, own):
                side.admit(requests[number * EACH : (number + 1) * EACH])
    what, peer = f"at {name} live, with the indexes of lists and pages", "without them"
    yield Figure(f"durable admissions {what}", median(own.rates[1:]), "1/s", peer, median(bare.rates[1:]))
    written, bare_written = median(own.records[1:]), median(bare.records[1:])
    yield Figure(f"log records of an admission {what}", written, "", peer, bare_written, lower_is_better=True)


def _side(stack: ExitStack, url: str, work: Workload, like: AdmissionRequest, without: Sequence[str]) -> Side:
    own = new_database(url, f"indexes_{len(work.live)}_{len(without)}")
    with open_ledger(own, NOWHERE, migrate=True):
        pass
    fill_ledger(own, work.live, like)
    connection: psycopg.Connection[tuple[int]] = stack.enter_context(psycopg.connect(own, autocommit=True))
    for index in without:
        connection.execute(f"DROP INDEX {index}")  # a constant of this file
    ledger = stack.enter_context(open_ledger(own, NOWHERE, migrate=False))
    ledger.set_terms(Terms(dict.fromkeys(RESOURCES, AMPLE_BPS), {}))
    ledger.ask(lambda tables: tables.resources, NOW)
    return Side(ledger, connection)
