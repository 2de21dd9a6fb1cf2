"""Closeness C of two hosts, in [0, 1] (D7.3 §5.2.1): 0 unreachable, 1 the same host or LAN. The formula: ADR 76. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from slotcar.measuring.costs.estimates import MILLION, Estimate, Interval

#: At this round trip beside none, the part of the round trip is a half; at this throughput beside any, that of throughput;
#: and with this loss beside none, that of loss.
HALF_RTT_US, HALF_BPS, HALF_LOSS_PPM = 50_000, 100_000_000, 10_000


@dataclass(frozen=True, slots=True)
class Metrics:
    """What was measured of a way; None of what was not.

    Attributes:
        local: both ends are one host, or on one LAN, which is taken for fast and free (D7.3 §5.2.1).
    """

    rtt: Estimate | None = None
    throughput: Estimate | None = None
    loss: Estimate | None = None
    local: bool = False


@dataclass(frozen=True, slots=True)
class Closeness:
    """In parts per million. `interval`: what it is between, by the 68 % intervals of what was measured.

    Attributes:
        unmeasured: which of `rtt`, `throughput` and `loss` nobody measured: they are left out of the formula.
    """

    ppm: int
    interval: Interval
    unmeasured: tuple[str, ...] = ()

    @property
    def error_ppm(self) -> int:
        return max(self.interval.high - self.ppm, self.ppm - self.interval.low)


def closeness(metrics: Metrics, alpha_ppm: int) -> Closeness | None:
    """None where neither round trip nor throughput was measured: that a way is not known says nothing against it.

    Args:
        alpha_ppm: the weight of throughput beside that of the round trip, parts per million.
    """
    if metrics.local:
        return Closeness(MILLION, Interval(MILLION, MILLION))
    rtt, rate, lost = metrics.rtt, metrics.throughput, metrics.loss
    if rtt is None and rate is None and (lost is None or lost.value < MILLION):
        return None
    names = ("rtt", "throughput", "loss")
    missing = tuple(name for name, known in zip(names, (rtt, rate, lost), strict=True) if known is None)
    farthest = formula_ppm(_high(rtt), _low(rate), _high(lost), alpha_ppm)
    nearest = formula_ppm(_low(rtt), _high(rate), _low(lost), alpha_ppm)
    middle = formula_ppm(_middle(rtt), _middle(rate), _middle(lost), alpha_ppm)
    return Closeness(middle, Interval(farthest, nearest), missing)


def _low(known: Estimate | None) -> int | None:
    return known.middle68.low if known else None


def _middle(known: Estimate | None) -> int | None:
    return known.value if known else None


def _high(known: Estimate | None) -> int | None:
    return known.middle68.high if known else None


def formula_ppm(rtt_us: int | None, rate_bps: int | None, loss_ppm: int | None, alpha_ppm: int) -> int:
    """C = R^(1-alpha) · T^alpha · L, where R = 1 / (1 + rtt / 50 ms), T = rate / (rate + 100 Mbit/s) and
    L = (1 - loss) / (1 + loss / 1 %).

    What is None is left out; of round trip and throughput the other has all of the weight then. Without throughput, and
    where all packets are lost, C is 0, whatever alpha is.
    """
    if rate_bps == 0 or (loss_ppm is not None and loss_ppm >= MILLION):
        return 0
    alpha = alpha_ppm / MILLION if rtt_us is not None and rate_bps is not None else float(rate_bps is not None)
    result = 1.0
    if rtt_us is not None:
        result *= (HALF_RTT_US / (HALF_RTT_US + max(0, rtt_us))) ** (1 - alpha)
    if rate_bps is not None:
        result *= (rate_bps / (rate_bps + HALF_BPS)) ** alpha
    if loss_ppm is not None:
        result *= (1 - loss_ppm / MILLION) * HALF_LOSS_PPM / (HALF_LOSS_PPM + max(0, loss_ppm))
    return min(MILLION, max(1, round(result * MILLION)))  # 0 is for what is not reached
