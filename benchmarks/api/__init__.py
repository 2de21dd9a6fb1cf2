"""The API over HTTP with a ledger of 100,000 reservations: reads beside a bare endpoint of the same framework and server,
creates beside the ledger in process. All by turns in one run, each with its best turn.

The server is a process of its own; who asks is this one. Rates are of the whole machine, so that their ratios count; the
processor's time of the server alone says what a request costs it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.api import admitting, reading
from benchmarks.api.process import served
from benchmarks.common import Figure, Say, count, postgres
from benchmarks.web import filling
from benchmarks.web.world import world
from slotcar.base.timebase import SYSTEM, to_us
from slotcar.store import open_ledger

#: (live in the coming month, over in the months before): a year of it.
QUICK, FULL = (800, 9_200), (8_000, 92_000)
QUICK_S, FULL_S = 1.0, 4.0


def measure(quick: bool, say: Say) -> Iterator[Figure]:
    filled = world()
    live, over = QUICK if quick else FULL
    seconds = QUICK_S if quick else FULL_S
    name = f"{count(live + over)} reservations"
    with postgres() as url, tempfile.TemporaryDirectory() as folder:
        say(f"{name}: filling a ledger")
        filling.fill(url, filled, live, over, to_us(SYSTEM.now()))
        with served(url, Path(folder)) as server, open_ledger(url, Path(folder)) as ledger:
            yield from reading.measure(server, ledger, name, seconds, say)
            yield from admitting.measure(server, ledger, filled, name, seconds, say)
