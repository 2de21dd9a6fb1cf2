"""Admission: decisions and durable admissions per second, beside the methods that peers use."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.admission import decisions, durable, edges, indexes
from benchmarks.common import Figure, Say, postgres

QUICK = [1_000, 10_000]
#: How long each method is given at each size.
QUICK_SECONDS, FULL_SECONDS = 2.0, 6.0
FULL = [*QUICK, 100_000, 1_000_000]


def measure(quick: bool, say: Say) -> Iterator[Figure]:
    sizes, seconds = (QUICK, QUICK_SECONDS) if quick else (FULL, FULL_SECONDS)
    for part in (decisions, durable):
        with postgres() as url:
            for live in sizes:
                yield from part.measure(url, live, say, seconds)
    with postgres() as url:
        yield from edges.measure(url, 10_000, say, seconds)
    with postgres() as url:
        yield from indexes.measure(url, sizes[min(2, len(sizes) - 1)], say)
