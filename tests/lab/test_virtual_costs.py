"""What is foretold of transfers, beside those that followed on a line that others use too: nine in ten are within the
error that was stated. In virtual time, so that each run measures the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest

from slotcar.measuring.costs.accuracy import accuracy
from slotcar.measuring.costs.history import with_estimate
from slotcar.measuring.costs.known_ways import way_between
from slotcar.store import Ledger
from slotcar.store.measurements import TransferSample
from slotcar_lab.control import Lab
from slotcar_lab.traffic import start_tcp, start_udp
from tests.integration.conftest import database_url, ledger, migrated, server_url
from tests.support.networks import line_network
from tests.support.patience import PATIENCE_S

__all__ = ["database_url", "ledger", "migrated", "server_url"]
#: Thirteen transfers of seconds of a guest's time are minutes.
pytestmark = [pytest.mark.lab, pytest.mark.slow]
LINE_BPS, PAYLOAD_BYTES, LEAD_S = 3_000_000, 958, 3.0
EVER = datetime(1970, 1, 1, tzinfo=UTC)
#: Of them, the first three are foretold without an interval of nine in ten.
TRANSFERS, WITHOUT = 13, 3


@pytest.fixture
def line(virtual_lab: Lab) -> Iterator[Lab]:
    virtual_lab.check("router", f"tc qdisc replace dev eth2 root tbf rate {LINE_BPS} burst 3000 limit 20000".split())
    yield virtual_lab
    virtual_lab.check("router", ["tc", "qdisc", "del", "dev", "eth2", "root"])


def test_nine_in_ten_take_what_was_stated(line: Lab, ledger: Ledger) -> None:
    network, chance = line_network(1), random.Random(49)
    way = way_between(network, "src", "dst")
    for number in range(TRANSFERS):
        others_bps, lasts_s = chance.randrange(300_000, 1_200_000), chance.choice((2.0, 3.0, 4.0))
        began, volume_bytes = transferred(line, 5501 + 2 * number, others_bps, lasts_s)
        ended = began + timedelta(seconds=lasts_s)
        sample = TransferSample(
            way=way, volume_bytes=volume_bytes, started_at=began, ended_at=ended, tool="slotcar-transfer"
        )
        ledger.measurements.add_transfer(with_estimate(sample, ledger.measurements, network))
    judged = accuracy(ledger.measurements.transfers({way}, EVER, ended + timedelta(seconds=1)))
    assert (judged.unknown, judged.bounded) == (1, TRANSFERS - WITHOUT)
    assert judged.within_nine_in_ten * 10 >= judged.bounded * 9
    assert judged.off_ppm is not None


def transferred(lab: Lab, port: int, others_bps: int, lasts_s: float) -> tuple[datetime, int]:
    """When a transfer began beside somebody else's datagrams, and how many bytes had arrived when its time was over."""
    begin = int(lab.clock.now()) + LEAD_S
    with ExitStack() as running:
        others = start_udp(
            lab,
            "near",
            "far",
            port=port,
            rate_bps=others_bps,
            payload_bytes=PAYLOAD_BYTES,
            duration_s=lasts_s,
            begin=begin,
        )
        moved = start_tcp(lab, "near", "far", port=port + 1, duration_s=lasts_s, begin=begin)
        flows = [running.enter_context(flow) for flow in (others, moved)]
        totals = [flow.wait(PATIENCE_S) for flow in flows]
    return datetime.fromtimestamp(begin, UTC), totals[1].received_bytes
