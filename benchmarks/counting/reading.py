"""Emulated Cisco routers, read as the controller that leads reads them: one login each, configuration and counters, what
follows from them in the database.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.common import Figure, Say, count, database_cpu_s
from benchmarks.push.fleet import Fleet
from benchmarks.push.world import World
from slotcar.admission import capacities
from slotcar.base.settings import load_settings
from slotcar.base.timebase import SYSTEM, Window
from slotcar.base.vocabulary import Protocol, Service
from slotcar.book.model import AdmissionRequest, Entry, Terms
from slotcar.book.operations import Admit
from slotcar.book.shares import BackgroundShares
from slotcar.book.timeline import active_at
from slotcar.measuring.counters.metering import Meter
from slotcar.network import load_network
from slotcar.planning.routing import route
from slotcar.reservation.model import Endpoint, Reservation
from slotcar.rollout.status import LoopStatus
from slotcar.rollout.wanted import wanted_for
from slotcar.store import Ledger, open_ledger
from slotcar.wiring import pusher_for

MINUTE = timedelta(minutes=1)
#: Readings that are timed; the first one of all, after which nothing is counted yet, is not.
READINGS = 2


def measured(folder: Path, fleet: Fleet, url: str, say: Say) -> Iterator[Figure]:
    """One flow on each router."""
    World(folder, fleet)  # its inventory
    network = load_network(folder / "inventory")
    settings = load_settings(inventory=folder / "inventory", state_dir=folder / "state", adopt_all=True)
    nowhere, status = Path("unused: the URL names a server"), LoopStatus()
    with open_ledger(url, nowhere, migrate=True) as ledger:
        ledger.set_terms(Terms(capacities(network), network.sls))
        meter = Meter(ledger, network, BackgroundShares(network), status, MINUTE, SYSTEM)
        pusher = pusher_for(network, settings, ledger, beside=meter)
        names = sorted(network.devices)
        say(f"{count(fleet.size)} routers: a flow on each")
        entries = [_admitted(ledger, number, network) for number in range(1, fleet.size + 1)]
        now = datetime.now(UTC)
        wanted = wanted_for(network)(active_at(entries, now), now).wanted
        first = pusher.read(names)
        if first.failures:
            raise SystemExit(f"{len(first.failures)} were not read, such as {next(iter(first.failures.items()))}")
        pusher.push({name: wanted[name] for name in names}, first.by_device, now)
        fleet.count_each(1_000)
        pusher.read(names)
        taken_s, cpu_s = [], []
        for number in range(1, READINGS + 1):
            say(f"{count(fleet.size)} routers: reading {number} of {READINGS}")
            fleet.count_each(1_000 * (number + 1))
            began, before = time.monotonic(), _cpu_s() + database_cpu_s(url)
            readings = pusher.read(names)
            taken_s.append(time.monotonic() - began)
            cpu_s.append(_cpu_s() + database_cpu_s(url) - before)
            if readings.failures or len(status.counted_at) != fleet.size:
                raise SystemExit(f"{len(readings.failures)} not read, {len(status.counted_at)} counted")
        counted = sum(
            one.in_profile_packets for entry in entries for one in ledger.counts.of_entry(entry.number, _WHOLE)
        )
        if counted != 1_000 * READINGS * fleet.size + 1_000 * fleet.size:
            raise SystemExit(f"{counted} packets were counted")
    what = f"reading {count(fleet.size)} routers"
    yield Figure(f"{what}: time of one reading", min(taken_s), "s", lower_is_better=True)
    yield Figure(f"{what}: the processor's time of one reading", min(cpu_s), "s", lower_is_better=True)
    share = 100 * min(cpu_s) / MINUTE.total_seconds()
    yield Figure(f"{what} each minute: share of one processor", share, "%", lower_is_better=True)


_WHOLE = Window(datetime(2020, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))


def _admitted(ledger: Ledger, number: int, network: object) -> Entry:
    """The router's flow, whose slot is open for a day."""
    now = datetime.now(UTC)
    asked_for = Reservation.constant(
        name=f"f{number}", owner="bench", source=Endpoint(host=f"a{number}"),
        destination=Endpoint(host=f"b{number}", port=5_001), protocol=Protocol.UDP, service=Service.IP_PREMIUM,
        rate_bps=1_000_000, windows=(Window(now, now + timedelta(days=1)),),
    )  # fmt: skip
    ask = route(asked_for, network)  # type: ignore[arg-type]
    entry = ledger.run(Admit(now, AdmissionRequest(ask.reservation, ask.paths, ask.demands, actor="bench")))
    if not isinstance(entry, Entry):
        raise SystemExit(str(entry))
    return replace(entry)


def _cpu_s() -> float:
    """Of this process and of those that it started and that ended; the routers run in another one."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in usages)
