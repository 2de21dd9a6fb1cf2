"""Durable admissions at routers whose flows share what runs out (classes, lists, policers), beside Linux routers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np

from benchmarks.admission.durable import CLIENTS, admit, new_database, race
from benchmarks.admission.workload import HORIZON_S, LONGEST_S, NOW, SEED, SHORTEST_S
from benchmarks.common import Figure, Pace, Say, count, figures
from benchmarks.render import network_of
from slotcar.admission import capacities
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Protocol, Service
from slotcar.book.model import AdmissionRequest, Terms
from slotcar.network.model import Network
from slotcar.planning.platform_limits import PlatformLimits
from slotcar.planning.routing import route
from slotcar.reservation.model import Endpoint, Reservation
from slotcar.store import open_ledger

ROUTERS = 100
#: All of those that are open at once at a router fit its line.
RATE_BPS = 100_000
#: No more than this are added, so that the number live stays near what the figure says.
MOST = 3_000


def measure(url: str, live: int, say: Say, seconds: float) -> Iterator[Figure]:
    """With so many live, each at one of the routers and of `RATE_BPS`, for up to two days within a month."""
    own, linux = (_pace(url, platform, live, say, seconds) for platform in ("cisco-mqc", "linux-tc"))
    yield from figures(
        f"durable admissions at {count(live)} live, {ROUTERS} cisco-mqc routers, {CLIENTS} clients",
        own,
        {"the same at linux-tc routers": linux},
    )


def _pace(url: str, platform: str, live: int, say: Say, seconds: float) -> Pace:
    network = network_of(platform, ROUTERS)
    say(f"{count(live)} live: requests at {platform} routers")
    requests = _requests(network, live + MOST)
    nowhere = Path("unused: the URL names a server")
    with open_ledger(new_database(url, f"edges_{platform.replace('-', '_')}"), nowhere, migrate=True) as ledger:
        ledger.set_terms(Terms(capacities(network), {}))
        say(f"{count(live)} live: filling a ledger, {platform}")
        race(live, lambda number, _client: admit(ledger, requests[number]), 600)
        say(f"{count(live)} live: the ledger, {platform}, {CLIENTS} clients")
        return race(MOST, lambda number, _client: admit(ledger, requests[live + number]), seconds)


def _requests(network: Network, number: int) -> list[AdmissionRequest]:
    random, limits = np.random.default_rng(SEED), PlatformLimits(network)
    columns = (
        random.integers(0, ROUTERS, number).tolist(),
        random.integers(SHORTEST_S, HORIZON_S, number).tolist(),
        random.integers(SHORTEST_S, LONGEST_S, number, endpoint=True).tolist(),
    )
    requests = []
    for one, (router, start_s, length_s) in enumerate(zip(*columns, strict=True)):
        start = NOW + timedelta(seconds=start_s)
        reservation = Reservation.constant(
            name=f"asked-{one}", owner="bench", source=Endpoint(host=f"a{router}"),
            destination=Endpoint(host=f"b{router}", port=10_000 + one % 50_000), protocol=Protocol.UDP,
            service=Service.IP_PREMIUM, rate_bps=RATE_BPS,
            windows=(Window(start, start + timedelta(seconds=length_s)),),
        )  # fmt: skip
        routed = route(reservation, network)
        condition = limits.condition(routed)
        requests.append(AdmissionRequest(reservation, routed.paths, routed.demands, "bench", condition=condition))
    return requests
