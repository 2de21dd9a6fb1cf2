"""A flow whose reservation stays notices no boundary of others; a slot ends in its traffic with everything dead."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from lab.control import Lab
from lab.experiments.capture import Capture, stamps
from lab.metrics import delay, loss
from lab.traffic import start_udp
from tests.lab.conftest import INVENTORY
from tests.lab.slots import policed, snapshots
from tests.support.controllers import Controller, wait_for

pytestmark = pytest.mark.lab
PORT, PAYLOAD_BYTES = 5001, 64
#: An emulated machine of two cores forwards some 5,000 packets a second over four routers, and has pushes to do beside.
PACKETS_PS = 1_500
BOUNDARIES = 100
EXPEDITED = 46 << 2
#: Before a boundary the queues inside the path are there already, and a sample's own clock is not exact.
EARLY, LATE = timedelta(milliseconds=100), timedelta(seconds=3)


def reservation(name: str, port: int, start: datetime, end: datetime, rate: str) -> dict[str, object]:
    ends = {"source": "anl-premium", "destination": f"lbnl-premium:{port}", "protocol": "udp", "service": "ip-premium"}
    window = {"start": start.isoformat(), "end": end.isoformat()}
    return {"name": name, "owner": "test", **ends, "rate": rate, "packet_size": f"{PAYLOAD_BYTES + 28} B", **window}


@pytest.mark.slow
def test_a_flow_that_stays_loses_no_packet_and_no_order_at_a_hundred_boundaries_of_others(
    lab: Lab, state_dir: Path, tmp_path: Path
) -> None:
    with Controller(state_dir, INVENTORY) as controller:
        controller.wait_settled()
        now = datetime.now(UTC).replace(microsecond=0)
        first, length = now + timedelta(seconds=45), timedelta(seconds=2)
        last = first + BOUNDARIES * length / 2
        asked = [reservation("steady", PORT, now + timedelta(seconds=15), last + timedelta(seconds=60), "1 Mbit/s")]
        asked += [
            reservation(f"other-{number}", 6000 + number, start, start + length / 2, "3 Mbit/s")
            for number in range(BOUNDARIES // 2)
            for start in [first + number * length]
        ]
        file = tmp_path / "hundred.yml"
        file.write_text(yaml.safe_dump({"version": 1, "reservations": asked}))
        controller.slotcar("apply", str(file), "--yes")
        wait_for(lambda: "dst_port 5001" in policed(lab), "the flow's own slot")
        out = Capture(lab, "anl-premium", f"udp and dst port {PORT}", outgoing=True)
        into = Capture(lab, "lbnl-premium", f"udp and dst port {PORT}", outgoing=False)
        duration_s = (last - datetime.now(UTC)).total_seconds() + 3
        flow = start_udp(
            lab, "anl-premium", "lbnl-premium", port=PORT, rate_bps=8 * PAYLOAD_BYTES * PACKETS_PS,
            payload_bytes=PAYLOAD_BYTES, duration_s=duration_s,
        )  # fmt: skip
        with flow:
            totals = flow.wait(duration_s + 60)
        arrived = into.packets()
        stream = delay.one_way(stamps(out.packets(), arrived), 2_000_000)
        # In a crowd of boundaries the routers are not read: what they did is told when it has passed.
        wait_for(lambda: len(acted_at(controller, first, last)) == BOUNDARIES, "all boundaries to be told")
        assert totals.sent_packets > PACKETS_PS * BOUNDARIES / 2
        assert loss.count(stream) == 0
        numbers = [packet.number for packet in arrived]
        assert numbers == sorted(numbers)
        controller.slotcar("cancel", "test/steady", "--yes")
        wait_for(lambda: "dst_port 5001" not in policed(lab), "the flow's end")
        controller.wait_settled()


def acted_at(controller: Controller, first: datetime, last: datetime) -> set[str]:
    """The boundaries from `first` to `last` at which routers acted, by their own account."""
    told = [event["details"]["at"] for event in pages(controller) if event["kind"] == "boundary.active"]
    return {at for at in told if first <= datetime.fromisoformat(at) < last}


def pages(controller: Controller) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while page := controller.get(f"/v1/events?limit=1000&after={found[-1]['sequence'] if found else 0}")["items"]:
        found += page
    return found


@pytest.mark.slow
def test_a_slot_ends_in_its_traffic_though_controller_and_database_died_in_it(lab: Lab, state_dir: Path) -> None:
    """Its packets are expedited in its window and in nothing else; the sender marks none of them."""
    with Controller(state_dir, INVENTORY) as controller:
        controller.wait_settled()
        before = snapshots(lab)
        start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=25)
        end = start + timedelta(seconds=12)
        ends = (
            "--source",
            "anl-premium",
            "--destination",
            f"lbnl-premium:{PORT}",
            "--protocol",
            "udp",
            "--owner",
            "test",
        )
        slot = ("--rate", "2 Mbit/s", "--start", start.isoformat(), "--end", end.isoformat(), "--packet-size", "228 B")
        controller.slotcar("create", "--name", "orphan-in-traffic", *ends, *slot)
        wait_for(lambda: controller.armed() == set(lab.topology.routers), "the slot to be armed everywhere")
        into = Capture(
            lab, "lbnl-premium", f"udp and dst port {PORT} and (ip[1] & 0xfc) == {EXPEDITED}", outgoing=False
        )
        duration_s = (end - datetime.now(UTC)).total_seconds() + 5
        flow = start_udp(
            lab, "anl-premium", "lbnl-premium", port=PORT, rate_bps=1_000_000, payload_bytes=200, duration_s=duration_s
        )
        with flow:
            wait_for(lambda: "dst_port 5001" in policed(lab), "the slot")
            controller.kill()
            pull_the_plug(state_dir / "postgres")
            flow.wait(duration_s + 60)
    offset = timedelta(microseconds=lab.clock_offset().offset_us)
    expedited = [datetime.fromtimestamp(packet.at_us / 1e6, UTC) - offset for packet in into.packets()]
    assert start - EARLY <= expedited[0] <= start + LATE
    assert end - LATE <= expedited[-1] <= end + LATE
    wait_for(lambda: snapshots(lab) == before, "the slot's end")


def pull_the_plug(database: Path) -> None:
    postmaster = psutil.Process(int(re.split(r"\n", (database / "postmaster.pid").read_text())[0]))
    for process in [*postmaster.children(recursive=True), postmaster]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
