"""What `slotcar events --follow` prints of a push and of a boundary: `tests/golden/terminal/events-*.txt`.

After a wanted change: `UPDATE_GOLDEN=1 .venv/bin/pytest tests/golden/test_event_lines.py`, then read the diff.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from slotcar.cli.event_lines import COLUMNS, NARROW, PushLines, cells, narrow_cells
from slotcar.cli.tables import table_lines

FOLDER = Path(__file__).parent / "terminal"
REVISION, NEXT = "20270301T125952-0123456789abcdef", "20270301T150000-0123456789abcdef"
BOUNDARY, LATER = "2027-03-01T13:00:00+00:00", "2027-03-01T14:00:00+00:00"


def _event(
    number: int, kind: str, device: str | None = None, handle: str | None = None, **details: Any
) -> dict[str, Any]:
    at = f"2027-03-01T12:59:{number % 60:02}.123456Z"
    return {"sequence": number, "at": at, "kind": kind, "handle": handle, "device": device, "details": details}


def _push(
    first: int, revision: str, last: str, *devices: str, reservations: dict[str, Any] | None = None
) -> Iterable[dict[str, Any]]:
    for kind in ("push.started", last):
        of_start = {"reservations": reservations} if reservations is not None and kind == "push.started" else {}
        for device in devices:
            at = "2027-03-01T12:59:50+00:00"
            yield _event(first, kind, device, revision=revision, activate_at=at, lines=7, **of_start)
            first += 1


def _late(first: int, revision: str, **reservations: Any) -> Iterable[dict[str, Any]]:
    """A push at no boundary, which arms what ends later."""
    yield from _push(first, revision, "push.verified", "anl-edge", "anl-border", reservations=reservations)
    yield _event(first + 4, "push.armed", "anl-edge", revision=revision, at=LATER, until=LATER)


EVENTS = [
    _event(1, "reservation.committed", handle="r-0123456789abcde1", owner="hep", name="cms", actor="tester@cli"),
    *_push(2, REVISION, "push.verified", "anl-edge", "anl-border"),
    _event(6, "push.armed", "anl-edge", revision=REVISION, at=BOUNDARY, until=BOUNDARY),
    _event(7, "push.armed", "anl-border", revision=REVISION, at=BOUNDARY, until=BOUNDARY),
    _event(8, "boundary.staged", at=BOUNDARY, devices=["anl-border", "anl-edge"], revision=REVISION),
    _event(9, "boundary.active", at=BOUNDARY, devices=["anl-border", "anl-edge"], lag_us={}, revision=REVISION),
    _event(10, "push.withheld", handle="r-0123456789abcde1", devices=["anl-edge"], message="not active anywhere"),
    *_push(11, NEXT, "push.rolled-back", "anl-edge", "anl-border"),
    _event(15, "push.failed", "anl-edge", revision=NEXT, message="it does not answer"),
    # After their boundary: what was late, what somebody cancelled, what a change by hand had taken away.
    *_late(16, f"{REVISION}a", starting=["hep/cms"], ending=["hep/atlas"], boundary=BOUNDARY),
    *_late(21, f"{REVISION}b", ending=["hep/cms"], changing=["hep/lhcb"]),
    *_late(26, f"{REVISION}c", active=[f"hep/n{number}" for number in range(12)], not_named=3),
    *_late(31, f"{REVISION}d"),
]


def _followed() -> list[str]:
    names = {BOUNDARY: "+hep/cms, -hep/atlas", LATER: "-hep/cms"}
    pushes = PushLines(lambda boundary: names.get(boundary, ""))
    return [line for event in EVENTS for line in pushes.add(event)] + pushes.flush()


CASES: dict[str, Callable[[], list[str]]] = {
    "events-follow": _followed,
    "events-80": lambda: table_lines(NARROW, [narrow_cells(one) for one in EVENTS], 80),
    "events-long": lambda: table_lines(COLUMNS, [cells(one, long=True) for one in EVENTS], None),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_printed(case: str) -> None:
    lines = CASES[case]()
    shown = "".join(f"{line}\n" for line in lines)
    if os.environ.get("UPDATE_GOLDEN"):
        (FOLDER / f"{case}.txt").write_text(shown, encoding="utf-8")
    assert shown == (FOLDER / f"{case}.txt").read_text(encoding="utf-8")
    if case != "events-long":
        assert REVISION not in shown
    if case == "events-80":
        assert all(len(line) <= 80 for line in lines)


def test_a_push_is_one_line_and_what_has_only_begun_is_none() -> None:
    pushes = PushLines(lambda boundary: "")
    begun = list(_push(1, REVISION, "push.verified", "a", "b"))
    assert [line for event in begun[:2] for line in pushes.add(event)] + pushes.flush() == []
    assert [line for event in begun[2:] for line in pushes.add(event)] == []
    assert len(pushes.flush()) == 1
    assert pushes.flush() == []
