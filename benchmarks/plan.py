"""A plan: 1,000 reservations through 1,000 routers, each slot at an hour of its own, and what the devices would be sent.

The peer is the same plan with every router rendered before and after each boundary. Both run in this process, one after
the other, and must show the same.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from benchmarks.common import Figure, Say
from benchmarks.render import NOW, network_of
from slotcar.base.timebase import MICROSECOND, Window
from slotcar.base.vocabulary import Protocol, Service
from slotcar.book.model import Entry
from slotcar.book.rules.policy import Policy
from slotcar.network.model import Network
from slotcar.planning.matching import Scope
from slotcar.planning.offline import entries_of, plan_offline
from slotcar.planning.plan import MAX_BOUNDARIES, Plan
from slotcar.planning.source import ReservationSource
from slotcar.reservation.model import Endpoint, Reservation
from slotcar.views.configurations import Boundary, DeviceDiff, configurations_at

SIZES, QUICK_SIZES = (100, 1_000), (100,)
PEER = "all routers rendered at each boundary"


def measure(quick: bool, say: Say) -> Iterator[Figure]:
    for size in QUICK_SIZES if quick else SIZES:
        say(f"{size} routers and reservations")
        network = network_of("linux-tc", size)
        wanted = _reservations(size)
        _plan(wanted[:1], network)  # what is compiled at its first use is not measured
        began = time.process_time()
        plan = _plan(wanted, network)
        planned = time.process_time()
        say(f"{size} routers and reservations, {PEER}")
        times = sorted({instant for one in wanted for window in one.windows for instant in window})[:MAX_BOUNDARIES]
        shown = _plain(entries_of(wanted, network, NOW), network, times)
        if [_texts(one) for one in shown] != [_texts(one) for one in plan.boundaries]:
            raise AssertionError("the plan shows other differences than rendering every router does")
        # The plan decides besides, which the peer would do too.
        peer_s = time.process_time() - planned
        yield Figure(
            f"plan, {size:,} routers, {size:,} reservations: CPU",
            planned - began,
            "s",
            PEER,
            peer_s,
            lower_is_better=True,
        )


def _plan(wanted: Sequence[Reservation], network: Network) -> Plan:
    source = ReservationSource(tuple(wanted), Scope("bench", frozenset({"bench"})))
    return plan_offline(source, network, Policy(), NOW, most_paths=1, no_ledger_yet=True)


def _plain(entries: Sequence[Entry], network: Network, times: Sequence[datetime]) -> list[Boundary]:
    boundaries = []
    for at in times:
        before = configurations_at(entries, network, at - MICROSECOND)
        after = configurations_at(entries, network, at)
        changed = [name for name in after if before[name].lines != after[name].lines]
        boundaries.append(Boundary(at, tuple(DeviceDiff(name, before[name], after[name]) for name in changed)))
    return [one for one in boundaries if one.devices]


def _texts(boundary: Boundary) -> object:
    """What is shown of a boundary; the numbers of planned and of offline entries are the same."""
    return boundary.at, [(one.device, one.diff) for one in boundary.devices]


def _reservations(size: int) -> list[Reservation]:
    return [
        Reservation.constant(
            name=f"n{number}", owner="bench", source=Endpoint(host=f"a{number}"),
            destination=Endpoint(host=f"b{number}", port=5000), protocol=Protocol.UDP, service=Service.IP_PREMIUM,
            rate_bps=1_000_000 + number, windows=(Window(start, start + timedelta(hours=1, minutes=30)),),
        )
        for number in range(size)
        for start in [NOW + timedelta(hours=1 + number)]
    ]  # fmt: skip
