"""Numbers that survive the way into the kernel and back through tc's own rounding.

iproute2 stores a bucket as time in microseconds and then in ticks of 64 ns, truncating twice, and prints rates with at
least four digits and sizes in Kb or Mb where they come near (`tc_util.c`, `tc_core.c`). Slotcar gives only values that read
back as given, so that verifying is comparing.
"""

from __future__ import annotations

import re
from functools import lru_cache

from slotcar.platforms.linux_tc.facts import grain_bps as grain_bps
from slotcar.platforms.linux_tc.limits import LEAST_RATE_BPS

#: Ticks of the packet scheduler's clock in a microsecond (64 ns each, `/proc/net/psched`).
TICKS_IN_US = 15.625
#: A bucket is stored as at most 2**32 ticks; 200 s stays clear of it.
LONGEST_BUCKET_S = 200
LONGEST_TIME_US = 999_000_000

_UNITS = {"": 1, "K": 1_000, "M": 1_000_000, "G": 1_000_000_000, "T": 1_000_000_000_000}
_RATE = re.compile(r"^([0-9]+)([KMGT]?)bit$")
_SIZE = re.compile(r"^([0-9.]+)(b|Kb|Mb)$")
_TIME = re.compile(r"^([0-9.]+)(us|ms|s)$")
_TIME_UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000}
_SIZE_UNITS = {"b": 1, "Kb": 1024, "Mb": 1024 * 1024}


def rate_up(rate_bps: int) -> int:
    """The least rate that reads back as given and is not below `rate_bps`, and `LEAST_RATE_BPS` at least."""
    rate_bps = max(rate_bps, LEAST_RATE_BPS)
    grain = grain_bps(rate_bps)
    return -(-rate_bps // grain) * grain


def rate_down(rate_bps: int) -> int:
    """The greatest rate that reads back as given and is not above `rate_bps`, but `LEAST_RATE_BPS` at least."""
    rate_bps = max(rate_bps, LEAST_RATE_BPS)
    grain = grain_bps(rate_bps)
    return rate_bps // grain * grain


def parse_rate(text: str) -> int:
    """Bit/s of tc's `36985Kbit`.

    Raises:
        ValueError: not a rate.
    """
    match = _RATE.match(text)
    if match is None:
        raise ValueError(f"not a rate of tc: {text!r}")
    return int(match[1]) * _UNITS[match[2]]


def time_up(time_us: int) -> int:
    """The least time that reads back as given and is not below `time_us`: tc prints three digits from 1 ms on. What is
    longer than it prints without an exponent is cut to that."""
    time_us, grain = min(time_us, LONGEST_TIME_US), 1
    while time_us > 999 * grain:
        grain *= 10
    return -(-time_us // grain) * grain


def parse_time(text: str) -> int:
    """Microseconds of tc's `999us`, `12.3ms`, `1.5s`.

    Raises:
        ValueError: not a time.
    """
    match = _TIME.match(text)
    if match is None:
        raise ValueError(f"not a time of tc: {text!r}")
    return round(float(match[1]) * _TIME_UNITS[match[2]])


def parse_size(text: str) -> int:
    """Bytes of tc's `450Kb`, `1500b`; K and M are binary there.

    Raises:
        ValueError: not a size.
    """
    match = _SIZE.match(text)
    if match is None:
        raise ValueError(f"not a size of tc: {text!r}")
    return round(float(match[1]) * _SIZE_UNITS[match[2]])


def shown_bytes(rate_bps: int, bucket_bytes: int) -> int:
    """What a bucket of `bucket_bytes` at `rate_bps` is printed as, after both truncations and the printer's rounding."""
    rate = rate_bps // 8
    ticks = int(int(1e6 * (bucket_bytes / rate)) * TICKS_IN_US)
    stored = int(rate * float(int(ticks / TICKS_IN_US)) / 1e6)
    mebi, kibi = 1024 * 1024, 1024
    if stored >= mebi and abs(mebi * round(stored / mebi) - stored) < 1024:
        return mebi * round(stored / mebi)
    if stored >= kibi and abs(kibi * round(stored / kibi) - stored) < 16:
        return kibi * round(stored / kibi)
    return stored


#: A device's interfaces have few different rates, and each is looked for among dozens of sizes.
@lru_cache(maxsize=16_384)
def bucket_up(rate_bps: int, bucket_bytes: int) -> int:
    """The least bucket of a handy size that reads back as given at `rate_bps` and is not below `bucket_bytes`.

    Handy sizes are whole KiB (the printer rounds them back to themselves at low rates) and whole periods of 8 us (125
    ticks exactly). A bucket that the kernel cannot hold at a very low rate is cut to `LONGEST_BUCKET_S`.
    """
    rate = rate_bps // 8
    bucket_bytes = min(bucket_bytes, rate * LONGEST_BUCKET_S)
    kibi = -(-bucket_bytes // 1024)
    period = max(1, -(-bucket_bytes * 125_000 // rate))
    while True:
        candidates = [kibi * 1024]
        if rate * period % 125_000 == 0:
            candidates.append(rate * period // 125_000)
        for size in sorted(candidates):
            if size >= bucket_bytes and shown_bytes(rate_bps, size) == size:
                return size
        # The next larger candidate of the two series; one of them always meets its mark within 1000 periods.
        if (kibi * 1024) * 125_000 <= rate * period:
            kibi += 1
        else:
            period += 1
