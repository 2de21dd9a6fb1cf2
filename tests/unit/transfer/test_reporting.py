"""What a transfer shows: figures, a line on a terminal, documents elsewhere."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta

from slotcar_transfer.counting import Count
from slotcar_transfer.lanes import Steering
from slotcar_transfer.profile import Profile, Step
from slotcar_transfer.reporting import Display, Figures, Meter, duration_text, line_of

T0 = datetime(2027, 3, 1, tzinfo=UTC)


def measured() -> Figures:
    """8 MB of 100 MB in a second of each connection's, half of it promised."""
    at = [0.0]
    count, steering = Count(), Steering(Profile((Step(T0, 40_000_000),)))
    count.begin(100_000_000, 3, 0, 0)
    meter = Meter(count, steering, T0 + timedelta(seconds=20), clock=lambda: at[0])
    meter.figures(T0)
    count.add("base", 5_000_000)
    count.add("additional", 3_000_000)
    at[0] = 1.0
    return meter.figures(T0)


def test_rates_ends_and_margin() -> None:
    figures = measured()
    assert (figures.base_bps, figures.additional_bps, figures.committed_bps) == (40_000_000, 24_000_000, 40_000_000)
    assert figures.expected_end == T0 + timedelta(seconds=11.5)
    assert figures.promised_end == T0 + timedelta(seconds=18.4)
    assert figures.margin_s == 8


def test_a_line_on_a_terminal_is_written_over() -> None:
    shown = io.StringIO()
    display = Display(io.StringIO(), shown, bar=True)
    display.show(measured())
    display.say("something has changed")
    line = "[#                       ]   8% base 40.0 of 40.0, additional 24.0 Mbit/s, 92 MB remain, margin 0:00:08"
    assert line_of(measured()) == line
    assert shown.getvalue() == f"\r\x1b[K{line}\r\x1b[Ksomething has changed\n"


def test_elsewhere_each_line_is_a_document() -> None:
    out = io.StringIO()
    display = Display(out, io.StringIO())
    display.show(measured())
    display.say("words")
    display.end({"event": "done"}, "")
    documents = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [one["event"] for one in documents] == ["progress", "message", "done"]
    assert documents[0]["remaining_bytes"] == 92_000_000
    assert documents[0]["deadline"] == "2027-03-01T00:00:20.000Z"


def test_nobody_reads_any_more_and_it_goes_on() -> None:
    class Closed(io.StringIO):
        def write(self, _text: str) -> int:
            raise BrokenPipeError

    Display(Closed(), Closed()).show(measured())


def test_a_duration() -> None:
    assert [duration_text(one) for one in (0, 61, -3_725)] == ["0:00:00", "0:01:01", "-1:02:05"]


def test_nothing_comes_after_the_last_document() -> None:
    """A program reads the last line; the reservation's own thread may have words until this process ends."""
    out = io.StringIO()
    display = Display(out, io.StringIO())
    display.end({"event": "done"}, "done")
    display.say("the reservation is cancelled")
    display.show(measured())
    display.end({"event": "done"}, "done again")
    assert [json.loads(line) for line in out.getvalue().splitlines()] == [{"event": "done"}]
