"""Creates over HTTP, by turns with the ledger in process: the same reservations, as many clients."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial

from benchmarks.admission.durable import admit, race
from benchmarks.api import clients
from benchmarks.api.process import Served
from benchmarks.common import Figure, Pace, Say
from benchmarks.web.world import World
from slotcar.admission import capacities
from slotcar.base.timebase import SYSTEM, Window, iso
from slotcar.book.model import AdmissionRequest, Terms
from slotcar.store import Ledger

TURNS = 3
CLIENTS = 64
#: More than the ledger admits in a second.
MOST_PER_S = 4_000
IN_PROCESS = "ledger in process"


def measure(server: Served, ledger: Ledger, world: World, name: str, seconds: float, say: Say) -> Iterator[Figure]:
    ledger.set_terms(Terms(capacities(world.network), {}))
    numbers = itertools.count()
    ours, in_process, costs_ms = 0.0, 0.0, float("inf")
    for turn in range(TURNS + 1):
        length_s = seconds if turn else 0.5
        say(f"{name}: creates, turn {turn} of {TURNS}")
        began_s = server.cpu_s
        rate, number = clients.rate(server.port, partial(_create, server, world, numbers), 201, CLIENTS, length_s)
        cost_ms = 1000 * (server.cpu_s - began_s) / number
        say(f"{name}: {IN_PROCESS}, turn {turn} of {TURNS}")
        requests = [_request(world, next(numbers)) for _ in range(int(length_s * MOST_PER_S))]
        pace = _in_process(ledger, requests, length_s)
        if turn:
            ours, in_process, costs_ms = max(ours, rate), max(in_process, pace.per_second), min(costs_ms, cost_ms)
    title = f"creates, {name}, {CLIENTS} clients"
    yield Figure(title, ours, "1/s", IN_PROCESS, in_process)
    yield Figure(f"{title}: CPU of the server", costs_ms, "ms")


def _in_process(ledger: Ledger, requests: Sequence[AdmissionRequest], seconds: float) -> Pace:
    return race(len(requests), lambda number, _client: admit(ledger, requests[number]), seconds)


def _create(server: Served, world: World, numbers: Iterator[int]) -> bytes:
    return clients.request("POST", "/v1/reservations", server.token, _body(world, next(numbers)))


def _window(number: int) -> Window:
    """Half an hour in the coming month."""
    start = SYSTEM.now().replace(microsecond=0, second=0) + timedelta(minutes=60 + number * 7 % 40_000)
    return Window(start, start + timedelta(minutes=30))


def _body(world: World, number: int) -> bytes:
    """A reservation as a caller writes it."""
    pair, window = world.pairs[number % len(world.pairs)].reservation, _window(number)
    return json.dumps(
        {
            "name": f"asked-{number}", "owner": "bench", "source": pair.source.host,
            "destination": f"{pair.destination.host}:{1024 + number % 50_000}", "protocol": pair.protocol.value,
            "service": pair.service.value, "rate": "1 Mbit/s", "start": iso(window.start), "duration": "PT30M",
        }
    ).encode()  # fmt: skip


def _request(world: World, number: int) -> AdmissionRequest:
    """The same as the verbs hand it to the ledger."""
    pair, window = world.pairs[number % len(world.pairs)], _window(number)
    end = pair.reservation.destination.model_copy(update={"port": 1024 + number % 50_000})
    named = pair.reservation.model_copy(update={"name": f"asked-{number}", "destination": end}).over([window])
    return AdmissionRequest(reservation=named, paths=pair.paths, demands=pair.demands, actor="bench")
