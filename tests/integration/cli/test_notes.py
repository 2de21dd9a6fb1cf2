"""What a reservation can never get is said in the same words wherever it is shown: plan, check, create, status."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.support.command_line import Cli

SHARE = "never gets a rate: share.at_most is 10 kbit/s, and a background reservation has none below 64 kbit/s"
ABOVE = "asks for 500 Mbit/s forward, and "


def test_a_plan_and_a_check_say_it(offline: Cli, reservations: Callable[..., Path]) -> None:
    file = reservations(
        {"share": {"at_most": "10 kbit/s"}, "rate": None},
        {"name": "bulk", "service": "best-effort", "rate": "500 Mbit/s"},
    )
    checked = offline("check", file)
    assert (checked.code, f"hep/cms: {SHARE}" in checked.out, ABOVE in checked.out) == (0, True, False)
    planned = offline("plan", file, "--offline")
    assert (planned.code, SHARE in planned.out, ABOVE in planned.out) == (0, True, True)
    markdown = offline("plan", file, "--offline", "--format", "markdown").out
    assert (SHARE in markdown, ABOVE in markdown) == (True, True)


def test_answers_say_it(cli: Cli) -> None:
    ends = ("--source", "anl-premium", "--destination", "lbnl-premium:5001", "--protocol", "udp")
    times = ("--start", "2027-03-01T22:00:00+01:00", "--duration", "2 h", "--owner", "hep")
    bulk = ("--service", "best-effort", "--rate", "500 Mbit/s")
    created = cli("create", "--name", "bulk", *ends, *times, *bulk)
    assert (created.code, ABOVE in created.out) == (0, True)
    document = cli("status", "hep/bulk", "--format", "json").data
    (note,) = document["notes"]
    assert note.startswith(ABOVE)
    assert note in cli("status", "hep/bulk").out
    plain = cli("create", "--name", "plain", *ends, *times, "--rate", "1 Mbit/s", "--format", "json")
    assert plain.data["notes"] == []
