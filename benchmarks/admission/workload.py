"""One workload for every method: live reservations and a stream of requests, from a seed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from slotcar.admission import Demand, ResourceId, SlotTables
from slotcar.base.timebase import Window, to_us

Ints: TypeAlias = NDArray[np.int64]

INTERFACES = 100
PATH_LENGTH = 6
NOW = datetime(2027, 3, 1, tzinfo=UTC)
#: Slots start within a month and last from ten minutes to two days, in whole seconds: at 100k live a path of six meets
#: some 2,400 rows that overlap a request.
HORIZON_S = 30 * 86_400
SHORTEST_S, LONGEST_S = 600, 48 * 3_600
#: Rates from 1 to 100 Mbit/s.
MEGABIT = 1_000_000
SECOND_US = 1_000_000
#: Links are as large as makes about this share of requests be refused: refusals are part of the work.
REFUSED_SHARE = 0.1
SEED = 20_270_301


@dataclass(frozen=True, slots=True)
class Bookings:
    """Reservation i takes `rates[i]` on each of the interfaces `paths[i]` over `[starts[i], ends[i])` (us, bit/s)."""

    paths: Ints
    starts: Ints
    ends: Ints
    rates: Ints

    def __len__(self) -> int:
        return int(self.starts.size)

    def rows(self) -> tuple[Ints, Ints, Ints, Ints]:
        """One row for every interface of every reservation: interface, start, end, rate."""
        starts, ends, rates = (np.repeat(each, PATH_LENGTH) for each in (self.starts, self.ends, self.rates))
        return self.paths.ravel(), starts, ends, rates


@dataclass(frozen=True, slots=True)
class Request:
    """One request, in the forms that the methods take."""

    path: tuple[int, ...]
    start_us: int
    end_us: int
    rate_bps: int
    demands: tuple[Demand, ...]
    windows: tuple[Window, ...]


@dataclass(frozen=True, slots=True)
class Workload:
    """`live` are held already; `requests` come one after another, with links of `capacity_bps`."""

    live: Bookings
    requests: tuple[Request, ...]
    capacity_bps: int

    @property
    def capacities(self) -> dict[ResourceId, int]:
        return dict.fromkeys(RESOURCES, self.capacity_bps)

    def tables(self) -> SlotTables:
        return SlotTables.build(self.capacities, RESOURCES, *self.live.rows())


RESOURCES = tuple(ResourceId("if", f"r{number}:eth0", "out:ip-premium") for number in range(INTERFACES))


def bookings(number: int, random: np.random.Generator) -> Bookings:
    starts = to_us(NOW) + random.integers(0, HORIZON_S, number) * SECOND_US
    lengths = random.integers(SHORTEST_S, LONGEST_S, number, endpoint=True) * SECOND_US
    paths = np.argsort(random.random((number, INTERFACES)), axis=1)[:, :PATH_LENGTH]
    return Bookings(paths.astype(np.int64), starts, starts + lengths, random.integers(1, 101, number) * MEGABIT)


def workload(live: int, requests: int) -> Workload:
    random = np.random.default_rng(SEED)
    held = _joined([bookings(min(100_000, live - done), random) for done in range(0, live, 100_000)])
    booked = bookings(requests, random)
    stream = tuple(_request(booked, i) for i in range(requests))
    # Where a tenth of the stream would not fit beside what is held.
    empty = Workload(held, stream, 0)
    tables = empty.tables()
    needed = [
        request.rate_bps + max(tables.peak(demand.resource, request.windows[0]) for demand in request.demands)
        for request in stream[:2_000]
    ]
    return Workload(held, stream, int(np.quantile(needed, 1 - REFUSED_SHARE)))


def _joined(parts: list[Bookings]) -> Bookings:
    return Bookings(
        np.concatenate([part.paths for part in parts]),
        np.concatenate([part.starts for part in parts]),
        np.concatenate([part.ends for part in parts]),
        np.concatenate([part.rates for part in parts]),
    )


def _request(booked: Bookings, i: int) -> Request:
    path = tuple(booked.paths[i].tolist())
    start, end, rate = int(booked.starts[i]), int(booked.ends[i]), int(booked.rates[i])
    demands = tuple(Demand.constant(RESOURCES[number], rate) for number in path)
    return Request(path, start, end, rate, demands, (Window.of_us(start, end),))
