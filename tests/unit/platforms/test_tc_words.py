"""The oracle for buckets against what tc 6.1 printed of HTB classes that a kernel held."""

from __future__ import annotations

import pytest

from slotcar.platforms.linux_tc.numbers import parse_size, shown_bytes
from tests.unit.platforms.tc_words import shown_bucket

PRINTED = [
    (845_770_000, 253_731, "253731b"),
    (605_600_000, 115_955, "115821b"),
    (108_541_000, 1_953_739, "1953738b"),
    (730_136_000, 1_004_070, "1003937b"),
    (1_404_000_000, 966_530, "966303b"),
    (8_000, 2_000, "2000b"),
    (1_000_000_000, 262_144, "262000b"),
    (2_500_000_000, 1_500_000, "1500000b"),
    (16_000_000, 1_048_576, "1Mb"),
]


@pytest.mark.parametrize(("rate_bps", "size", "printed"), PRINTED)
def test_a_bucket_is_shown_as_tc_shows_it(rate_bps: int, size: int, printed: str) -> None:
    assert shown_bucket(rate_bps, size) == printed
    assert shown_bytes(rate_bps, size) == parse_size(printed)
