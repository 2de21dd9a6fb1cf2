"""The page with a ledger of 100,000 and of 1,000,000 reservations: how long the server takes, how much it sends, and when
Chromium shows the first of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from benchmarks.common import Figure, Say, count, postgres
from benchmarks.web import asking, filling
from benchmarks.web.world import world
from slotcar.base.timebase import to_us

#: (live in the coming month, over in the months before): a year of it, ten years, and all of them in one month.
QUICK = ((800, 9_200),)
FULL = ((8_000, 92_000), (8_000, 992_000), (100_000, 0))


def measure(quick: bool, say: Say) -> Iterator[Figure]:
    filled = world()
    for live, over in QUICK if quick else FULL:
        with postgres() as url:
            name = f"{count(live + over)} reservations" + (", all in the coming month" if not over else "")
            say(f"{name}: filling a ledger")
            filling.fill(url, filled, live, over, to_us(datetime.now(UTC)))
            yield from asking.measure(url, filled, name, say)
