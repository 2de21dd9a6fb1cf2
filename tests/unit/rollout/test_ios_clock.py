"""How far a router's clock is off, by what it prints."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from slotcar.rollout.ios.clock import ahead_us

NOW = datetime(2026, 11, 21, 18, 4, 0, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("printed", "ahead"),
    [
        ("18:04:05.125 UTC Sat Nov 21 2026", 5_125_000),
        ("*18:03:00.000 UTC Sat Nov 21 2026\n", -60_000_000),
        (".17:04:00.000 GMT Sat Nov 21 2026", -3_600_000_000),
        ("19:04:02.500 CET Sat Nov 21 2026", 2_500_000),
        ("23:33:57.000 IST Sat Nov 21 2026", -3_000_000),
        ("18:04:05.125 UTC Mon Nov 2 2026", -19 * 86_400_000_000 + 5_125_000),
        ("*00:00:00.000 UTC Mon Feb 30 1993", None),
        ("% Invalid input", None),
    ],
)
def test_ahead_is_told_outside_utc_up_to_quarters_of_an_hour(printed: str, ahead: int | None) -> None:
    assert ahead_us(printed, NOW) == ahead
