"""How iproute2 6.1 writes rates and sizes, and what becomes of a bucket on its way into the kernel and back.

`tc_util.c`: print_rate, print_size; `tc_core.c`: tc_calc_xmittime, tc_calc_xmitsize. The packet scheduler's clock ticks
every 64 ns.
"""

from __future__ import annotations

TICKS_IN_US = 15.625


def rate_text(rate_bps: int) -> str:
    units, unit = ["", "K", "M", "G", "T"], 0
    while unit < 4 and rate_bps >= 1000 and (rate_bps % 1000 == 0 or rate_bps >= 1_000_000):
        rate_bps //= 1000
        unit += 1
    return f"{rate_bps}{units[unit]}bit"


def size_text(size: int) -> str:
    for unit, name, near in ((1 << 20, "Mb", 1024), (1 << 10, "Kb", 16)):
        whole = unit * round(size / unit)
        if size >= unit and abs(whole - size) < near:
            return f"{whole // unit}{name}"
    return f"{size}b"


def time_text(time_us: int) -> str:
    for unit, name in ((1_000_000, "s"), (1_000, "ms")):
        if time_us >= unit:
            return f"{time_us / unit:.3g}{name}"
    return f"{time_us}us"


def shown_bucket(rate_bps: int, size: int) -> str:
    octets_per_s = rate_bps // 8
    ticks = int(int(1_000_000 * (size / octets_per_s)) * TICKS_IN_US)
    return size_text(int(octets_per_s * int(ticks / TICKS_IN_US) / 1_000_000))
