"""A transfer that is behind, a loop that leads, and room that comes free: the edge router polices at the new rate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from slotcar.book.model import Entry
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries
from slotcar.desk.requests import Requests
from slotcar.desk.reservations import cancel
from slotcar.reservation import from_mapping
from slotcar.store import Ledger
from slotcar_client.wire import verbs
from slotcar_lab.ios import Routers
from tests.integration.rollout.test_machine_faults import leading, settled
from tests.support.cisco import ROOT, CiscoWorld
from tests.support.patience import wait_for

EDGE = "anl-7507-1"
OPERATOR = Caller("ops", Role.OPERATOR)
FLOW = {"owner": "hep", "source": "anl-premium", "protocol": "udp", "service": "ip-premium"}
VOLUME_BYTES = 30_000_000 * 3_600 // 8


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CiscoWorld]:
    with Routers() as routers:
        yield CiscoWorld(routers, tmp_path_factory.mktemp("replanning"), ROOT / "inventories" / "garnet")


def policed_bps(world: CiscoWorld) -> list[int]:
    return sorted(int(rate) for rate in re.findall(r"rate-limit input access-group \d+ (\d+)", world.running()[EDGE]))


@pytest.mark.slow
def test_the_leader_gives_what_came_free_to_who_is_behind(world: CiscoWorld, ledger: Ledger) -> None:
    with leading(world, ledger, replan_period=timedelta(seconds=1)) as (loop, failures):
        desk = Desk(ledger, world.network, world.settings)  # sets the terms of the ledger

        def admitted(name: str, port: int, **more: str) -> Entry:
            flow = FLOW | {"name": name, "destination": f"lbnl-premium:{port}"} | more
            now = datetime.now(UTC)
            return Requests(desk).create(from_mapping(flow, now), OPERATOR, now)

        bulk = admitted("bulk", 5001, volume=f"{VOLUME_BYTES} B", by="now + 1 h")
        free_bps = Requests(desk).addable(
            admitted("rest", 5002, rate="1 Mbit/s", start="now", duration="2 h").handle, OPERATOR, datetime.now(UTC)
        )
        highest_bps = 1_000_000 + free_bps.directions[0].rate_bps
        cancel(verbs.Cancel("hep/rest"), desk, OPERATOR, datetime.now(UTC))
        fixed = admitted("rest", 5002, rate=f"{highest_bps} bit/s", duration="2 h", start="now")
        wait_for(lambda: len(policed_bps(world)) == 2, "both policers")
        wait_for(lambda: datetime.now(UTC) > bulk.created_at + timedelta(seconds=5), "some of the volume to be due")
        reported = Requests(desk).report(bulk.handle, VOLUME_BYTES, OPERATOR, datetime.now(UTC))
        assert reported.progress is not None
        assert reported.progress.missing_bytes > 0
        before_bps = max(policed_bps(world))
        cancel(verbs.Cancel(fixed.handle), desk, OPERATOR, datetime.now(UTC))
        wait_for(lambda: bool(ledger.events(kinds=["reservation.replanned"])), "the transfer to be planned again")
        after = Entries(desk).status(bulk.handle, OPERATOR)
        assert after.progress is not None
        assert after.progress.missing_bytes < reported.progress.missing_bytes
        assert after.progress.at == reported.progress.at
        wait_for(lambda: policed_bps(world) != [] and policed_bps(world)[0] > before_bps, "the edge to police at more")
        cancel(verbs.Cancel(bulk.handle), desk, OPERATOR, datetime.now(UTC))
        wait_for(lambda: policed_bps(world) == [], "the routers to be as they were")
        wait_for(settled(loop), "the loop to rest")
    assert failures == []
