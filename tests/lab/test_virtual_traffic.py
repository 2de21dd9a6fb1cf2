"""Flows are measured as they are, and a line carries what its rate carries: a thirty-second of 96 Mb/s, in virtual time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from slotcar_lab.control import Lab
from slotcar_lab.traffic import INTERVAL_S, TOGETHER, Flow, mean_bps, start_tcp, start_udp
from tests.support.patience import PATIENCE_S

pytestmark = pytest.mark.lab
LINE_BPS = 3_000_000
PAYLOAD_BYTES = 958
#: With UDP, IP and Ethernet headers.
LINE_BYTES = 1_000
#: Of the guest's time: both ends of a flow run by then.
LEAD_S = 3.0
#: Intervals, left out while queues fill.
SETTLE = 2


@pytest.fixture(scope="module")
def line(virtual_lab: Lab) -> Iterator[Lab]:
    shaped = f"tc qdisc replace dev eth2 root tbf rate {LINE_BPS} burst 3000 limit 20000"
    virtual_lab.check("router", shaped.split())
    yield virtual_lab
    virtual_lab.check("router", ["tc", "qdisc", "del", "dev", "eth2", "root"])


def udp(lab: Lab, port: int, rate_bps: int, begin: float, duration_s: float) -> Flow:
    return start_udp(
        lab,
        "near",
        "far",
        port=port,
        rate_bps=rate_bps,
        payload_bytes=PAYLOAD_BYTES,
        duration_s=duration_s,
        begin=begin,
    )


def next_begin(lab: Lab) -> float:
    return int(lab.clock.now()) + LEAD_S


def test_a_flow_is_counted_interval_by_interval_on_the_labs_clock(line: Lab) -> None:
    begin = next_begin(line)
    with udp(line, 5311, 400_000, begin, 2.0) as flow:
        totals = flow.wait(PATIENCE_S)
    assert flow.started_at == begin
    assert [sample.ended_at - begin for sample in flow.samples()] == pytest.approx([0.5, 1.0, 1.5, 2.0], abs=0.03)
    assert sum(sample.packets for sample in flow.samples()) <= totals.received_packets == totals.sent_packets
    due = int(2.0 * 400_000 / 8 / PAYLOAD_BYTES)
    assert due - TOGETHER < totals.sent_packets <= due
    assert totals.skipped_packets == due - totals.sent_packets, "what was not handed over by the end"
    assert totals.overflowed_packets == 0


def test_two_flows_share_one_grid_and_one_line(line: Lab) -> None:
    """Without QoS both lose: the line carries its rate, whoever sends it."""
    begin = next_begin(line)
    with udp(line, 5321, 1_600_000, begin, 3.0) as one, udp(line, 5322, 4_000_000, begin, 3.0) as other:
        flows = (one, other)
        totals = [flow.wait(PATIENCE_S) for flow in flows]
    assert all(of_one.lost_packets > 0 for of_one in totals)
    carried = [mean_bps(flow.samples()[SETTLE:]) for flow in flows]
    for flow in flows:
        assert [sample.ended_at - begin for sample in flow.samples()] == pytest.approx(
            [INTERVAL_S * n for n in range(1, 7)], abs=0.03
        )
    assert sum(carried) * LINE_BYTES / PAYLOAD_BYTES == pytest.approx(LINE_BPS, rel=0.01)


def test_tcp_fills_the_line_and_no_more(line: Lab) -> None:
    with start_tcp(line, "near", "far", port=5331, duration_s=4.0, begin=next_begin(line)) as flow:
        totals = flow.wait(PATIENCE_S)
    assert 0 < totals.received_bytes <= totals.sent_bytes
    assert 0.9 * LINE_BPS <= mean_bps(flow.samples()[SETTLE:]) <= LINE_BPS
