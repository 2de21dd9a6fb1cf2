"""Durable admissions per second: the ledger, where concurrent requests share a commit, beside a transaction for each."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy.engine import make_url

from benchmarks.admission import peers
from benchmarks.admission.filling import fill_ledger
from benchmarks.admission.peers import Connection
from benchmarks.admission.workload import NOW, RESOURCES, Request, Workload, workload
from benchmarks.common import Figure, Pace, Say, count, database_cpu_s, figures, pace, stopwatch
from slotcar.admission.model import Refused
from slotcar.base.vocabulary import Protocol, Service
from slotcar.book.model import AdmissionRequest, Terms
from slotcar.book.operations import Admit
from slotcar.network.model import InterfaceId
from slotcar.network.path.model import Hop
from slotcar.network.path.model import Path as NetworkPath
from slotcar.reservation.model import Endpoint, Reservation
from slotcar.store import Ledger, open_ledger

CLIENTS = 64
#: No more than this are added, so that the number live stays near what the figure says.
MOST = 10_000
#: Links so large that every request is admitted: each answer is one durable admission.
AMPLE_BPS = 10**14


def measure(url: str, live: int, say: Say, seconds: float) -> list[Figure]:
    name = count(live)
    say(f"{name} live: making the workload")
    work = workload(live, MOST)
    say(f"{name} live: filling a ledger")
    own, start_s, cpu_s = _own(new_database(url, f"ledger_{live}"), work, say, seconds)
    peer_url = new_database(url, f"peer_{live}")
    say(f"{name} live: filling the peers' tables")
    with psycopg.connect(peer_url) as connection:
        peers.fill(connection, work.live)
        _prepare_locks(connection)
    beside = {}
    for index, title in (("plain", ""), ("covering", ", covering index")):
        say(f"{name} live: a transaction for each{title}")
        beside[f"transaction with SQL sum and locks{title}"] = _peer(peer_url, work, index, seconds)
    return [
        *figures(f"durable admissions at {name} live, {CLIENTS} clients", own, beside),
        Figure(
            f"durable admissions at {name} live, {CLIENTS} clients: CPU of one, database included", cpu_s * 1000, "ms"
        ),
        Figure(f"start-up from a ledger of {name} live", start_s, "s"),
    ]


def new_database(url: str, name: str) -> str:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return make_url(url).set(database=name).render_as_string(hide_password=False)


# -- ours --------------------------------------------------------------------------------------------------------


def _own(url: str, work: Workload, say: Say, seconds: float) -> tuple[Pace, float, float]:
    """How fast they were, how long the ledger took to start, and the processor's time of one admission in seconds."""
    nowhere = Path("unused: the URL names a server")
    with open_ledger(url, nowhere, migrate=True):
        pass
    admissions = [admission_of(request, number) for number, request in enumerate(work.requests)]
    fill_ledger(url, work.live, admissions[0])
    terms = Terms(dict.fromkeys(RESOURCES, AMPLE_BPS), {})
    say(f"{count(len(work.live))} live: start-up")
    with stopwatch() as started:
        ledger = open_ledger(url, nowhere)
        ledger.set_terms(terms)
        ledger.ask(lambda tables: tables.resources, NOW)
    with ledger:
        say(f"{count(len(work.live))} live: the ledger, {CLIENTS} clients")
        began_s, answered = time.process_time() + database_cpu_s(url), list[int]()

        def answer(number: int, _client: int) -> None:
            admit(ledger, admissions[number])
            answered.append(number)

        raced = race(len(admissions), answer, seconds)
        cpu_s = time.process_time() + database_cpu_s(url) - began_s
        return raced, started[0], cpu_s / len(answered)


def admit(ledger: Ledger, request: AdmissionRequest) -> None:
    answer = ledger.run(Admit(NOW, request))
    assert not isinstance(answer, Refused), answer.sentence()


def admission_of(request: Request, number: int, labels: Mapping[str, str] | None = None) -> AdmissionRequest:
    """The request as the verbs hand it over; its six interfaces are three routers' two each."""
    ports = [InterfaceId(device=f"r{each}", name="eth0") for each in request.path]
    hops = tuple(Hop(a.device, a, b) for a, b in zip(ports[::2], ports[1::2], strict=True))
    path = NetworkPath("src", "dst", "10.0.0.2", "10.0.9.2", Service.IP_PREMIUM, hops, ())
    reservation = Reservation.constant(
        name=f"asked-{number}",
        owner="bench",
        source=Endpoint(host="src"),
        destination=Endpoint(host="dst"),
        protocol=Protocol.UDP,
        service=Service.IP_PREMIUM,
        rate_bps=request.rate_bps,
        windows=request.windows,
        labels=dict(labels or {}),
    )
    return AdmissionRequest(reservation=reservation, paths=(path,), demands=request.demands, actor="bench")


# -- the peers' --------------------------------------------------------------------------------------------------


def _prepare_locks(connection: Connection) -> None:
    connection.execute("CREATE TABLE interface (number bigint PRIMARY KEY)")
    connection.execute(f"INSERT INTO interface SELECT generate_series(0, {len(RESOURCES) - 1})")
    connection.execute("CREATE TABLE booking (number bigserial PRIMARY KEY, document jsonb NOT NULL)")
    connection.commit()


def _peer(url: str, work: Workload, index: str, seconds: float) -> Pace:
    with ExitStack() as stack:
        connections = [stack.enter_context(psycopg.connect(url)) for _ in range(CLIENTS)]
        return race(
            len(work.requests),
            lambda number, client: _book(connections[client], work.requests[number], number, index),
            seconds,
        )


def _book(connection: Connection, request: Request, number: int, index: str) -> None:
    """Locks the path's interfaces in order, sums, inserts, commits."""
    connection.execute(
        "SELECT number FROM interface WHERE number = ANY(%s::bigint[]) ORDER BY number FOR UPDATE",
        (list(request.path),),
    )
    document: dict[str, Any] = {"name": f"asked-{number}", "owner": "bench", "rate_bps": request.rate_bps}
    connection.execute("INSERT INTO booking (document) VALUES (%s)", (json.dumps(document),))
    assert peers.SqlSum(index).answer(connection, request, AMPLE_BPS)
    connection.commit()


# -- both --------------------------------------------------------------------------------------------------------


def race(most: int, call: Callable[[int, int], None], seconds: float) -> Pace:
    """Clients that ask one request after another, each waiting for its answer, until the time or the requests end."""
    numbers, latencies, failures = itertools.count(), list[float](), list[BaseException]()
    until = time.perf_counter() + seconds

    def client(own: int) -> None:
        try:
            while time.perf_counter() < until and not failures and (number := next(numbers)) < most:
                start = time.perf_counter()
                call(number, own)
                latencies.append(time.perf_counter() - start)
        except BaseException as error:
            failures.append(error)

    with stopwatch() as taken:
        _together([threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)])
    if failures:
        raise failures[0]
    return pace(latencies, taken[0])


def _together(threads: Sequence[threading.Thread]) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
