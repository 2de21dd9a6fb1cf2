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
    items = applied("timeline", *FROM, "--format", "json").data
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
        return [one["at"] for one in applied("timeline", *FROM, *more, "--format", "json").data]

    assert instants("--reservation", "hep/cms") == [START, END]
    assert instants("--reservation", "hep/atlas") == [START]
    assert instants("--device", "anl-edge") == [START, END]
    assert instants("--limit", "1") == [START]


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
