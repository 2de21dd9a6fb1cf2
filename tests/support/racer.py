"""One controller among several in a race: admits until it is refused too often, and prints what it was given.

Run as `python -m tests.support.racer URL NAME REQUESTS THREADS` with the repository's root as working directory.
"""

from __future__ import annotations

import json
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from slotcar.book.model import Entry, State, Terms
from slotcar.book.operation import Move
from slotcar.book.operations import Admit
from slotcar.store import open_ledger
from tests.support.requests import RESOURCES, T0, request, reservation

CAPACITY_BPS = 1_000
MINUTES = 120


def main() -> None:
    url, racer, requests, threads = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    chance = random.Random(racer)
    asks = []
    for number in range(requests):
        start = chance.randrange(MINUTES - 10)
        end = start + chance.randrange(5, MINUTES - start)
        asks.append((f"{racer}-{number}", chance.randrange(20, 400), start, end, chance.random() < 0.3))
    with open_ledger(url, Path("unused")) as ledger, ThreadPoolExecutor(threads) as pool:
        ledger.set_terms(Terms(dict.fromkeys(RESOURCES, CAPACITY_BPS), {}))

        def ask(one: tuple[str, int, int, int, bool]) -> str:
            name, rate_bps, start, end, fickle = one
            answer = ledger.run(Admit(T0, request(reservation(name, rate_bps, start, end))))
            if isinstance(answer, Entry) and fickle:
                ledger.run(Move(T0, answer.handle, racer, to=State.CANCELLED))
                return "cancelled"
            return "admitted" if isinstance(answer, Entry) else "refused"

        print(json.dumps(list(pool.map(ask, asks))))


if __name__ == "__main__":
    main()
