"""Volumes by a deadline: how much of a random workload is admitted, and how long a decision takes.

The peer of an admitted volume is the same volume asked for as one constant rate over the same window. A decision is
counted in processor time, which it spends on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import numpy as np
import psutil

from benchmarks.admission.workload import HORIZON_S, INTERFACES, MEGABIT, NOW, PATH_LENGTH, RESOURCES, SEED, workload
from benchmarks.common import Figure, Say, count, pace
from slotcar.admission import Demand, ResourceId, SlotTables
from slotcar.admission.highs import HighsSolver
from slotcar.admission.model import Refused
from slotcar.admission.moves import PlacedTransfer
from slotcar.admission.placing import Placement, Rules, place, profile_of, transfer_of
from slotcar.admission.rates import profile_demands
from slotcar.reservation.model import Endpoint, Reservation
from slotcar.reservation.need import VolumeByDeadline
from slotcar.timebase import Window
from slotcar.vocabulary import Protocol, Service

FIXED = 100_000
LIVE, QUICK_LIVE = (10, 100, 1_000), (10,)
DECISIONS, QUICK_DECISIONS = 400, 60
VOLUMES, QUICK_VOLUMES = 400, 120
LINKS, LINK_BPS = 6, 10_000 * MEGABIT
#: Of all that the links carry in the time, so much is asked for.
LOADS = (0.7, 1.0, 1.4)
MOVES = Rules(NOW, NOW + timedelta(seconds=2 * HORIZON_S), {}, solver=HighsSolver())


@dataclass
class Book:
    """Slot tables with the transfers in them, as the ledger has them.

    Attributes:
        greedy: nobody moves.
    """

    tables: SlotTables
    greedy: bool
    placed: dict[str, PlacedTransfer] = field(default_factory=dict)

    def decide(self, request: Reservation, demands: Sequence[Demand]) -> Placement | Refused:
        others = tuple(self.placed.values())
        return place(self.tables, request, demands, MOVES, movable=tuple if self.greedy else lambda: others)

    def take(self, placed: Placement) -> None:
        for handle, profile in placed.moved.items():
            before = self.placed[handle]
            self.tables.remove(*profile_demands(before.transfer.crossings, before.profile))
            self.tables.add(*profile_demands(before.transfer.crossings, profile))
            self.placed[handle] = replace(before, profile=profile)
        self.tables.add(placed.demands, placed.reservation.slots)
        need = placed.reservation.need
        if need is not None:
            window = need.window_from(NOW)
            transfer = transfer_of(need, placed.demands, window, need.volume_bytes)
            name = placed.reservation.name
            self.placed[name] = PlacedTransfer(name, transfer, profile_of(placed.reservation))


def measure(quick: bool, say: Say) -> Iterator[Figure]:
    for load in LOADS:
        say(f"volumes at a load of {load:g}")
        yield from _volumes(load, QUICK_VOLUMES if quick else VOLUMES)
    say("100k fixed reservations: making the workload")
    work = workload(1_000 if quick else FIXED, 1)
    for live in QUICK_LIVE if quick else LIVE:
        book = Book(work.tables(), greedy=True)
        say(f"{live} live transfers: placing them")
        _fill(book, live)
        for greedy in (True, False):
            book.greedy = greedy
            say(f"{live} live transfers: decisions {'without' if greedy else 'with'} moves")
            yield from _decisions(book, live, len(work.live), QUICK_DECISIONS if quick else DECISIONS)
    yield Figure("memory of the process", psutil.Process().memory_info().rss / 2**20, "MiB")


# -- volumes ---------------------------------------------------------------------------------------------------------


def _volumes(load: float, number: int) -> Iterator[Figure]:
    random = np.random.default_rng(SEED)
    day = 86_400
    asks = []
    total = load * LINKS * LINK_BPS * day / 8 / number / 2  # each crosses two links of six
    for each in range(number):
        start = int(random.integers(120, day * 3 // 4))
        length = int(random.integers(3_600, day - start)) if day - start > 3_600 else day - start
        volume = int(total * random.uniform(0.2, 1.8))
        asks.append(_transfer(f"v{each}", volume, start, start + length, 4_000 * MEGABIT))
    paths = [random.choice(LINKS, 2, replace=False).tolist() for _ in asks]
    moved, needed = {}, sum(one.need.volume_bytes for one in asks if one.need)
    for way in ("fixed", "greedy", "moves"):
        book = Book(SlotTables(dict.fromkeys(RESOURCES[:LINKS], LINK_BPS)), greedy=way != "moves")
        admitted = 0
        for request, path in zip(asks, paths, strict=True):
            form = request.model_copy(update={"need": None}) if way == "fixed" else request
            answer = book.decide(form, _demands(path, request.peak_rate_bps))
            if isinstance(answer, Placement):
                book.take(answer)
                assert request.need is not None
                admitted += request.need.volume_bytes
        moved[way] = 100 * admitted / needed
    title = f"volume admitted, {load:g} of what the links carry asked for"
    for way, words in (("greedy", "nobody moves"), ("moves", "with moves")):
        yield Figure(f"{title}, {words}", moved[way], "%", "one constant rate each", moved["fixed"])


# -- decisions -------------------------------------------------------------------------------------------------------


def _fill(book: Book, live: int) -> None:
    random = np.random.default_rng(SEED + 1)
    tried = 0
    while len(book.placed) < live:
        answer = book.decide(*_one(f"t{tried}", random, fixed=False))
        if isinstance(answer, Placement):
            book.take(answer)
        tried += 1


def _decisions(book: Book, live: int, fixed: int, number: int) -> Iterator[Figure]:
    """Half of the requests fixed, half transfers; nothing of them stays."""
    random = np.random.default_rng(SEED + 2)
    latencies, admitted, moves = [], 0, 0
    for each in range(number + 5):
        request = _one(f"a{each}", random, fixed=each % 2 == 0)
        start = time.process_time()
        answer = book.decide(*request)
        if each >= 5:  # what is compiled or imported at its first use is not measured
            latencies.append(time.process_time() - start)
            admitted += isinstance(answer, Placement)
            moves += isinstance(answer, Placement) and bool(answer.moved)
    taken = pace(latencies)
    words = "nobody moves" if book.greedy else "with moves"
    title = f"{live:,} transfers over {count(fixed)} fixed, {words}"
    yield Figure(f"decision, CPU, {title}, p50", taken.p50_us / 1_000, "ms")
    yield Figure(f"decision, CPU, {title}, p99", taken.p99_us / 1_000, "ms")
    yield Figure(f"admitted, {title}", 100 * admitted / number, "%")
    if not book.greedy:
        yield Figure(f"admitted by a move, {title}", 100 * moves / number, "%")


def _one(name: str, random: np.random.Generator, *, fixed: bool) -> tuple[Reservation, tuple[Demand, ...]]:
    start = int(random.integers(120, HORIZON_S))
    length = int(random.integers(3_600, 3 * 86_400))
    rate = int(random.integers(1, 101)) * MEGABIT * (4 if fixed else 1)
    path = random.choice(INTERFACES, PATH_LENGTH, replace=False).tolist()
    if fixed:
        request = _transfer(name, rate * length // 32, start, start + length // 4, rate).model_copy(
            update={"need": None}
        )
    else:
        request = _transfer(name, rate * length // 8, start, start + length, 8 * rate)
    return request, _demands(path, request.peak_rate_bps)


def _demands(path: Sequence[int], rate_bps: int) -> tuple[Demand, ...]:
    names: list[ResourceId] = [RESOURCES[number] for number in path]
    return tuple(Demand(name, (rate_bps,)) for name in names)


def _transfer(name: str, volume_bytes: int, start_s: int, end_s: int, at_most_bps: int) -> Reservation:
    window = Window(NOW + timedelta(seconds=start_s), NOW + timedelta(seconds=end_s))
    need = VolumeByDeadline(volume_bytes=volume_bytes, by=window.end, start=window.start, at_most_bps=at_most_bps)
    return Reservation.constant(
        name=name,
        owner="bench",
        source=Endpoint(host="src"),
        destination=Endpoint(host="dst"),
        protocol=Protocol.UDP,
        service=Service.IP_PREMIUM,
        rate_bps=need.needed_bps(window),
        windows=(window,),
        need=need,
    )
