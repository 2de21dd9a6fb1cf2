"""What a terminal of 80 columns shows, and a pipe, word for word: `tests/golden/terminal/CASE.txt`.

After a wanted change: `UPDATE_GOLDEN=1 .venv/bin/pytest tests/golden/test_terminal.py`, then read the diff.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from slotcar.book.model import Entry, State
from slotcar.book.slot_now import SlotNow, SlotState
from slotcar.cli.listing import BOUNDARIES, RESERVATIONS, boundary_row, reservation_row
from slotcar.cli.output import shown as as_shown
from slotcar.cli.tables import Column, Row, table_lines
from slotcar.cli.watching import StatusPicture, drawing, line
from slotcar.cli.zones import choose_zone
from slotcar.reservation.model import Endpoint
from slotcar.views.documents import entry_document, timeline_document
from slotcar.views.timeline import TimelineQuery, timeline
from tests.support.requests import T0, at, reservation
from tests.unit.views.test_timeline import entry, log

FOLDER = Path(__file__).parent / "terminal"
NOW = at(70)
DAY = 24 * 60
ENDS: dict[str, Any] = {
    "source": Endpoint(host="anl-premium"),
    "destination": Endpoint(host="lbnl-premium", port=5001),
}
ROUTERS = "anl-edge anl-border esnet-core lbnl-border lbnl-edge"


def _entry(number: int, name: str, rate_bps: int, *slots: tuple[int, int], state: State = State.COMMITTED) -> Entry:
    slotted = entry(number, *slots, devices=ROUTERS)
    request = reservation(name, rate_bps, **ENDS).over(slotted.reservation.windows)
    return replace(slotted, handle=f"r-0123456789abcde{number}", reservation=request, state=state)


def _with_slot(one: Entry, number: int, state: SlotState, why: str = "") -> Entry:
    windows = one.reservation.windows
    return replace(one, slot=SlotNow(number, len(windows), windows[number - 1], state, NOW, why))


ENTRIES = (
    _with_slot(_entry(1, "cms-tonight", 36_000_000, (60, 180)), 1, SlotState.FAILED, "anl-edge: it takes no push"),
    _with_slot(
        _entry(2, "atlas", 20_500_000, (0, 60), (DAY, DAY + 60), (2 * DAY, 2 * DAY + 60)), 2, SlotState.PLANNED
    ),
    _entry(3, "lhcb", 1_000_000, (-60, 60), (60, 120), state=State.HELD),
)
ITEMS = [
    timeline_document(one)
    for one in timeline(
        ENTRIES,
        log(
            *(
                ("boundary.active", 3600, router, {"at": at(60).isoformat(), "lag_us": 40_000})
                for router in ROUTERS.split()[1:]
            ),
            ("boundary.failed", 3600, "anl-edge", {"at": at(60).isoformat(), "message": "it does not answer"}),
        ),
        TimelineQuery(T0 - timedelta(hours=2), at(2 * DAY + 100)),
        NOW,
    )
]  # fmt: skip

CASES: dict[str, tuple[Sequence[Column], Sequence[Row], int | None]] = {
    "status-80": (RESERVATIONS, [reservation_row(entry_document(one), NOW) for one in ENTRIES], 80),
    "status-80-zone": (RESERVATIONS, [reservation_row(entry_document(one), NOW) for one in ENTRIES], 80),
    "status-160": (RESERVATIONS, [reservation_row(entry_document(one), NOW) for one in ENTRIES], 160),
    "status-pipe": (RESERVATIONS, [reservation_row(entry_document(one), NOW) for one in ENTRIES], None),
    "timeline-80": (BOUNDARIES, [boundary_row(one, NOW, narrow=True) for one in ITEMS], 80),
    "timeline-pipe": (BOUNDARIES, [boundary_row(one, NOW) for one in ITEMS], None),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Iterator[str]:
    choose_zone("Europe/Zurich" if request.param.endswith("-zone") else "UTC")
    yield request.param
    choose_zone(None)


def test_what_is_shown(case: str) -> None:
    columns, given, width = CASES[case]
    rows = [[as_shown(cell) for cell in row] for row in given]
    shown = "".join(f"{line}\n" for line in table_lines(columns, rows, width))
    if os.environ.get("UPDATE_GOLDEN"):
        (FOLDER / f"{case}.txt").write_text(shown, encoding="utf-8")
    assert shown == (FOLDER / f"{case}.txt").read_text(encoding="utf-8")
    if width is not None:
        assert all(len(line) <= width for line in shown.splitlines())


def test_what_is_watched() -> None:
    """`status --watch`: a claim about devices never stands without the age of the reading that it rests on."""
    controller = {
        "leading": True, "settled": True, "reconciles": True, "error": "",
        "checked_at": (NOW - timedelta(minutes=3, seconds=7)).isoformat(),
        "phases": dict.fromkeys(ROUTERS.split()[1:], "active") | {"anl-edge": "failed"},
        "troubles": {"anl-edge": "it does not answer"},
    }  # fmt: skip
    picture = StatusPicture(NOW, controller, ITEMS[1], tuple(ITEMS[2:5]))
    written = io.StringIO()
    Console(width=80, file=written).print(drawing(picture, 80))
    shown = f"{written.getvalue()}\n{line(picture)}\n"
    if os.environ.get("UPDATE_GOLDEN"):
        (FOLDER / "watch.txt").write_text(shown, encoding="utf-8")
    assert shown == (FOLDER / "watch.txt").read_text(encoding="utf-8")
    unknown: dict[str, Any] = {"checked_at": None, "settled": False, "phases": {}}
    assert "leads, 1 device takes no push;" in line(replace(picture, controller=controller | unknown))
    unread = line(replace(picture, controller=controller | unknown | {"troubles": {}}))
    assert "leads, at work on the devices" in unread
    assert " ago;" not in unread.split("next boundary")[0]


@pytest.mark.parametrize("columns", [RESERVATIONS, BOUNDARIES], ids=["status", "timeline"])
def test_the_order_in_which_columns_are_left_out_is_as_documented(columns: Sequence[Column]) -> None:
    in_turn = sorted((one.leave_out, one.title) for one in columns if one.leave_out is not None)
    document = (FOLDER.parents[2] / "docs" / "howto" / "operate.md").read_text(encoding="utf-8")
    assert f"leaves out {', '.join(f'`{title}`' for _, title in in_turn)}, " in " ".join(document.split())
