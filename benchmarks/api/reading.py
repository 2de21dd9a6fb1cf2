"""Reads of one entry and of pages, by turns with the bare endpoint."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.api import clients
from benchmarks.api.clients import NextRequest
from benchmarks.api.process import Served
from benchmarks.common import Figure, Say
from slotcar.store import EntryFilter, Ledger

TURNS = 3
CLIENTS = 4
PAGE = 50
BARE = "bare endpoint"


def measure(server: Served, ledger: Ledger, name: str, seconds: float, say: Say) -> Iterator[Figure]:
    some = ledger.list(EntryFilter(newest=True, limit=1000))[::25]
    ways = _ways([one.handle for one in some], [one.number for one in some], server)
    rates, costs_ms = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, float("inf"))
    for turn in range(TURNS + 1):
        for way, (port, next_request) in ways.items():
            say(f"{name}: {way}, turn {turn} of {TURNS}")
            began_s = server.cpu_s
            rate, number = clients.rate(port, next_request, 200, CLIENTS, seconds if turn else 0.5)
            if turn:  # what is compiled or looked up at its first use is not measured
                rates[way] = max(rates[way], rate)
                costs_ms[way] = min(costs_ms[way], 1000 * (server.cpu_s - began_s) / number)
    for way in ways:
        peer = None if way == BARE else BARE
        title = f"{way}, {name}, {CLIENTS} clients"
        yield Figure(title, rates[way], "1/s", peer or "", rates[peer] if peer else None)
        cost = f"{title}: CPU of the server"
        yield Figure(cost, costs_ms[way], "ms", peer or "", costs_ms[peer] if peer else None, lower_is_better=True)


def _ways(handles: list[str], numbers: list[int], server: Served) -> dict[str, tuple[int, NextRequest]]:
    """By what is asked: which port, and the requests."""

    def gets(*addresses: str) -> tuple[int, NextRequest]:
        return server.port, clients.in_turn([clients.request("GET", one, server.token) for one in addresses])

    return {
        BARE: (server.bare_port, clients.in_turn([clients.request("GET", "/")])),
        "liveness": gets("/healthz"),
        "one entry": gets(*(f"/v1/reservations/{one}" for one in handles)),
        f"page of {PAGE}": gets(*(f"/v1/reservations?limit={PAGE}&after={one - PAGE}" for one in numbers)),
    }
