"""`slotcar timeline`: asked by time, device and reservation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import Cli

Write = Callable[..., Path]
FROM = ("--from", "2027-03-01T00:00:00Z", "--until", "2027-03-01T23:30:00Z")
START, END = "2027-03-01T21:00:00Z", "2027-03-01T23:00:00Z"


@pytest.fixture
def applied(cli: Cli, reservations: Write) -> Cli:
    done = cli("apply", reservations({}, {"name": "atlas", "rate": "1 Mbit/s", "duration": "PT3H"}), "--yes")
    assert done.code == 0, done.err
    return cli


def test_boundaries_are_told_with_their_devices(applied: Cli) -> None:
    items = applied("timeline", *FROM, "--format", "json").items
    assert [(one["at"], one["starting"], one["ending"], one["phase"]) for one in items] == [
        (START, ["hep/atlas", "hep/cms"], [], "planned"), (END, [], ["hep/cms"], "planned")
    ]  # fmt: skip
    devices = [one["device"] for one in items[0]["devices"]]
    assert "anl-edge" in devices
    table = applied("timeline", *FROM).out.splitlines()
    assert "planned: anl-border anl-edge" in table[1]
    assert table[1].startswith(f"{START}  in ")


def test_one_reservation_or_one_device_may_be_asked_for(applied: Cli) -> None:
    def instants(*more: str) -> list[str]:
        return [one["at"] for one in applied("timeline", *FROM, *more, "--format", "json").items]

    assert instants("--reservation", "hep/cms") == [START, END]
    assert instants("--reservation", "hep/atlas") == [START]
    assert instants("--device", "anl-edge") == [START, END]
    assert instants("--limit", "1") == [START]


def test_what_a_timeline_leaves_out_is_said_and_goes_on_there(applied: Cli, tmp_path: Path) -> None:
    first = applied("timeline", *FROM, "--limit", "1")
    assert first.out.splitlines()[-1] == f"1 shown, the first; there are more: --from {END} shows them."
    state = tmp_path / "state"
    assert first.err.startswith(f"asking this machine's ledger: state folder {state}, database ")
    document = applied("timeline", *FROM, "--limit", "1", "--format", "json").data
    assert (document["next"], document["answered_by"]) == (f"--from {END}", str(state))
    rest = applied("timeline", *FROM[2:], *document["next"].split(), "--format", "json").data
    assert ([one["at"] for one in rest["items"]], rest["next"]) == ([END], None)
    assert "there are more" not in applied("timeline", *FROM).out


def test_a_list_of_reservations_says_that_more_follow(applied: Cli) -> None:
    listed = applied("status", "--limit", "1")
    assert listed.out.splitlines()[-1] == "1 shown, the first; there are more: --limit 10 shows them."
    assert applied("status", "--limit", "1", "--format", "json").data["next"] == "--limit 10"
    assert applied("status", "--limit", "2", "--format", "json").data["next"] is None
    assert "there are more" not in applied("status").out


def test_the_log_says_what_it_leaves_out_at_either_end(applied: Cli) -> None:
    for name in ("hep/cms", "hep/atlas"):
        assert applied("cancel", name, "--yes").code == 0
    every = [one["sequence"] for one in applied("events", "--format", "json").items]
    assert len(every) == 4

    def listed(*options: str) -> tuple[list[int], str | None]:
        document = applied("events", *options, "--limit", "2", "--format", "json").data
        return [one["sequence"] for one in document["items"]], document["next"]

    assert listed() == (every[-2:], f"--newest --after {every[-2]}")
    assert listed("--newest", "--after", str(every[-2]))[0] == every[-3:-5:-1]
    assert listed("--after", "0") == (every[:2], f"--after {every[1]}")
    assert listed("--newest") == (every[:-3:-1], f"--newest --after {every[-2]}")
    assert "2 shown, the last; there are more: " in applied("events", "--limit", "2").out
    assert listed("--after", str(every[-3]))[1] is None


def test_people_are_shown_times_in_their_zone_and_programs_utc(applied: Cli) -> None:
    table = applied("--timezone", "Europe/Zurich", "timeline", *FROM)
    assert table.out.splitlines()[1].startswith("2027-03-01T22:00+01:00  in ")
    assert "22:00+01:00  2027-03-02T00:00+01:00" in applied("--timezone", "Europe/Zurich", "status").out
    programs = applied("--timezone", "Europe/Zurich", "timeline", *FROM, "--format", "json").items
    assert programs[0]["at"] == START
    wrong = applied("--timezone", "Europe/Nowhere", "status")
    assert (wrong.code, "is no time zone" in wrong.err) == (2, True)


WRONG: dict[tuple[str, ...], tuple[int, str]] = {
    ("--device", "nowhere"): (1, "no managed device nowhere; there is anl-border"),
    ("--reservation", "hep/nobody"): (1, "hep/nobody"),
    ("--from", "2027-03-01T00:00:00"): (2, "has no time zone"),
    ("--from", "2027-03-01T00:00:00Z", "--until", "2027-02-01T00:00:00Z"): (2, "is before --from"),
}


def test_wrong_options_are_named(cli: Cli) -> None:
    for options, (code, words) in WRONG.items():
        done = cli("timeline", *options)
        assert (done.code, done.out) == (code, ""), options
        assert words in " ".join(done.err.replace("│", " ").split())
