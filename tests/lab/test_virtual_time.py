"""A guest in virtual time: what is measured in it is the same in each run, whatever this machine does meanwhile."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pytest

from slotcar.measuring.metrics import delay
from slotcar_lab import traffic
from slotcar_lab.control import Lab
from slotcar_lab.experiments.capture import Capture, Packet, stamps
from slotcar_lab.experiments.figures import WAITING_US

pytestmark = pytest.mark.lab
#: Premium comes every 3.24 packets of the line, and meets the packet on the line at all points of it alike. At a third of
#: the line's rate it would meet all at the same point, another one in each run: its median went from 0.61 to 0.68 ms.
LINE_BPS, PREMIUM_BPS, LOAD_BPS = 12_000_000, 3_700_000, 15_000_000
#: With their headers both flows' packets have 1,000 bytes.
PAYLOAD_BYTES = 958
DURATION_S = 4.0
#: One packet's time on the line. Twenty runs differed by a tenth of it: where a packet meets the one on the line.
PACKET_MS = 8_000_000 / LINE_BPS
#: Ends of flows and captures begin in less, of the guest's time.
LEAD_S = 3.0
#: Strict priority for port 5001, behind a line of `LINE_BPS`.
ROUTER = f"""
qdisc add dev eth2 root handle 1: tbf rate {LINE_BPS} burst 3000 latency 50ms
qdisc add dev eth2 parent 1:1 handle 2: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1
filter add dev eth2 parent 2: protocol ip prio 1 flower ip_proto udp dst_port 5001 classid 2:1
qdisc add dev eth2 parent 2:1 bfifo limit 30000
qdisc add dev eth2 parent 2:2 bfifo limit 60000
"""


class Figures(NamedTuple):
    """Of one flow: packets, and delays in milliseconds."""

    received: int
    median_ms: float
    p95_ms: float
    greatest_ms: float

    def agrees(self, other: Figures) -> bool:
        """Whether they differ by no more than what a sender hands over at a time, and a packet's time on the line."""
        return (
            abs(other.received - self.received) <= traffic.TOGETHER
            and tuple(other)[1:] == pytest.approx(tuple(self)[1:], abs=PACKET_MS)
        )  # fmt: skip


@pytest.fixture(scope="module")
def router(virtual_lab: Lab) -> Iterator[Lab]:
    virtual_lab.check("router", ["tc", "-batch", "-"], stdin=ROUTER)
    yield virtual_lab
    virtual_lab.check("router", ["tc", "qdisc", "del", "dev", "eth2", "root"])


@contextlib.contextmanager
def machine_busy() -> Iterator[None]:
    """More than one processor's work beside the guest."""
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    try:
        yield
    finally:
        for one in spinning:
            one.kill()
            one.wait()


def trial(lab: Lab) -> dict[int, Figures]:
    """Premium beside more load than the line carries."""
    leaving = Capture(lab, "near", "udp", outgoing=True)
    arriving = Capture(lab, "far", "udp", outgoing=False)
    begin = float(int(lab.clock.now() + LEAD_S))
    flows = [
        traffic.start_udp(
            lab, "near", "far", port=port, rate_bps=rate_bps * PAYLOAD_BYTES // 1_000, payload_bytes=PAYLOAD_BYTES,
            duration_s=DURATION_S, begin=begin,
        )
        for port, rate_bps in ((5001, PREMIUM_BPS), (5002, LOAD_BPS))
    ]  # fmt: skip
    assert lab.clock.now() < begin
    lab.clock.wait_until(begin + DURATION_S + 1.0)
    for flow in flows:
        flow.wait(300.0)
        flow.stop()
    sent, received = leaving.packets(), arriving.packets()
    return {flow.port: figures_of(flow.port, sent, received) for flow in flows}


def figures_of(port: int, sent: Sequence[Packet], received: Sequence[Packet]) -> Figures:
    of_port = [[one for one in packets if one.destination_port == port] for packets in (sent, received)]
    stream = delay.one_way(stamps(*of_port), WAITING_US)
    arrived = [one for one in stream if one.delay_us is not None]
    figures_us = delay.median(arrived), delay.percentile(arrived, 95), delay.percentile(arrived, 100)
    return Figures(len(arrived), *(float(one) / 1000 for one in figures_us if one is not None))


def test_a_trial_gives_the_same_figures_also_beside_other_work(router: Lab) -> None:
    """Each packet's way is that of the line's rate and of strict priority."""
    alone = trial(router)
    with machine_busy():
        beside = trial(router)
    assert all(alone[port].agrees(beside[port]) for port in alone), f"alone {alone}, beside other work {beside}"
    premium, load = alone[5001], alone[5002]
    assert premium.received >= PREMIUM_BPS / 8_000 * DURATION_S - traffic.TOGETHER
    assert premium.greatest_ms < 2.0
    assert load.received / DURATION_S == pytest.approx((LINE_BPS - PREMIUM_BPS) / 8_000, rel=0.02)
    assert load.p95_ms == pytest.approx(60_000 * 8 / (LINE_BPS - PREMIUM_BPS) * 1_000, rel=0.05)


def test_time_stands_nearly_still_until_it_is_let_run(router: Lab) -> None:
    """An hour passes at once, and a session that was open before goes on after it."""
    # While nothing runs on it: a busy machine lets even less of the guest's time pass.
    here, held = time.monotonic(), router.clock.now()
    time.sleep(1.0)
    assert router.clock.now() - held <= (time.monotonic() - here) / 10
    with router.popen("near", ["cat"], stdin=True) as session:
        began = router.clock.now()
        router.clock.wait_until(began + 3_600)
        assert router.clock.now() == pytest.approx(began + 3_600, abs=60)
        session.write(b"still here\n")
        assert session.wait_reported("still here", 300.0)
