"""Volumes by a deadline: how much of a random workload is admitted, and how long a decision takes.

The peer of an admitted volume is the same volume asked for as one constant rate over the same window, and an ideal plan
that is made anew at each request: HiGHS finds rates for all that it has admitted, constant between all starts and
deadlines, or refuses the request. A decision is counted in processor time, which it spends on one thread.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

import highspy
import numpy as np
import psutil

from benchmarks.admission.workload import HORIZON_S, INTERFACES, MEGABIT, NOW, PATH_LENGTH, RESOURCES, SEED, workload
from benchmarks.common import Figure, Say, count, pace
from slotcar.admission import Demand, ResourceId, SlotTables
from slotcar.admission.component import PlacedTransfer
from slotcar.admission.highs import HighsSolver
from slotcar.admission.model import Refused
from slotcar.admission.placing import Placement, Rules, place, profile_of, transfer_of
from slotcar.admission.rates import profile_demands
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Protocol, Service
from slotcar.reservation.model import Endpoint, Reservation
from slotcar.reservation.need import VolumeByDeadline

FIXED = 100_000
LIVE, QUICK_LIVE = (10, 100, 1_000), (10,)
DECISIONS, QUICK_DECISIONS = 400, 60
VOLUMES, QUICK_VOLUMES = 400, 120
LINKS, LINK_BPS = 6, 10_000 * MEGABIT
#: Of the ideal plan, which takes longer with each: volumes, and days of them.
IDEAL_VOLUMES, IDEAL_DAYS, QUICK_IDEAL_DAYS = 90, 3, 1
#: Of all that the links carry in the time, so much is asked for.
LOADS = (0.7, 1.0, 1.4)
MOVES = Rules(NOW, NOW + timedelta(seconds=2 * HORIZON_S), {}, solver=HighsSolver())
#: What is admitted must not depend on how busy the machine is.
PATIENT = replace(MOVES, solver=HighsSolver(most_s=60))


@dataclass
class Book:
    """Slot tables with the transfers in them, as the ledger has them.

    Attributes:
        greedy: nobody moves.
        rules: what requests are placed by.
    """

    tables: SlotTables
    greedy: bool
    placed: dict[str, PlacedTransfer] = field(default_factory=dict)
    rules: Rules = MOVES

    def decide(self, request: Reservation, demands: Sequence[Demand]) -> Placement | Refused:
        others = tuple(self.placed.values())
        return place(self.tables, request, demands, self.rules, movable=tuple if self.greedy else lambda: others)

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
    for load in LOADS:
        say(f"an ideal plan at a load of {load:g}")
        yield from _beside_ideal(load, QUICK_IDEAL_DAYS if quick else IDEAL_DAYS)
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


_Ask = tuple[Reservation, list[int]]


def _asks(load: float, number: int, random: np.random.Generator) -> list[_Ask]:
    """Volumes over a day, each with the two links of six that it crosses."""
    day = 86_400
    asks = []
    total = load * LINKS * LINK_BPS * day / 8 / number / 2
    for each in range(number):
        start = int(random.integers(120, day * 3 // 4))
        length = int(random.integers(3_600, day - start)) if day - start > 3_600 else day - start
        volume = int(total * random.uniform(0.2, 1.8))
        asks.append(_transfer(f"v{each}", volume, start, start + length, 4_000 * MEGABIT))
    return [(one, random.choice(LINKS, 2, replace=False).tolist()) for one in asks]


def _book(*, greedy: bool) -> Book:
    return Book(SlotTables(dict.fromkeys(RESOURCES[:LINKS], LINK_BPS)), greedy, rules=PATIENT)


def _volumes(load: float, number: int) -> Iterator[Figure]:
    asks = _asks(load, number, np.random.default_rng(SEED))
    moved, needed = {}, sum(one.need.volume_bytes for one, _ in asks if one.need)
    for way in ("fixed", "greedy", "moves"):
        book = _book(greedy=way != "moves")
        admitted = 0
        for request, path in asks:
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


def _beside_ideal(load: float, days: int) -> Iterator[Figure]:
    parts, moves, makers, steps = [], 0, 0, [0]
    for number in range(days):
        book, plan, admitted, ideal = _book(greedy=False), list[_Ask](), 0, 0
        for request, path in _asks(load, IDEAL_VOLUMES, np.random.default_rng(SEED + 10 + number)):
            assert request.need is not None
            if _has_plan([*plan, (request, path)]):
                plan.append((request, path))
                ideal += request.need.volume_bytes
            answer = book.decide(request, _demands(path, request.peak_rate_bps))
            if isinstance(answer, Placement):
                book.take(answer)
                admitted += request.need.volume_bytes
                moves, makers = moves + len(answer.moved), makers + bool(answer.moved)
                steps += [len(profile) for profile in answer.moved.values()]
        parts.append(100 * admitted / ideal)
    title = f"{load:g} of what the links carry asked for, {IDEAL_VOLUMES} volumes a day"
    yield Figure(f"volume admitted, {title}", float(np.mean(parts)), "%", "an ideal plan", 100.0)
    yield Figure(f"volume admitted, worst of {days} days, {title}", min(parts), "%", "an ideal plan", 100.0)
    yield Figure(f"transfers moved for a request that others make room for, {title}", moves / max(1, makers), "")
    yield Figure(f"most steps of a moved profile, {title}", max(steps), "")


def _has_plan(asks: Sequence[_Ask]) -> bool:
    """Whether there are rates, constant between all starts and deadlines, that move all volumes."""
    windows = [one.need.window_from(NOW) for one, _ in asks if one.need]
    cuts = sorted({border for window in windows for border in (window.start_us, window.end_us)})
    highs, infinity = highspy.Highs(), highspy.kHighsInf
    highs.setOptionValue("output_flag", False)
    loads: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    size = 0
    for (one, path), window in zip(asks, windows, strict=True):
        assert one.need is not None
        slots = range(bisect_left(cuts, window.start_us), bisect_left(cuts, window.end_us))
        columns = np.arange(size, size := size + len(slots))
        highs.addVars(len(slots), np.zeros(len(slots)), np.full(len(slots), one.need.highest_bps / MEGABIT))
        lengths = np.diff(np.array(cuts[slots.start : slots.stop + 1], dtype=np.float64))
        highs.addRow(1, infinity, len(columns), columns, lengths * MEGABIT / (one.need.volume_bytes * 8e6))
        for column, slot in zip(columns.tolist(), slots, strict=True):
            for link in path:
                loads[link, slot].append(column)
    for listed in loads.values():
        highs.addRow(-infinity, LINK_BPS / MEGABIT, len(listed), np.array(listed), np.ones(len(listed)))
    highs.run()
    return bool(highs.getModelStatus() == highspy.HighsModelStatus.kOptimal)


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
