"""The verdicts of a background beside foregrounds, out of made-up streams."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from slotcar.measuring.metrics.model import Delay
from slotcar_lab.experiments import gara
from slotcar_lab.experiments.figures import Phase
from slotcar_lab.experiments.gara import BACKGROUND, PAYLOAD_BYTES, Follower, Foreground
from slotcar_lab.experiments.model import Verdict

#: The background is told 4 Mbit/s of payload, and 1 Mbit/s from 50 s on; the foreground has 3 Mbit/s of it.
RATES_BPS = {0.0: 4_000_000, 50.0: 1_000_000}
PACKETS_PS = gara.USED * 1_000_000 / 8 / PAYLOAD_BYTES
FOREGROUND_PS = 200.0
FOREGROUND = Foreground("first", 24, 18)
PART = gara._Part(Phase("first", 55.0, 65.0), FOREGROUND)


def stream(stamps_s: list[float], lost: range = range(0)) -> tuple[Delay, ...]:
    return tuple(Delay(n, round(at * 1e6), None if n in lost else 5_000) for n, at in enumerate(stamps_s))


def steady(packets_ps: float, since_s: float, until_s: float) -> list[float]:
    return [since_s + n / packets_ps for n in range(int((until_s - since_s) * packets_ps))]


def verdicts(background: tuple[Delay, ...], foreground: tuple[Delay, ...]) -> dict[str, Verdict]:
    streams = {BACKGROUND: background, "first": foreground}
    follower = cast(Follower, SimpleNamespace(rates_bps=RATES_BPS, notices_s=[30.0]))
    return {row.figure: row.verdict for row in gara._loss_rows(streams, follower, [PART])}


STEADY = stream(steady(PACKETS_PS, 45.0, 70.0))
FOREGROUNDS = stream(steady(FOREGROUND_PS, 50.0, 70.0))
REDUCTIONS, LOST = gara.NO_LOSS.figure, gara.FOREGROUND_LOSS.figure


def test_what_arrives_is_as_promised() -> None:
    rows = verdicts(STEADY, FOREGROUNDS)
    assert rows[REDUCTIONS] is Verdict.AS_PROMISED
    assert rows[LOST] is Verdict.AS_THE_PAPER


def test_a_packet_that_is_lost_at_a_reduction_differs() -> None:
    lost = stream(steady(PACKETS_PS, 45.0, 70.0), lost=range(600, 601))
    assert verdicts(lost, FOREGROUNDS)[REDUCTIONS] is Verdict.DIFFERS


def test_a_foreground_that_loses_more_than_one_of_a_thousand_differs() -> None:
    lost = stream(steady(FOREGROUND_PS, 50.0, 70.0), lost=range(1_500, 1_504))
    assert verdicts(STEADY, lost)[LOST] is Verdict.DIFFERS
