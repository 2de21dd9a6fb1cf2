"""From one slot to the next on N emulated Cisco routers: Slotcar's push beside a playbook with `cisco.ios.ios_config`."""

from __future__ import annotations

import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.common import Figure, Say
from benchmarks.push.fleet import Fleet
from benchmarks.push.world import FLOWS, World

SIZES, QUICK_SIZES = (1, 20, 100), (1, 20)
#: How often each is timed; the peer needs minutes for a hundred.
ROUNDS = {1: 3, 20: 3, 100: 1}
#: Slots of the timed pushes begin this long after they were asked for: what is slow happens in the lead.
LEAD_S = {1: 8.0, 20: 15.0, 100: 40.0}
PEER = "ansible-playbook with ios_config"


def measure(quick: bool, say: Say) -> Iterator[Figure]:
    for size in QUICK_SIZES if quick else SIZES:
        with tempfile.TemporaryDirectory(prefix="slotcar-bench-") as folder, Fleet(size) as fleet:
            yield from _measured(size, World(Path(folder), fleet), say)


def _measured(size: int, world: World, say: Say) -> Iterator[Figure]:
    say(f"{size} routers: to the first slot")
    world.push(0)
    own, known, peers, wrong = [], [], [], 0
    lines = world.lines(0, 1)
    for turn in range(ROUNDS[size]):
        slot, where = 3 * turn, f"{size} routers, round {turn + 1} of {ROUNDS[size]}"
        say(f"{where}: Slotcar")
        with _used() as used:
            world.push(slot + 1)
        own.append(used)
        say(f"{where}: Slotcar, from what it pushed before")
        with _used() as used:
            world.push(slot + 2, reads=False)
        known.append(used)
        say(f"{where}: {PEER}")
        with _used() as used:
            world.peer_push(slot + 3)
        peers.append(used)
        wrong = world.mend(slot + 3)
    say(f"{size} routers: a slot that is staged ahead")
    at = datetime.now(UTC) + timedelta(seconds=LEAD_S[size])
    world.push(3 * ROUNDS[size] + 1, at)
    lag_s = world.fleet.last_line_at() - at.timestamp()
    name = f"{size} router{'s' if size > 1 else ''} of {lines} lines, {FLOWS} flows"
    yield Figure(
        f"{name}: wall time, with a reading of its own before, and verified",
        _median(own, 0),
        "s",
        PEER,
        _median(peers, 0),
        lower_is_better=True,
    )
    yield Figure(
        f"{name}: wall time, from what the last push verified: compared at staging, and verified", _median(known, 0), "s",
        PEER, _median(peers, 0), lower_is_better=True,
    )  # fmt: skip
    yield Figure(f"{name}: CPU time", _median(own, 1), "s", PEER, _median(peers, 1), lower_is_better=True)
    yield Figure(f"{name}: lines of a router left out or wrong", 0, "lines", PEER, wrong, lower_is_better=True)
    yield Figure(f"{name}: boundary to the last router's commit, staged", lag_s, "s", lower_is_better=True)


def _median(used: list[list[float]], which: int) -> float:
    return statistics.median(one[which] for one in used)


@contextmanager
def _used() -> Iterator[list[float]]:
    """Wall and CPU seconds of this process and of those that it started and that ended."""
    used = [0.0, 0.0]
    began, cpu = time.monotonic(), _cpu()
    yield used
    used[:] = [time.monotonic() - began, _cpu() - cpu]


def _cpu() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )
