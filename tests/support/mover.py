"""One controller among several while profiles move: fixed requests, transfers, reports and cancellations at random.

Run as `python -m tests.support.mover URL NAME REQUESTS THREADS` with the repository's root as working directory; prints
how often each thing happened.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from slotcar.admission.highs import HighsSolver
from slotcar.admission.model import Demand
from slotcar.base.vocabulary import Shape
from slotcar.book.errors import ForbiddenTransition, ProgressRefused
from slotcar.book.model import AdmissionRequest, Entry, State, Terms
from slotcar.book.operation import Move
from slotcar.book.operations import Admit
from slotcar.book.reporting import Report
from slotcar.book.rules.policy import Policy
from slotcar.store import Ledger, open_ledger
from tests.support.requests import RESOURCES, T0, request, reservation, transfer

CAPACITY_BPS = 1_000
MINUTES = 120
#: Each request of a controller comes so long after the one before.
PACE = timedelta(seconds=20)
POLICY = Policy(frozen=timedelta(minutes=1))


def drawn_request(name: str, chance: random.Random, first: int) -> AdmissionRequest:
    """A fixed request, or a transfer, that crosses some of the resources and begins after `first`, in minutes."""
    resources = chance.sample(RESOURCES, chance.choice((1, 2, 3)))
    start = chance.randrange(first, MINUTES - 10)
    end = chance.randrange(start + 2, MINUTES)
    if chance.random() < 0.4:
        return request(reservation(name, chance.randrange(100, 700), start, end), tuple(resources))
    volume_bytes = chance.randrange(1, (end - start) * 60 * CAPACITY_BPS // 8)
    limits = {"at_most_bps": chance.choice((None, 900)), "at_least_bps": chance.choice((0, 0, 50))}
    moving = transfer(name, volume_bytes, end, start, shape=chance.choice(list(Shape)), **limits)
    return replace(request(moving), demands=tuple(Demand(one, (1,), 10, 9) for one in resources))


def act(ledger: Ledger, racer: str, number: int, chance: random.Random) -> list[str]:
    now = T0 + number * PACE
    answer = ledger.run(
        Admit(now, drawn_request(f"{racer}-{number}", chance, int((now - T0) / timedelta(minutes=1)) + 1))
    )
    if not isinstance(answer, Entry):
        return ["refused"]
    done = ["transfer" if answer.reservation.need else "fixed"]
    if chance.random() < 0.2:
        ledger.run(Move(now, answer.handle, racer, to=State.CANCELLED))
        return [*done, "cancelled"]
    if answer.reservation.need and chance.random() < 0.5:
        remaining = chance.randrange(answer.reservation.need.volume_bytes + 1)
        try:
            entry = ledger.run(Report(now, answer.handle, racer, remaining_bytes=remaining))
            done.append("behind" if entry.progress and entry.progress.missing_bytes else "reported")
        except (ProgressRefused, ForbiddenTransition):
            done.append("too late")
    return done


def main() -> None:
    url, racer, requests, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    with open_ledger(url, Path("unused")) as ledger, ThreadPoolExecutor(threads) as pool:
        ledger.set_terms(Terms(dict.fromkeys(RESOURCES, CAPACITY_BPS), {}, POLICY, HighsSolver()))
        chances = [random.Random(f"{racer}-{number}") for number in range(requests)]
        done = pool.map(lambda number: act(ledger, racer, number, chances[number]), range(requests))
        counted = Counter(one for each in done for one in each)
    print(json.dumps(counted))


if __name__ == "__main__":
    main()
