"""Plan and apply one file whose reservations all run between the same two hosts, each for half an hour, a new one every ten
minutes; then plan it again, when nothing of it is to be done. Processor time of this process.

There is no peer but the same of another commit (`--beside`): what it costs must grow as the file does.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

from benchmarks.common import Figure, Say, count, postgres
from benchmarks.render import NOW, network_of
from slotcar.base.settings import Settings
from slotcar.base.timebase import Window
from slotcar.base.vocabulary import Protocol, Service
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk
from slotcar.desk.files import ReservationFiles
from slotcar.planning.matching import Scope
from slotcar.planning.source import ReservationSource
from slotcar.reservation.model import Endpoint, Reservation
from slotcar.store import open_ledger

SIZES, QUICK_SIZES = (1_000, 4_000, 10_000, 100_000), (1_000, 4_000)
CALLER = Caller("bench", Role.OPERATOR)
T = TypeVar("T")


def measure(quick: bool, say: Say) -> Iterator[Figure]:
    for size in QUICK_SIZES if quick else SIZES:
        with (
            postgres() as url,
            tempfile.TemporaryDirectory() as folder,
            open_ledger(url, Path(folder), migrate=True) as ledger,
        ):
            settings = Settings(state_dir=Path(folder), max_windows=size, horizon=timedelta(days=1000))
            desk = Desk(ledger, network_of("linux-tc", 1), settings)
            ReservationFiles(desk).plan(_source(1), CALLER, NOW)  # what is compiled at its first use is not measured
            source = _source(size)
            name = f"one file of {count(size)} reservations"
            say(f"{name}: plan")
            plan, plan_s = _timed(partial(ReservationFiles(desk).plan, source, CALLER, NOW))
            yield Figure(f"{name}: plan, CPU", plan_s, "s", lower_is_better=True)
            say(f"{name}: apply")
            _, apply_s = _timed(partial(ReservationFiles(desk).apply, plan, CALLER, NOW))
            yield Figure(f"{name}: apply, CPU", apply_s, "s", lower_is_better=True)
            say(f"{name}: plan again")
            again, again_s = _timed(partial(ReservationFiles(desk).plan, source, CALLER, NOW))
            if plan.refused or not again.changes_nothing:
                raise AssertionError("the file was not applied whole")
            yield Figure(f"{name}: plan again, CPU", again_s, "s", lower_is_better=True)


def _timed(call: Callable[[], T]) -> tuple[T, float]:
    began = time.process_time()
    answer = call()
    return answer, time.process_time() - began


def _source(size: int) -> ReservationSource:
    reservations = [
        Reservation.constant(
            name=f"n{number}", owner="bench", source=Endpoint(host="a0"),
            destination=Endpoint(host="b0", port=5000 + number % 50_000), protocol=Protocol.UDP,
            service=Service.IP_PREMIUM, rate_bps=1_000_000, windows=(Window(start, start + timedelta(minutes=30)),),
        )
        for number in range(size)
        for start in [NOW + timedelta(minutes=60 + 10 * number)]
    ]  # fmt: skip
    return ReservationSource(tuple(reservations), Scope("bench", frozenset({"bench"})))
