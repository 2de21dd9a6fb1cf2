"""Asks every page in turn, without a network between, and counts what it sends."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import httpx
import numpy as np
from fastapi import FastAPI

from benchmarks.common import Figure, Say, database_cpu_s
from benchmarks.web import painting
from benchmarks.web.world import World
from slotcar.api.context import Context
from slotcar.api.serving import exempt_from_collections
from slotcar.auth.tokens import TokenStore
from slotcar.base.settings import Settings
from slotcar.base.timebase import iso
from slotcar.desk.desk import Desk
from slotcar.rollout.status import LoopStatus
from slotcar.store import EntryFilter, Ledger, open_ledger
from slotcar.web.app import create_app

#: Of each kind of page.
REQUESTS = 40
#: What is promised of pages, ms.
LIST_MS, OTHER_MS = "list", "page"
TARGETS_MS = {LIST_MS: 50.0, OTHER_MS: 200.0}
PROMISED = "promised at 100k"


def measure(url: str, world: World, name: str, say: Say) -> Iterator[Figure]:
    with opened(url, world) as (app, ledger):
        for title, (kind, addresses) in paths_of(world, ledger).items():
            say(f"{name}: {title}")
            database_s, began = database_cpu_s(url), time.process_time()
            times_ms, texts = asyncio.run(_ask(app, addresses))
            cpu_ms = (time.process_time() - began + database_cpu_s(url) - database_s) * 1000 / len(texts)
            p95_ms, most_ms = float(np.percentile(times_ms, 95)), TARGETS_MS[kind]
            yield Figure(f"{title}, {name}: p95", p95_ms, "ms", PROMISED, most_ms, lower_is_better=True)
            # What it takes by itself: on a machine that does other work besides, the time says more about that.
            figure = f"{title}, {name}: CPU, database included"
            yield Figure(figure, cpu_ms, "ms", PROMISED, most_ms, lower_is_better=True)
        say(f"{name}: sizes")
        pages = paths_of(world, ledger)
        yield from _sizes(app, pages, name)
        yield from painting.measure(app, {title: addresses for title, (_, addresses) in pages.items()}, name, say)


@contextmanager
def opened(url: str, world: World) -> Iterator[tuple[FastAPI, Ledger]]:
    """The application of an open controller, which leads, over the ledger at `url`."""
    with tempfile.TemporaryDirectory() as folder, open_ledger(url, Path(folder), migrate=True) as ledger:
        settings = Settings(state_dir=Path(folder), inventory=Path(folder), open=True)
        desk = Desk(ledger, world.network, settings, loop=LoopStatus(leading=True, settled=True))
        context = Context(desk, TokenStore(settings.tokens_path))
        try:
            app = create_app(context)
            exempt_from_collections()
            yield app, ledger
        finally:
            context.plans.close()


def paths_of(world: World, ledger: Ledger) -> Mapping[str, tuple[str, Sequence[str]]]:
    """By title: of which kind, and the addresses, which are asked for in turn."""
    some = ledger.list(EntryFilter(newest=True, limit=1000))[::25]
    live = [one for one in some if one.reservation.end > datetime.now(UTC)]
    names = [one.reservation.name for one in some]
    resources = sorted({str(demand.resource) for pair in world.pairs for demand in pair.demands})[::7]
    instants = sorted({one.reservation.start for one in live})
    handles = [one.handle for one in some]
    numbers = [one.number for one in some]
    lists = {
        "list of what is live": ["/reservations"],
        "list of all": ["/reservations?state=all"],
        "list, a page far down": [f"/reservations?state=all&after={max(number // 2, 1)}" for number in numbers],
        "list of a state": ["/reservations?state=cancelled", "/reservations?state=ended", "/reservations?state=held"],
        "list of an owner": [f"/reservations?state={state}&owner=lab{n}" for n in range(20) for state in ("live", "all")],
        "list of a label": [
            f"/reservations?state={state}&label=project%3Dp{n}" for n in range(20) for state in ("live", "all")
        ],
        "list of a rare label": [f"/reservations?state=all&label=ticket%3D{n}" for n in numbers],
        "list of a time": [
            f"/reservations?state={state}&from={quote(iso(at))}&until={quote(iso(at))}" for at in instants
            for state in ("live", "all")
        ],
        "search of a name": [f"/reservations?state=all&search={name}" for name in names],
        "search of a common word": ["/reservations?state=all&search=cms", "/reservations?search=genome-v"],
        "search of an owner and a name": [f"/reservations?search=lab{n}/atlas" for n in range(20)],
        "search of nothing there is": ["/reservations?state=all&search=nosuchname", "/reservations?search=zz"],
        "search of a handle": [f"/reservations?state=all&search={handle}" for handle in handles],
    }  # fmt: skip
    others = {
        "first page": ["/"],
        "one reservation": [f"/reservations/{handle}" for handle in handles],
        "coming boundaries": ["/boundaries"],
        "one boundary": [f"/boundaries/{quote(iso(at))}" for at in instants],
        "tightest hour of all links": ["/links"],
        "a link's month": [f"/links/{quote(one)}" for one in resources],
        "a link's month as a curve": [f"/chart/steps?resource={quote(one)}&from=now&until=now%2B30d" for one in resources],
        "map": ["/map"], "approvals": ["/approvals"], "log": ["/log"], "use of this month": ["/usage"],
    }  # fmt: skip
    return {title: (LIST_MS if title in lists else OTHER_MS, them) for title, them in (lists | others).items()}


async def _ask(app: FastAPI, addresses: Sequence[str]) -> tuple[list[float], list[str]]:
    """Milliseconds of each answer but the first two, which compile what is used for the first time; and the texts."""
    times_ms, texts = [], []
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        for address in itertools.islice(itertools.cycle(addresses), REQUESTS + 2):
            began = time.perf_counter()
            answer = await client.get(address, headers={"accept": "text/html"})
            times_ms.append((time.perf_counter() - began) * 1000)
            if answer.status_code != 200:
                raise AssertionError(f"{address}: {answer.status_code}, {answer.text[:200]}")
            texts.append(answer.text)
    return times_ms[2:], texts


def _sizes(app: FastAPI, pages: Mapping[str, tuple[str, Sequence[str]]], name: str) -> Iterator[Figure]:
    """Of the page that has most."""
    nodes, packed = {}, {}
    for title, (_, addresses) in pages.items():
        _, texts = asyncio.run(_ask_once(app, addresses))
        if texts[0].startswith("{"):
            continue
        nodes[title] = max(elements_of(page) for page in texts)
        packed[title] = max(len(gzip.compress(page.encode())) for page in texts)
        assets = set(re.findall(r'(?:src|href)="(/assets/[^"]+)"', texts[0]))
        _, parts = asyncio.run(_ask_once(app, sorted(one for one in assets if "chart" not in one)))
        packed[title] += sum(len(gzip.compress(part.encode())) for part in parts)
    most, heaviest = max(nodes, key=nodes.__getitem__), max(packed, key=packed.__getitem__)
    yield Figure(f"most elements of a page, {name}: {most}", nodes[most], "", "promised", 1500, lower_is_better=True)
    figure = f"largest page with its assets but charts, {name}: {heaviest}"
    yield Figure(figure, packed[heaviest] / 1000, "kB, gzip", "promised", 70, lower_is_better=True)


async def _ask_once(app: FastAPI, addresses: Sequence[str]) -> tuple[list[float], list[str]]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        return [], [
            (await client.get(address, headers={"accept": "text/html"})).text for address in addresses[:REQUESTS]
        ]


class _Counter(HTMLParser):
    elements = 0

    def handle_starttag(self, _tag: str, _attributes: list[tuple[str, str | None]]) -> None:
        self.elements += 1

    def handle_startendtag(self, _tag: str, _attributes: list[tuple[str, str | None]]) -> None:
        self.elements += 1


def elements_of(page: str) -> int:
    counter = _Counter()
    counter.feed(page)
    return counter.elements
