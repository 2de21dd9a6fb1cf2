"""How far a router's clock is from this machine's, by what `show clock` prints. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime

COMMAND = "show clock"
#: `*18:04:05.123 UTC Sat Nov 21 2026`: a star or a dot before it says that nobody has set it, or that NTP is lost.
_PRINTED = re.compile(r"[*.]?(\d\d:\d\d:\d\d\.\d{3}) (\S+) \w{3} (\w{3} +\d{1,2} \d{4})")
#: Zones differ from UTC by whole quarters of an hour, and a router does not say by how many.
_ZONE_US = 15 * 60 * 1_000_000


def ahead_us(printed: str, now_s: float) -> int | None:
    """Microseconds by which the router's clock is ahead; None where it does not say. Outside UTC only what is left after
    whole quarters of an hour, between -7.5 and 7.5 minutes.

    Args:
        printed: the answer to `COMMAND`.
        now_s: this machine's clock when it was given, seconds since the epoch.
    """
    match = _PRINTED.search(printed)
    if match is None:
        return None
    try:
        clock = datetime.strptime(f"{match[1]} {' '.join(match[3].split())}", "%H:%M:%S.%f %b %d %Y").replace(
            tzinfo=UTC
        )
    except ValueError:
        return None
    ahead = round((clock.timestamp() - now_s) * 1e6)
    return ahead if match[2] in ("UTC", "GMT") else (ahead + _ZONE_US // 2) % _ZONE_US - _ZONE_US // 2
