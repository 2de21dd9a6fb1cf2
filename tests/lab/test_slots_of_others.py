"""A flow whose reservation stays notices no boundary of others; a slot ends in its traffic with everything dead."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

import pytest
import yaml

from slotcar.measuring.metrics import delay, loss
from slotcar_lab.control import Lab
from slotcar_lab.experiments.capture import Capture, Packet, stamps
from slotcar_lab.snapshot import snapshots
from slotcar_lab.traffic import start_udp
from tests.lab.slots import wait_not_policed, wait_policed
from tests.support.ahead import armed_ahead
from tests.support.controllers import Controller
from tests.support.patience import wait_for
from tests.support.postgres import pull_the_plug

#: Each packet is looked at in real time. In short, without traffic: tests/lab/test_tutorial.py.
pytestmark = [pytest.mark.lab, pytest.mark.slow]
PORT, PAYLOAD_BYTES = 5001, 64
#: An emulated machine of two cores forwards some 5,000 packets a second over four routers, and has pushes to do beside.
PACKETS_PS = 1_500
#: Of each slot of the others, and of the time between them.
LENGTH = timedelta(seconds=1)
EXPEDITED = 46 << 2
#: Before a boundary the queues inside the path are there already, and a sample's own clock is not exact.
EARLY, LATE = timedelta(milliseconds=100), timedelta(seconds=3)


def reservation(name: str, port: int, start: datetime, end: datetime, rate: str) -> dict[str, object]:
    ends = {"source": "anl-premium", "destination": f"lbnl-premium:{port}", "protocol": "udp", "service": "ip-premium"}
    window = {"start": start.isoformat(), "end": end.isoformat()}
    return {"name": name, "owner": "test", **ends, "rate": rate, "packet_size": f"{PAYLOAD_BYTES + 28} B", **window}


@pytest.mark.parametrize("boundaries", [8, 100])
def test_a_flow_that_stays_loses_no_packet_and_no_order_at_boundaries_of_others(
    lab: Lab, controller: Controller, tmp_path: Path, boundaries: int
) -> None:
    def ask(first: datetime, attempt: int) -> datetime:
        documents = [
            reservation(f"other-{attempt}-{number}", 6000 + number, start, start + LENGTH, "3 Mbit/s")
            for number in range(boundaries // 2)
            for start in [first + 2 * number * LENGTH]
        ]
        file = tmp_path / f"others-{boundaries}-{attempt}.yml"
        file.write_text(yaml.safe_dump({"version": 1, "reservations": documents}))
        controller.slotcar("apply", str(file), "--yes")
        return first + boundaries * LENGTH

    ends = ("--source", "anl-premium", "--destination", f"lbnl-premium:{PORT}", "--protocol", "udp", "--owner", "test")
    slot = ("--rate", "1 Mbit/s", "--packet-size", f"{PAYLOAD_BYTES + 28} B", "--duration", "30 min")
    controller.slotcar("create", "--name", "steady", *ends, *slot)
    try:
        wait_policed(lab)
        controller.wait_settled()
        first = armed_ahead(controller, lab.topology.routers, ask)
        last = first + boundaries * LENGTH
        out = Capture(lab, "anl-premium", f"udp and dst port {PORT}", outgoing=True)
        into = Capture(lab, "lbnl-premium", f"udp and dst port {PORT}", outgoing=False)
        duration_s = (last - datetime.now(UTC)).total_seconds() + 2
        flow = start_udp(
            lab, "anl-premium", "lbnl-premium", port=PORT, rate_bps=8 * PAYLOAD_BYTES * PACKETS_PS,
            payload_bytes=PAYLOAD_BYTES, duration_s=duration_s, one_cpu=True,
        )  # fmt: skip
        with flow:
            totals = flow.wait(duration_s + 60)
        arrived = into.packets()
        stream = delay.one_way(stamps(out.packets(), arrived), 2_000_000)
        # In a crowd of boundaries the routers are not read: what they did is told when it has passed.
        wait_for(lambda: len(acted_at(controller, first, last)) == boundaries, "all boundaries to be told")
        assert totals.sent_packets > PACKETS_PS * boundaries * LENGTH.total_seconds() / 2
        assert loss.count(stream) == 0
        assert overtaken(arrived, first + timedelta(microseconds=lab.clock_offset().offset_us)) == []
    finally:
        controller.slotcar("cancel", "test/steady", "--yes")
        wait_not_policed(lab)


def overtaken(arrived: Sequence[Packet], first: datetime) -> list[tuple[int, float]]:
    """Packets that came after one that was sent after them, and when: seconds after `first`, by the lab's clock."""
    latest = accumulate((packet.number for packet in arrived), max)
    late = [packet for packet, before in zip(arrived, latest, strict=True) if packet.number < before]
    return [(packet.number, round(packet.at_us / 1e6 - first.timestamp(), 3)) for packet in late]


def acted_at(controller: Controller, first: datetime, last: datetime) -> set[str]:
    """The boundaries from `first` to `last` at which routers acted, by their own account."""
    instants = [event["details"]["at"] for event in controller.events() if event["kind"] == "boundary.active"]
    return {at for at in instants if first <= datetime.fromisoformat(at) < last}


def test_a_slot_ends_in_its_traffic_though_controller_and_database_died_in_it(
    lab: Lab, state_dir: Path, controller: Controller
) -> None:
    """docs/design.md rule 9. Its packets are expedited in its window and in nothing else; the sender marks none of them."""

    def ask(start: datetime, attempt: int) -> datetime:
        ends = ("--source", "anl-premium", "--destination", f"lbnl-premium:{PORT}", "--protocol", "udp")
        window = ("--start", start.isoformat(), "--duration", "10 s", "--owner", "test")
        name = f"orphan-in-traffic-{attempt}"
        controller.slotcar("create", "--name", name, *ends, "--rate", "2 Mbit/s", "--packet-size", "228 B", *window)
        return start + timedelta(seconds=10)

    before = snapshots(lab)
    start = armed_ahead(controller, lab.topology.routers, ask)
    end = start + timedelta(seconds=10)
    into = Capture(lab, "lbnl-premium", f"udp and dst port {PORT} and (ip[1] & 0xfc) == {EXPEDITED}", outgoing=False)
    duration_s = (end - datetime.now(UTC)).total_seconds() + 5
    flow = start_udp(
        lab, "anl-premium", "lbnl-premium", port=PORT, rate_bps=1_000_000, payload_bytes=200, duration_s=duration_s
    )
    with flow:
        wait_policed(lab)
        controller.kill()
        pull_the_plug(state_dir / "postgres")
        flow.wait(duration_s + 60)
    offset = timedelta(microseconds=lab.clock_offset().offset_us)
    expedited = [datetime.fromtimestamp(packet.at_us / 1e6, UTC) - offset for packet in into.packets()]
    assert start - EARLY <= expedited[0] <= start + LATE
    assert end - LATE <= expedited[-1] <= end + LATE
    wait_for(lambda: snapshots(lab) == before, "the slot's end")
