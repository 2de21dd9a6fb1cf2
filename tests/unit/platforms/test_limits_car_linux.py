"""What CAR and Linux refuse, because their `Capability` tables end below it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from slotcar.network.model import Device
from slotcar.platforms import Unrenderable, renderer_of
from slotcar.platforms.intent import QosIntent
from tests.unit.platforms.worlds import entry, intents, network


def a_flow(platform: str, **changes: int) -> tuple[QosIntent, Device]:
    where = network(platform)
    with_flows = next(intent for intent in intents(where, entry(where)).values() if intent.flows)
    return replace(with_flows, flows=(replace(with_flows.flows[0], **changes),)), where.devices[with_flows.device]


@pytest.mark.parametrize(
    ("platform", "changes", "problem"),
    [
        ("cisco-car", {"cir_bps": 2_000_000_001}, "rate of 2.001 Gbit/s wanted, 2 Gbit/s at most"),
        ("cisco-car", {"cbs_bytes": 512_000_001}, "burst of 512.1 MB wanted, 512 MB at most"),
        ("linux-tc", {"cir_bps": 10**12}, "rate of 1 Tbit/s wanted, 999.9 Gbit/s at most"),
        ("linux-tc", {"cbs_bytes": 2**32}, "burst of 4.295 GB wanted, 4.294 GB at most"),
    ],
)
def test_what_is_out_of_range_is_refused_with_both_numbers(
    platform: str, changes: dict[str, int], problem: str
) -> None:
    intent, device = a_flow(platform, **changes)
    with pytest.raises(Unrenderable, match=f"^{intent.flows[0].interface}: a policer's {problem}$"):
        renderer_of(device).configuration(intent, device)


@pytest.mark.parametrize(
    ("platform", "changes", "words"),
    [
        ("cisco-car", {"cir_bps": 1_999_999_999, "cbs_bytes": 8_000}, "2000000000 1000000 1000000 conform"),
        ("linux-tc", {"cir_bps": 999_998_999_999}, "police rate 999999000000bit"),
    ],
)
def test_the_ends_of_the_range_are_taken(platform: str, changes: dict[str, int], words: str) -> None:
    intent, device = a_flow(platform, **changes)
    assert words in renderer_of(device).configuration(intent, device).text
