"""Background reservations end to end: a ledger, a loop that leads, and routers that are policed at the derived rates."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk
from slotcar.desk.files import ReservationFiles
from slotcar.desk.logs import Logs
from slotcar.desk.requests import Requests
from slotcar.desk.reservations import cancel
from slotcar.planning.source import source_of_body
from slotcar.reservation import load_text
from slotcar.store import Ledger
from slotcar.views.timeline import TimelineQuery
from slotcar_client.wire import verbs
from slotcar_client.wire.events import ReservationRate
from slotcar_lab.ios import Routers
from tests.integration.rollout.test_machine_faults import leading, settled
from tests.support.cisco import ROOT, CiscoWorld
from tests.support.patience import wait_for

EDGE = "anl-7507-1"
OPERATOR = Caller("ops", Role.OPERATOR)
BASE = """
version: 1
defaults:
  {owner: hep, source: anl-premium, protocol: tcp, service: ip-premium, rtt: 50 ms}
reservations:
  - name: bulk
    destination: lbnl-premium:5002
    start: now
    duration: 2 h
    share: {weight: 2}
"""
FOREGROUND = """
version: 1
defaults:
  {owner: bio, source: anl-premium, protocol: tcp, service: ip-premium, rtt: 50 ms}
reservations:
  - name: talk
    destination: lbnl-premium:5001
    start: now
    duration: 1 h
    rate: 10 Mbit/s
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CiscoWorld]:
    with Routers() as routers:
        yield CiscoWorld(routers, tmp_path_factory.mktemp("background"), ROOT / "inventories" / "garnet")


def policed_bps(world: CiscoWorld) -> list[int]:
    """The rates of the edge's policers of flows, as the router shows them; those of SLSs are on other routers."""
    return sorted(int(rate) for rate in re.findall(r"rate-limit input access-group \d+ (\d+)", world.running()[EDGE]))


def rates(ledger: Ledger, handle: str) -> list[tuple[datetime, datetime, int]]:
    """When it was told, from when on it holds, and the forward rate."""
    return [
        (event.at, datetime.fromisoformat(event.details["at"]), event.details["forward_bps"])
        for event in ledger.events(limit=1000, handle=handle)
        if event.kind == ReservationRate.kind
    ]


@pytest.mark.slow
def test_background_falls_for_a_foreground_after_its_notice_and_comes_back(world: CiscoWorld, ledger: Ledger) -> None:
    with leading(world, ledger) as (loop, failures):
        desk = Desk(ledger, world.network, world.settings)  # sets the terms of the ledger
        (bulk,) = load_text(BASE, "bulk.yml", datetime.now(UTC))
        background = Requests(desk).create(bulk, OPERATOR, datetime.now(UTC))
        wait_for(lambda: len(policed_bps(world)) == 1, "the background's policer")
        (alone_bps,) = policed_bps(world)
        ((_, since, announced_bps),) = rates(ledger, background.handle)
        assert since >= bulk.start
        assert announced_bps < alone_bps < 1.1 * announced_bps  # headers counted

        now = datetime.now(UTC)
        (talk,) = load_text(FOREGROUND, "talk.yml", now)
        foreground = Requests(desk).create(talk, OPERATOR, now)
        wait_for(lambda: len(policed_bps(world)) == 2, "both policers")
        announced_at, from_then, lower_bps = rates(ledger, background.handle)[-1]
        assert lower_bps < announced_bps
        assert from_then - foreground.created_at == timedelta(seconds=5)
        assert announced_at < from_then - timedelta(seconds=2)
        assert datetime.now(UTC) >= from_then
        assert min(policed_bps(world)) < alone_bps

        query = TimelineQuery(now - timedelta(minutes=1), now + timedelta(hours=3))
        starts = {item.at: item for item in Logs(desk).timeline(query, OPERATOR, datetime.now(UTC))}
        assert starts[from_then].starting == ("bio/talk",)
        assert starts[from_then].changing == ("hep/bulk",)

        cancel(verbs.Cancel(foreground.handle), desk, OPERATOR, datetime.now(UTC))
        wait_for(lambda: policed_bps(world) == [alone_bps], "the background to have all again")
        assert rates(ledger, background.handle)[-1][2] == announced_bps
        cancel(verbs.Cancel(background.handle), desk, OPERATOR, datetime.now(UTC))
        wait_for(lambda: policed_bps(world) == [], "the routers to be as they were")
        wait_for(settled(loop), "the loop to rest")
    assert failures == []


def test_a_plan_shows_what_a_foreground_takes_from_the_background(world: CiscoWorld, ledger: Ledger) -> None:
    desk = Desk(ledger, world.network, world.settings)
    now = datetime.now(UTC)
    (bulk,) = load_text(BASE, "bulk.yml", now)
    Requests(desk).create(bulk, OPERATOR, now)
    body = {
        "version": 1,
        "reservations": [
            {
                "name": "talk", "owner": "bio", "source": "anl-premium", "destination": "lbnl-premium:5001",
                "protocol": "tcp", "service": "ip-premium", "rate": "10 Mbit/s", "start": "now + 10 min",
                "duration": "20 min",
            }
        ],
    }  # fmt: skip
    plan = ReservationFiles(desk).plan(source_of_body(body, now, "talks", 100), OPERATOR, now)
    lines = [line for boundary in plan.boundaries for one in boundary.devices for line in one.diff]
    assert len(plan.boundaries) == 2
    assert any(line.startswith("-") and "rate-limit" in line for line in lines)
    background = [line for line in lines if line.startswith(("+", "-")) and "rate-limit input" in line]
    assert len(background) == 6  # the new flow, and the old one's two rates; there and back
