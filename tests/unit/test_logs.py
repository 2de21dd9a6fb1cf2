"""What is logged is one line each, whatever a client, a device or another end said."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import structlog

from slotcar.api import serving
from slotcar.base import logs as of_controller
from slotcar_transfer import logs as of_mover

FORGED = "in\n2026-11-28 12:00:00 lbnl: receives all: done\x1b[2J\r\x85\u2028x"
FORMATTERS = (of_controller.OneLine, of_mover.OneLine)


@contextmanager
def logger(formatter: Callable[[str], logging.Formatter]) -> Iterator[tuple[logging.Logger, io.StringIO]]:
    stream, one = io.StringIO(), logging.Logger("test")
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter("%(levelname)s %(message)s"))
    one.addHandler(handler)
    yield one, stream


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_a_record_is_one_line(formatter: Callable[[str], logging.Formatter]) -> None:
    with logger(formatter) as (log, stream):
        log.warning("%s: receives %s", "lbnl", FORGED)
        log.warning(FORGED)
    for line in stream.getvalue().removesuffix("\n").split("\n"):
        assert line.isprintable()
        assert line.startswith("WARNING")
    assert stream.getvalue().count("\n") == 2


@pytest.mark.parametrize("formatter", FORMATTERS)
def test_what_an_exception_quotes_begins_no_line(formatter: Callable[[str], logging.Formatter]) -> None:
    with logger(formatter) as (log, stream):
        try:
            raise ValueError(FORGED)
        except ValueError:
            log.exception("a fault")
    first, *rest = stream.getvalue().removesuffix("\n").split("\n")
    assert first == "ERROR a fault"
    assert all(line.startswith("    ") and line.isprintable() for line in rest)


@pytest.mark.parametrize("terminal", [True, False])
def test_an_event_of_the_controller_is_one_line(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: terminal)
    monkeypatch.setattr("sys.stderr", stream)
    before = structlog.get_config()
    root = logging.getLogger()
    handlers = root.handlers[:]
    root.handlers.clear()
    try:
        serving._configure_logs()
        log = structlog.get_logger("slotcar.test")
        log.warning("device drifted", device=FORGED, what={"lines": [FORGED]}, more=(FORGED,))
        try:
            raise ValueError(FORGED)
        except ValueError:
            log.exception("a page failed", path=FORGED)
        logging.getLogger("uvicorn.error").warning("%s", FORGED)
    finally:
        root.handlers[:] = handlers
        structlog.configure(**before)
    lines = stream.getvalue().removesuffix("\n").split("\n")
    assert not any(line.startswith("2026-11-28 12:00:00") for line in lines)
    shown = stream.getvalue().replace("\x1b[", "") if terminal else stream.getvalue()
    assert not any(one in shown for one in ("\x1b", "\r", "\x85", "\u2028"))
    assert "2J" in shown
    if not terminal:
        assert json.loads(lines[0])["event"] == "device drifted"


def test_handlers_that_are_there_keep_their_form_and_all_their_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """They belong to the program that runs the controller. Pytest's own handler would lose records of later cases."""
    before = structlog.get_config()
    root = logging.getLogger()
    handler = logging.NullHandler()
    monkeypatch.setattr(root, "handlers", [handler])
    try:
        serving._configure_logs()
    finally:
        structlog.configure(**before)
    assert root.handlers == [handler]
    assert (handler.formatter, handler.filters) == (None, [])


def test_the_mover_serves_with_such_a_log() -> None:
    """Its log is where it was found: the place that another end names to write to."""
    record = logging.LogRecord("x", logging.INFO, "f", 1, "%s: %s", ("anl", f"receives {FORGED}"), None)
    assert of_mover.OneLine("%(asctime)s %(message)s").format(record).isprintable()
