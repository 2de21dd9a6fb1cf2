"""No page has 1,500 elements, with 100 routers of which all change at one boundary."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from fastapi import FastAPI

from benchmarks.web.asking import elements_of
from benchmarks.web.world import EDGES, world
from slotcar.api.context import Context
from slotcar.auth.tokens import TokenStore
from slotcar.base.settings import Settings
from slotcar.base.timebase import iso
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk
from slotcar.desk.requests import Requests
from slotcar.reservation import from_mapping
from slotcar.rollout.status import LoopStatus
from slotcar.store import Ledger
from slotcar.web.app import create_app
from tests.support.networks import line_network

OPERATOR = Caller("ops", Role.OPERATOR)
#: What is wanted of every page.
MOST_ELEMENTS = 1_500
LEADING = LoopStatus(leading=True, settled=True)


def test_no_page_has_1500_elements_with_100_routers(ledger: Ledger, tmp_path: Path) -> None:
    network = world().network
    desk = Desk(ledger, network, Settings(state_dir=tmp_path, inventory=tmp_path, open=True), loop=LEADING)
    now = datetime.now(UTC)
    start = now.replace(microsecond=0) + timedelta(hours=1)
    for number in range(EDGES):
        document = {
            "name": f"n{number}", "owner": "hep", "source": f"h{number}", "destination": f"h{(number + 49) % EDGES}",
            "protocol": "udp", "service": "ip-premium", "rate": f"{number + 1} Mbit/s", "start": iso(start),
            "duration": "1 h",
        }  # fmt: skip
        handle = Requests(desk).create(from_mapping(document, now), OPERATOR, now).handle
    context = Context(desk, TokenStore(tmp_path / "tokens.json"))
    boundary = f"/boundaries/{iso(start)}"
    paths = (
        "/", "/boundaries", boundary, "/reservations", f"/reservations/{handle}", "/approvals",
        "/links", "/map", "/map?after=50", "/devices", "/devices/core0", "/devices/core0/wanted", "/usage", "/log",
        "/request", "/account", "/rollback", "/plan",
    )  # fmt: skip
    try:
        app = create_app(context)
        texts = asyncio.run(_texts(app, paths))
        following = re.findall(r"\?after=edge\d+", texts[boundary])[0]
        texts |= asyncio.run(_texts(app, (boundary + following,)))
    finally:
        context.plans.close()
    counts = {path: elements_of(text) for path, text in texts.items()}
    assert {path: count for path, count in counts.items() if count >= MOST_ELEMENTS} == {}
    pages = [texts[boundary], texts[boundary + following]]
    shown = [device for device in network.devices if any(f'<th scope="row">{device}</th>' in page for page in pages)]
    assert len(shown) >= 90, "nearly every router changes, and stands on one of its pages"


def test_the_map_of_a_large_network_has_no_1500_elements(ledger: Ledger, tmp_path: Path) -> None:
    desk = Desk(ledger, line_network(250), Settings(state_dir=tmp_path, inventory=tmp_path, open=True), loop=LEADING)
    context = Context(desk, TokenStore(tmp_path / "tokens.json"))
    try:
        text = asyncio.run(_texts(create_app(context), ("/map",)))["/map"]
    finally:
        context.plans.close()
    assert elements_of(text) < MOST_ELEMENTS
    assert "100 of 250 devices have a name here" in text
    assert "The 100 most used of 249 links can be chosen here" in text


async def _texts(app: FastAPI, paths: tuple[str, ...]) -> dict[str, str]:
    texts = {}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1") as client:
        for path in paths:
            answer = await client.get(path, headers={"accept": "text/html"})
            assert answer.status_code == 200, (path, answer.text[:300])
            texts[path] = answer.text
    return texts
