"""An SLS with figures, streams that a probe measured of it, and windows as they are kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from slotcar.base.timebase import to_us
from slotcar.base.vocabulary import Service
from slotcar.measuring.audits.histogram import histogram_of
from slotcar.measuring.audits.streams import MeasuredStream
from slotcar.measuring.metrics.model import Stamp
from slotcar.network.model import InterfaceId, Sls
from slotcar.store.audits import HOUR_S, AuditedWay, AuditWindow

BEGIN = datetime(2030, 6, 3, 12, tzinfo=UTC)
WAY = AuditedWay("x-y", "near", "far")
HOUR_US = HOUR_S * 1_000_000


def sls_of(**more: Any) -> Sls:
    """20 ms, 5 ms and 0.1 % of premium, for all packets."""
    figures = {"delay_us": 20_000, "variation_us": 5_000, "loss_ppm": 1_000}
    return Sls(
        name="x-y", upstream="x", downstream="y", service=Service.IP_PREMIUM, rate_bps=10_000_000, burst_bytes=50_000,
        ingress=InterfaceId(device="y1", name="eth1"), **{**figures, **more},
    )  # fmt: skip


def stream_of(
    delays_us: Sequence[int | None], start: datetime = BEGIN, interval_us: int = 100_000, **more: Any
) -> MeasuredStream:
    start_us = to_us(start)
    stamps = tuple(
        Stamp(number, start_us + number * interval_us, None if one is None else start_us + number * interval_us + one)
        for number, one in enumerate(delays_us)
    )
    given = {"clock_error_us": 100, "variation_error_us": 100, **more}
    return MeasuredStream(way=WAY, start_us=start_us, interval_us=interval_us, packets=stamps, **given)


def window_of(
    delays_us: Sequence[int] = (10_000,) * 20_000, variations_us: Sequence[int] = (100,) * 20_000, **more: Any
) -> AuditWindow:
    """A whole hour that is within the figures of `sls_of`."""
    given = {
        "measured_us": HOUR_US, "arrived_packets": len(delays_us), "clock_error_us": 100, "variation_error_us": 100,
        "least_delay_us": min(delays_us, default=None), **more,
    }  # fmt: skip
    return AuditWindow(
        way=WAY, step_s=HOUR_S, start_us=to_us(BEGIN), delays=histogram_of(delays_us),
        variations=histogram_of(variations_us), **given,
    )  # fmt: skip
