"""The sender's token bucket: how long to wait before a packet, so that a policer with the same numbers drops none. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Bucket:
    """Full at first. `rate_bps` and `depth_bytes` are of IP packets; `at_s` is of a clock that does not go back."""

    rate_bps: int
    depth_bytes: int
    at_s: float
    _bytes: float = -1.0

    def __post_init__(self) -> None:
        if self._bytes < 0:
            self._bytes = float(self.depth_bytes)

    def take(self, size_bytes: int, at_s: float) -> float:
        """Takes a packet's bytes, and gives the seconds until it may leave; what was taken before leaves before.

        A packet larger than the bucket leaves once the bucket is full.
        """
        self._bytes = min(float(self.depth_bytes), self._bytes + max(0.0, at_s - self.at_s) * self.rate_bps / 8)
        self.at_s = max(self.at_s, at_s)
        self._bytes -= size_bytes
        missing = -self._bytes - max(0, size_bytes - self.depth_bytes)
        return max(0.0, missing * 8 / self.rate_bps)

    def change(self, rate_bps: int, depth_bytes: int, at_s: float) -> None:
        """Other numbers from now on; what is in it stays, as far as it has room."""
        self.take(0, at_s)
        self.rate_bps, self.depth_bytes = rate_bps, depth_bytes
        self._bytes = min(self._bytes, float(depth_bytes))
