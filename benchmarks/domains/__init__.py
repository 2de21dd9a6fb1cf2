"""How many requests domains agree on, with how many messages and in what time: a random network of domains over the real
protocol code, with messages through memory."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks.common import Figure, Say, count
from benchmarks.domains.simulation import Simulation

SEED = 47
DOMAINS, REQUESTS = 100, 100_000
QUICK_DOMAINS, QUICK_REQUESTS = 20, 200


def measure(quick: bool, say: Say) -> Iterator[Figure]:
    domains, requests = (QUICK_DOMAINS, QUICK_REQUESTS) if quick else (DOMAINS, REQUESTS)
    at_rest_bytes = _memory_bytes()
    with tempfile.TemporaryDirectory() as folder:
        say(f"{domains} domains")
        simulation = Simulation.start(domains, SEED, Path(folder))
        admitted, began_s = 0, time.process_time()
        for number in range(requests):
            if number % 500 == 0:
                say(f"{count(number)} of {count(requests)} requests over {domains} domains")
            admitted += simulation.ask(number)
        took_s = time.process_time() - began_s
        grown_bytes = _memory_bytes() - at_rest_bytes
    if problems := simulation.problems():
        raise AssertionError(problems[:5])
    of = f"{count(requests)} requests over {domains} domains"
    crossed = sum(length * times for length, times in simulation.lengths.items())
    yield Figure(f"admitted of {of}", 100 * admitted / requests, "%")
    yield Figure("domains of what was admitted", crossed / max(admitted, 1), "domains")
    yield Figure("messages", simulation.messages / requests, "messages/request")
    yield Figure("rounds", simulation.rounds / requests, "rounds/request", lower_is_better=True)
    yield Figure(
        "processor time of all domains together", 1000 * took_s / requests, "ms/request", lower_is_better=True
    )
    yield Figure(
        "exchanges of a message and its answer", 1000 * took_s / simulation.exchanges, "ms", lower_is_better=True
    )
    yield Figure("memory of all domains together", grown_bytes / 2**20, "MiB", lower_is_better=True)


def _memory_bytes() -> int:
    resident_bytes: int = psutil.Process().memory_info().rss
    return resident_bytes
