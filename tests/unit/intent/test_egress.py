"""The queues of an egress interface."""

from __future__ import annotations

import pytest

from slotcar.base.vocabulary import Service
from slotcar.platforms.intent import intents_at
from tests.support.networks import line_network
from tests.support.requests import T0


def queue_bytes(capacity_bps: int) -> dict[Service, int]:
    egress = intents_at((), line_network(capacity_bps=capacity_bps), T0)["r2"].egress[0]
    return {queue.service: queue.queue_bytes for queue in egress.queues}


@pytest.mark.parametrize(
    ("capacity_bps", "best_effort"),
    [
        (64_000, 30_000),
        (4_800_000, 30_000),
        (100_000_000, 625_000),
        (1_280_000_000, 8_000_000),
        (6_400_000_000, 8_000_000),
        (6_400_000_001, 8_000_000),
        (100_000_000_000, 8_000_000),
    ],
)
def test_the_scavengers_queue_is_a_fifth_of_best_efforts_at_every_capacity(
    capacity_bps: int, best_effort: int
) -> None:
    """It must lose before best effort does (D7.3 §8.1.3, requirement 1): also where best effort's queue is cut."""
    lengths = queue_bytes(capacity_bps)
    assert (lengths[Service.BEST_EFFORT], lengths[Service.QBSS]) == (best_effort, best_effort // 5)
