"""The pace of the base connection: what late timers and halved windows left unsent is made up for. Pure.

The kernel sends no packet before its time, and on a busy host many after it: a pace that is the committed rate gives less
than that rate. So the pace is raised by what is behind; since the beginning no more is sent than the committed rate allows,
which a policer with a bucket lets through.
"""

from __future__ import annotations

from dataclasses import dataclass

#: More than this time's bytes are not made up for: a policer's bucket holds a round-trip time of its rate, of which GARA's
#: usual bound is 50 ms (§5.1).
MOST_BEHIND_S = 0.05
#: In how long it is made up for: the pace is so at most a fifth above the rate.
CATCH_UP_S = 0.25


@dataclass(frozen=True, slots=True)
class Pace:
    """
    Attributes:
        sent_bytes: that TCP has sent, at `at_s` of a clock that does not go back.
        behind_bytes: what the rate allowed and was not sent; negative where more was sent.
    """

    sent_bytes: int
    at_s: float
    behind_bytes: float = 0.0

    def after(self, payload_bps: int, sent_bytes: int, at_s: float) -> Pace:
        """At a later time, after the rate `payload_bps` since this one."""
        behind = self.behind_bytes + payload_bps / 8 * (at_s - self.at_s) - (sent_bytes - self.sent_bytes)
        most = payload_bps / 8 * MOST_BEHIND_S
        return Pace(sent_bytes, at_s, max(-most, min(most, behind)))

    def wanted_bps(self, payload_bps: int) -> int:
        """What the kernel is told, so that the mean is `payload_bps`."""
        return payload_bps + int(max(0.0, self.behind_bytes) * 8 / CATCH_UP_S)
