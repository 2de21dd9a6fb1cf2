"""Times in the reader's zone: by an option, the environment or a context, in what people are shown and nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from slotcar.base.units import UnitError
from slotcar.cli.event_lines import narrow_cells
from slotcar.cli.output import Format, coloured_diff, complain, emit, hanging, print_table, stdout
from slotcar.cli.place import choose_context
from slotcar.cli.watching import StatusPicture, line
from slotcar.cli.zones import VARIABLE, choose_zone, in_readers_zone
from slotcar_client.contexts import Contexts

EVENING = "2027-03-01T21:00:00Z"
ZURICH = "2027-03-01T22:00+01:00"


@pytest.fixture(autouse=True)
def nothing_chosen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    for name in (VARIABLE, "SLOTCAR_API", "SLOTCAR_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    choose_context(None)
    choose_zone(None)
    yield
    monkeypatch.undo()
    choose_context(None)
    choose_zone(None)


def test_times_are_utc_where_nobody_says_a_zone() -> None:
    assert in_readers_zone(f"at {EVENING}") == f"at {EVENING}"


@pytest.mark.parametrize(
    ("utc", "local"),
    [
        ("2027-03-28T00:59:59Z", "2027-03-28T01:59:59+01:00"), ("2027-03-28T01:00:00Z", "2027-03-28T03:00+02:00"),
        ("2027-10-31T00:30:00Z", "2027-10-31T02:30+02:00"), ("2027-10-31T01:30:00Z", "2027-10-31T02:30+01:00"),
        ("2027-03-01T21:00:00.250000Z", "2027-03-01T22:00:00.250000+01:00"),
    ],
)  # fmt: skip
def test_each_instant_has_its_offset_in_the_nights_of_a_clock_change_too(utc: str, local: str) -> None:
    choose_zone("Europe/Zurich")
    assert in_readers_zone(f"from {utc}, or so") == f"from {local}, or so"
    assert datetime.fromisoformat(local) == datetime.fromisoformat(utc)


def test_what_only_looks_like_an_instant_stays() -> None:
    choose_zone("Europe/Zurich")
    for text in (
        "20270301T210000.000001Z-0a1b2c3d",
        "2027-03-01T21:00:00",
        "x2027-03-01T21:00:00Z",
        "2027-03-01",
        "2027-02-30T21:00:00Z",
    ):
        assert in_readers_zone(text) == text


def test_every_way_of_telling_people_shows_it_and_what_others_read_stays_utc(
    capsys: pytest.CaptureFixture[str],
) -> None:
    choose_zone("Europe/Zurich")
    print_table(("at",), [(EVENING,)], "none")
    stdout().print(f"until {EVENING}", markup=False)
    assert hanging(EVENING, 2) == ZURICH
    complain(f"is held until {EVENING}")
    coloured_diff([f"+remark made {EVENING}"])
    emit({"at": EVENING}, Format.JSON, lambda: None)
    printed = capsys.readouterr()
    at, above, until, diff, *document = printed.out.splitlines()
    assert (at, above.strip(), until) == ("at", ZURICH, f"until {ZURICH}")
    assert printed.err == f"is held until {ZURICH}\n"
    assert EVENING in diff, "a router's own line"
    assert json.loads("".join(document)) == {"at": EVENING}
    picture = StatusPicture(datetime.fromisoformat(EVENING), error="it does not answer")
    assert line(picture) == f"{ZURICH} it does not answer"


def test_a_narrow_event_of_the_same_day_has_the_time_alone() -> None:
    choose_zone("Europe/Zurich")
    event = {
        "sequence": 1, "at": EVENING, "kind": "push.armed", "device": "r1", "handle": None,
        "details": {"at": "2027-03-01T22:30:00Z"},
    }  # fmt: skip
    assert narrow_cells(event) == ("1", ZURICH, "push.armed", "r1: for 23:30+01:00")
    choose_zone("UTC")
    assert narrow_cells(event)[3] == "r1: for 22:30:00Z"


def test_the_option_goes_before_the_environment_and_that_before_the_context(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    contexts = Contexts(tmp_path / "slotcar")
    contexts.add("site", "http://127.0.0.1:1", None, timezone="Asia/Tokyo")
    choose_zone(None)
    assert in_readers_zone(EVENING) == "2027-03-02T06:00+09:00"
    choose_context("local")
    choose_zone(None)
    assert in_readers_zone(EVENING) == EVENING, "this machine's ledger is of no context"
    choose_context(None)
    monkeypatch.setenv(VARIABLE, "+05:30")
    choose_zone(None)
    assert in_readers_zone(EVENING) == "2027-03-02T02:30+05:30"
    choose_zone("Europe/Zurich")
    assert in_readers_zone(EVENING) == ZURICH
    contexts.set_timezone("site", "")
    monkeypatch.delenv(VARIABLE)
    choose_zone(None)
    assert in_readers_zone(EVENING) == EVENING


def test_a_zone_that_is_none_is_refused_before_anything_is_done() -> None:
    with pytest.raises(UnitError, match="is no time zone"):
        choose_zone("Europe/Nowhere")
