"""What routers counted: reading many of them once a minute, and a year of many reservations in the database."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.common import Figure, Say, postgres
from benchmarks.counting.reading import measured
from benchmarks.counting.year import kept
from benchmarks.push.fleet import Fleet

ROUTERS, QUICK_ROUTERS = 1_000, 50


def measure(quick: bool, say: Say) -> Iterator[Figure]:
    """The load of the machine is a figure of its own: times on one that others use are longer, the processor's hardly."""
    size = QUICK_ROUTERS if quick else ROUTERS
    yield Figure("processes that wait for a processor when it begins, mean of a minute", os.getloadavg()[0], "")
    with tempfile.TemporaryDirectory(prefix="slotcar-bench-") as folder, Fleet(size) as fleet, postgres() as url:
        yield from measured(Path(folder), fleet, url, say)
    with postgres() as url:
        yield from kept(url, quick, say)
