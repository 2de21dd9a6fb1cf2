"""Decisions per second: the slot tables beside the peers' methods, on the same live reservations and requests."""

from __future__ import annotations

import time
from collections.abc import Callable

import psycopg

from benchmarks.admission import peers
from benchmarks.admission.peers import Connection, LoadAndSweep, Peer, SqlSum
from benchmarks.admission.workload import Request, Workload, workload
from benchmarks.common import Figure, Pace, Say, count, figures, pace, stopwatch
from slotcar.admission import Admitted, decide

#: A peer answers as many of the stream's requests as it can in its time, and at least a few.
FEWEST_REQUESTS = 30
REQUESTS = 20_000
WARM_UP = 50


def measure(url: str, live: int, say: Say, seconds: float) -> list[Figure]:
    name = count(live)
    say(f"{name} live: making the workload")
    work = workload(live, REQUESTS)
    with stopwatch() as built:
        tables = work.tables()
    say(f"{name} live: slot tables")
    own, answers = _own(work)
    del tables
    beside: dict[str, Pace] = {}
    needlessly_refused = 0.0
    with psycopg.connect(url) as connection:
        say(f"{name} live: filling PostgreSQL")
        peers.fill(connection, work.live)
        for title, method in METHODS.items():
            say(f"{name} live: {title}")
            beside[title], given = _peer(connection, method, work, seconds)
            wrong = [mine != theirs for mine, theirs in zip(answers, given, strict=False)]
            if isinstance(method, LoadAndSweep) and any(wrong):
                raise AssertionError(
                    f"{title} disagrees with the slot tables on {sum(wrong)} of {len(wrong)} requests"
                )
            if isinstance(method, SqlSum):
                needlessly_refused = sum(wrong) / len(wrong)
    return [
        *figures(f"decisions at {name} live", own, beside),
        Figure(f"refused at {name} live", 100 - 100 * sum(answers) / len(answers), "%"),
        Figure(f"fit, but refused by a sum at {name} live", 100 * needlessly_refused, "%"),
        Figure(f"slot tables of {name} built in", built[0], "s"),
    ]


METHODS: dict[str, Peer] = {
    "SQL sum": SqlSum("plain"),
    "SQL sum, covering index": SqlSum("covering"),
    "load and sweep": LoadAndSweep("plain"),
    "load and sweep, covering index": LoadAndSweep("covering"),
}


def _own(work: Workload) -> tuple[Pace, list[bool]]:
    tables = work.tables()

    def answer(request: Request) -> bool:
        decision = decide(tables, request.demands, request.windows)
        if isinstance(decision, Admitted):
            tables.add(decision.demands, decision.windows)
            return True
        return False

    def undo(request: Request, admitted: bool) -> None:
        if admitted:
            tables.remove(request.demands, request.windows)

    return _run(work, answer, undo, float("inf"))


def _peer(connection: Connection, method: Peer, work: Workload, seconds: float) -> tuple[Pace, list[bool]]:
    """In one transaction that ends with nothing changed: what is measured is no commit."""

    def answer(request: Request) -> bool:
        return method.answer(connection, request, work.capacity_bps)

    def undo(_request: Request, _admitted: bool) -> None:
        connection.execute("ROLLBACK TO SAVEPOINT held; RELEASE SAVEPOINT held; SAVEPOINT held")

    connection.execute("SAVEPOINT held")
    try:
        return _run(work, answer, undo, seconds)
    finally:
        connection.rollback()


def _run(
    work: Workload, answer: Callable[[Request], bool], undo: Callable[[Request, bool], None], seconds: float
) -> tuple[Pace, list[bool]]:
    """Times every answer. What it added is taken away again outside the clock: the number live stays what it is."""
    for request in work.requests[:WARM_UP]:
        undo(request, answer(request))
    latencies, answers, until = [], [], time.perf_counter() + seconds
    for number, request in enumerate(work.requests):
        if number >= FEWEST_REQUESTS and time.perf_counter() > until:
            break
        start = time.perf_counter()
        admitted = answer(request)
        latencies.append(time.perf_counter() - start)
        answers.append(admitted)
        undo(request, admitted)
    return pace(latencies), answers
