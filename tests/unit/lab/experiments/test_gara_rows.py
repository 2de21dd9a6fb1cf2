"""The verdicts of a background beside foregrounds, out of made-up streams: what a starved sender loses shows nothing."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from slotcar_lab.experiments import gara
from slotcar_lab.experiments.figures import Phase
from slotcar_lab.experiments.gara import BACKGROUND, PAYLOAD_BYTES, Follower, Foreground
from slotcar_lab.experiments.model import Verdict
from slotcar_lab.metrics.model import Delay

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


def verdicts(
    background: tuple[Delay, ...], foreground: tuple[Delay, ...], *unsent: int
) -> dict[str, tuple[Verdict, str]]:
    streams = {BACKGROUND: background, "first": foreground}
    senders = gara._Senders(RATES_BPS, {"first": 3_000_000}, {"first": FOREGROUND_PS}, unsent or (0, 0))
    follower = cast(Follower, SimpleNamespace(rates_bps=RATES_BPS, notices_s=[30.0]))
    rows = gara._loss_rows(streams, follower, [PART], senders, fit=True)
    return {row.figure: (row.verdict, row.note) for row in rows}


STEADY = stream(steady(PACKETS_PS, 45.0, 70.0))
FOREGROUNDS = stream(steady(FOREGROUND_PS, 50.0, 70.0))
REDUCTIONS, LOST = gara.NO_LOSS.figure, gara.FOREGROUND_LOSS.figure


def test_what_is_sent_as_it_was_told_and_arrives_is_as_promised() -> None:
    rows = verdicts(STEADY, FOREGROUNDS, 7, 0)
    assert rows[REDUCTIONS][0] is Verdict.AS_PROMISED
    assert "7 in the whole run not sent, for the sender was late" in rows[REDUCTIONS][1]
    assert rows[LOST][0] is Verdict.AS_THE_PAPER


def test_what_the_routers_lose_of_a_sender_that_kept_to_its_rate_differs() -> None:
    lost = stream(steady(PACKETS_PS, 45.0, 70.0), lost=range(600, 605))
    assert verdicts(lost, FOREGROUNDS)[REDUCTIONS][0] is Verdict.DIFFERS


def test_what_a_starved_sender_loses_by_catching_up_is_not_shown() -> None:
    """It paused for a second, and then sent all of that at once."""
    stamps = steady(PACKETS_PS, 45.0, 51.0) + [52.0] * int(PACKETS_PS) + steady(PACKETS_PS, 52.0, 70.0)
    first = len(steady(PACKETS_PS, 45.0, 51.0)) + 20
    verdict, note = verdicts(stream(stamps, lost=range(first, first + 40)), FOREGROUNDS)[REDUCTIONS]
    assert verdict is Verdict.NOT_SHOWN
    assert "the sender of background was starved" in note
    assert "above its rate and its bucket" in note


def test_a_foreground_that_was_not_sent_as_asked_shows_nothing_of_its_loss_alone() -> None:
    starved = stream(steady(0.8 * FOREGROUND_PS, 50.0, 70.0))
    rows = verdicts(STEADY, starved)
    verdict, note = rows[LOST]
    assert verdict is Verdict.NOT_SHOWN
    assert "the sender of first was starved: it sent 80 % of what it was to" in note
    assert rows[REDUCTIONS][0] is Verdict.AS_PROMISED
