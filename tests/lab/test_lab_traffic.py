"""Flows are measured as they are, and the VC carries what a VC of 60 Mb/s carries."""

from __future__ import annotations

import itertools
import time

import pytest

from slotcar_lab.control import Lab
from slotcar_lab.errors import LabError
from slotcar_lab.traffic import INTERVAL_S, Flow, mean_bps, start_tcp, start_udp
from tests.support.patience import PATIENCE_S

pytestmark = pytest.mark.lab
VC_BPS = 60_000_000
#: UDP, IP and Ethernet headers of a datagram.
HEADER_BYTES = 42


def assert_intervals(flow: Flow, count: int) -> None:
    """The samples follow each other without a gap, and together they are so many intervals from the flow's beginning.

    A receiver that had to wait for the processor notices an interval's end late; then one sample may be several.
    """
    samples = flow.samples()
    begun_at = [sample.ended_at - sample.interval_s for sample in samples]
    ended_at = [flow.started_at, *(sample.ended_at for sample in samples)]
    assert begun_at == pytest.approx(ended_at[:-1], abs=1e-4)
    intervals = [min(count, int((at - flow.started_at + 1e-4) / INTERVAL_S)) for at in ended_at]
    assert all(earlier < later for earlier, later in itertools.pairwise(intervals))
    assert intervals[-1] == count


@pytest.mark.slow  # by the clocks of two machines, in real time
def test_a_flow_is_counted_interval_by_interval_on_this_machines_clock(lab: Lab) -> None:
    asked_at_s = time.time()
    with start_udp(
        lab, "anl-premium", "lbnl-premium", port=5311, rate_bps=8_000_000, payload_bytes=1000, duration_s=2, dscp=46
    ) as flow:
        totals = flow.wait(PATIENCE_S)
    samples = flow.samples()
    assert asked_at_s < flow.started_at < samples[0].ended_at < samples[-1].ended_at < time.time() + 0.1
    assert_intervals(flow, 4)
    assert sum(sample.packets for sample in samples) <= totals.received_packets <= totals.sent_packets
    assert totals.overflowed_packets == 0
    assert totals.sent_packets + totals.skipped_packets <= 2_001


@pytest.mark.slow  # a rate, in real time
def test_two_flows_share_one_grid_and_one_vc(lab: Lab) -> None:
    """Without QoS both lose: the VC carries 60 Mb/s, whoever sends it."""
    with start_udp(
        lab, "anl-premium", "lbnl-premium", port=5321, rate_bps=32_000_000, payload_bytes=1000, duration_s=8
    ) as premium:
        with start_udp(
            lab, "anl-traffic", "lbnl-traffic", port=5322, rate_bps=80_000_000, payload_bytes=1000, duration_s=4
        ) as load:
            load_totals = load.wait(PATIENCE_S)
        premium.wait(PATIENCE_S)
    assert load_totals.overflowed_packets == 0
    on_the_line = (1000 + HEADER_BYTES) / 1000
    together = [
        (one, other)
        for one in premium.samples()
        for other in load.samples()
        if abs(one.ended_at - other.ended_at) < 0.1
    ]
    assert together
    premium_bps, load_bps = (mean_bps(samples) for samples in zip(*together, strict=True))
    # A sample that is noticed a few milliseconds late counts them to its neighbour.
    assert (premium_bps + load_bps) * on_the_line <= 1.02 * VC_BPS
    assert premium_bps > 0
    assert load_bps > 0


@pytest.mark.slow  # a rate, in real time
def test_tcp_fills_no_more_than_the_vc(lab: Lab) -> None:
    with start_tcp(lab, "anl-traffic", "lbnl-traffic", port=5331, duration_s=2) as flow:
        totals = flow.wait(PATIENCE_S)
    assert 0 < totals.received_bytes <= totals.sent_bytes
    assert 0 < mean_bps(flow.samples()) <= 1.02 * VC_BPS


def test_a_flow_that_is_stopped_keeps_what_it_counted(lab: Lab) -> None:
    flow = start_udp(
        lab, "lbnl-traffic", "anl-traffic", port=5341, rate_bps=4_000_000, payload_bytes=500, duration_s=600
    )
    while not flow.samples():
        time.sleep(0.05)
    flow.stop()
    assert not flow.running
    assert flow.wait(1).received_packets
    assert flow.samples()


def test_a_flow_that_never_arrives_counts_silence(lab: Lab) -> None:
    lab.check("anl-edge", ["ip", "route", "add", "blackhole", "10.10.22.2/32"])
    try:
        with start_udp(
            lab, "anl-premium", "lbnl-traffic", port=5351, rate_bps=4_000_000, payload_bytes=500, duration_s=1
        ) as flow:
            assert flow.wait(PATIENCE_S).received_packets == 0
    finally:
        lab.check("anl-edge", ["ip", "route", "del", "blackhole", "10.10.22.2/32"])
    assert {sample.received_bps for sample in flow.samples()} == {0.0}
    assert_intervals(flow, 2)


def test_what_cannot_be_is_said(lab: Lab) -> None:
    with pytest.raises(LabError, match="payload_bytes is 9000; it must be 16 to 1472"):
        start_udp(lab, "anl-premium", "lbnl-premium", port=1, rate_bps=1, payload_bytes=9000, duration_s=1)
    with pytest.raises(LabError, match="the lab has no node cern"):
        start_tcp(lab, "anl-premium", "cern", port=5361, duration_s=1)
    with (
        start_tcp(lab, "anl-premium", "lbnl-premium", port=5371, duration_s=30),
        pytest.raises(LabError, match=r"receiver failed: .*in use"),
    ):
        start_tcp(lab, "anl-premium", "lbnl-premium", port=5371, duration_s=1)
