"""The two connections of a sender: the base one is paced by its profile and has its window by the round-trip time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from slotcar_transfer import tcp, window
from slotcar_transfer.pacing import Pace
from slotcar_transfer.profile import Profile
from slotcar_transfer.tcp import ADDITIONAL, BASE
from slotcar_transfer.wire import Channel

#: How often rates and windows are looked at.
LOOK_S = 0.1
#: A new connection has no measurement yet: GARA's usual bound (§5.1).
FIRST_RTT_US = 50_000
#: The window limits what is on the way, the buffer holds what waits beside it.
WAITING_S = 0.1


@dataclass
class Steering:
    """What the sender goes by; it may be changed while it sends.

    Attributes:
        profile: of the base connection; None for a transfer without a reservation: one connection, without a limit.
        packet_bytes: that the reservation counts headers for.
        dscps: the code point of each connection.
        additional: whether there is an additional connection at all.
        known: whether it was said already; nothing is sent before.
    """

    profile: Profile | None = None
    packet_bytes: int = 1500
    dscps: dict[str, int] = field(default_factory=dict)
    additional: bool = True
    controlled: bool = True
    known: bool = True
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    def base_bps(self) -> int | None:
        """The rate that the base connection may have now; None for any."""
        if not self.known:
            return 0
        return None if self.profile is None else self.profile.safe_rate(self.clock())

    def document(self) -> dict[str, object]:
        rows = None if self.profile is None else self.profile.rows()
        return {"profile": rows, "packet_bytes": self.packet_bytes, "dscps": self.dscps, "additional": self.additional}

    def take(self, document: dict[str, object]) -> None:
        """What the other end says with `document`."""
        rows, dscps = document.get("profile"), document.get("dscps")
        self.profile = Profile.of_rows(rows) if isinstance(rows, list) else None
        self.packet_bytes = int(str(document.get("packet_bytes") or 1500))
        self.dscps = {str(key): int(one) & 63 for key, one in dscps.items()} if isinstance(dscps, dict) else {}
        self.additional = bool(document.get("additional", True))
        self.known = True


class BaseControl:
    """Keeps the base connection at its rate."""

    def __init__(self, channel: Channel, steering: Steering) -> None:
        self._channel, self._steering = channel, steering
        self._rate_bps: int | None = -1
        self._window: window.Window | None = None
        self._pace: Pace | None = None
        self._buffer_bytes = 0

    def look(self) -> bool:
        """Sets what has changed; whether the connection may send now."""
        rate_bps = self._steering.base_bps()
        with suppress(OSError):
            if rate_bps is None:
                if self._rate_bps is not None:
                    tcp.pace(self._channel.socket, None)
            else:
                self._keep(rate_bps)
            self._rate_bps = rate_bps
        return rate_bps is None or rate_bps > 0

    def _keep(self, rate_bps: int) -> None:
        if rate_bps == 0:
            # Nothing is sent. A low pace would do harm: the kernel waits for a packet's length at the pace that it was
            # sent at, and goes on waiting when the pace is higher again.
            return
        now, at_s = tcp.info(self._channel.socket), time.monotonic()
        payload_bps = tcp.payload_of_committed(rate_bps, self._steering.packet_bytes, now.segment_bytes)
        if rate_bps != self._rate_bps or self._pace is None:
            self._pace = Pace(now.sent_bytes, at_s)
            self._window = window.first(rate_bps, now.rtt_us or FIRST_RTT_US)
        elif now.sent_bytes:
            self._pace = self._pace.after(payload_bps, now.sent_bytes, at_s)
        tcp.pace(self._channel.socket, self._pace.wanted_bps(payload_bps))
        if not self._steering.controlled:
            return
        assert self._window is not None
        self._window = window.after(self._window, rate_bps, now.rtt_us or FIRST_RTT_US, now.segment_bytes)
        # A buffer is changed when that matters, and not at each measurement.
        wanted = self._window.window_bytes + int(rate_bps / 8 * WAITING_S)
        if abs(wanted - self._buffer_bytes) * 8 > self._buffer_bytes:
            tcp.buffer(self._channel.socket, wanted)
            self._buffer_bytes = wanted


def prepare(lane: str, channel: Channel, steering: Steering) -> BaseControl | None:
    """Gives a connection what it is to have before it sends its first block; the control of a base connection."""
    with suppress(OSError):
        if lane in steering.dscps:
            tcp.mark(channel.socket, steering.dscps[lane])
    return BaseControl(channel, steering) if lane == BASE else None


def wanted_lanes(steering: Steering) -> tuple[str, ...]:
    """Without a reservation one connection does."""
    return (BASE, ADDITIONAL) if steering.profile is not None and steering.additional else (BASE,)


class Ticker:
    """Calls something every `LOOK_S` in a thread of its own, until it is closed."""

    def __init__(self, look: Callable[[], object]) -> None:
        self._look, self._over = look, threading.Event()
        self._thread = threading.Thread(target=self._run, name="ticker", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(LOOK_S):
            self._look()
