"""What routers with hardware let through at once of an aggregate that they shape towards an SLS."""

from __future__ import annotations

from slotcar.base.units import format_bytes_about
from slotcar.base.vocabulary import LONGEST_PACKET_BYTES
from slotcar.network.shaping import Shaper
from slotcar.platforms.model import Unrenderable

#: A shaper's bucket holds what its rate brings in this time, a tick of IOS's, and a full frame at least.
TICK_US = 4_000
LEAST_BUCKET_BYTES = LONGEST_PACKET_BYTES + 38


def bucket_bytes(shaper: Shaper, where: str) -> int:
    """The shaper's bucket.

    Raises:
        Unrenderable: the SLS's policer may drop of what it lets through at once: its own bucket is not a frame longer.
    """
    size_bytes = max(LEAST_BUCKET_BYTES, shaper.rate_bps * TICK_US // 8_000_000)
    require_room(shaper, size_bytes + LEAST_BUCKET_BYTES, where)
    return size_bytes


def require_room(shaper: Shaper, at_once_bytes: int, where: str) -> None:
    """
    Raises:
        Unrenderable: more may come to the SLS's policer at once than its bucket takes.
    """
    if at_once_bytes > shaper.burst_bytes:
        raise Unrenderable(
            f"{where}: {format_bytes_about(at_once_bytes, up=True)} of what is shaped towards an SLS may leave at once, and"
            f" its `burst` is {format_bytes_about(shaper.burst_bytes)}: agree on a larger one, or leave out `shape_to_sls`"
        )
