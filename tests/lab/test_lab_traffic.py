"""Flows count what they are to, and what cannot be is said. Their figures: tests/lab/test_virtual_traffic.py."""

from __future__ import annotations

import itertools
import time

import pytest

from slotcar_lab.control import Lab
from slotcar_lab.errors import LabError
from slotcar_lab.traffic import INTERVAL_S, Flow, start_tcp, start_udp
from tests.support.patience import PATIENCE_S

pytestmark = pytest.mark.lab


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
