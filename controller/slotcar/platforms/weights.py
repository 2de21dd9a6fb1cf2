"""Weights of round robin schedulers: share j = W(j) / sum of W (D7.3 §8.1.1)."""

from __future__ import annotations

#: D7.3 §8.1.1: to isolate fully 20 Mb/s of its gigabit link took 8.5 times the weight, 80 Mb/s 3 times: so 2 % took
#: 17 %, and 8 % took 24 %. Between and above them the line through both; under 2 % no less than was measured there.
MEASURED_PPM = ((20_000, 170_000), (80_000, 240_000))


def overestimated_ppm(share_ppm: int) -> int:
    """The share to give by weight so that `share_ppm` is isolated fully (D7.3 §8.1.1), rounded up.

    >>> overestimated_ppm(20_000) / 20_000, overestimated_ppm(80_000) / 80_000
    (8.5, 3.0)
    """
    (first, first_taken), (second, second_taken) = MEASURED_PPM
    above = max(0, share_ppm - first)
    return first_taken + -(-above * (second_taken - first_taken) // (second - first))
