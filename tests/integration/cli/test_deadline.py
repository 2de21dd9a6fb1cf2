"""Volumes by a deadline as people reserve them: the profile is shown, progress is told, mistakes name their line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import Cli

Write = Callable[..., Path]
VOLUME: dict[str, Any] = {
    "rate": None, "duration": None, "volume": "18 GB", "start": "2027-03-01T22:00:00Z", "by": "2027-03-02T00:00:00Z"
}  # fmt: skip
PROFILE = "20 Mbit/s, 2027-03-01T22:00:00Z to 2027-03-02T00:00:00Z"


def test_plan_apply_and_status_show_the_profile_and_the_same_again_changes_nothing(
    cli: Cli, reservations: Write
) -> None:
    file = reservations(VOLUME)
    plan = cli("plan", file)
    assert "+ hep/cms  18 GB by 2027-03-02T00:00:00Z, from 2027-03-01T22:00:00Z: ip-premium udp" in plan.out
    assert PROFILE in plan.out
    assert "at 2027-03-02T00:00:00Z" in plan.out
    cli("apply", file, "--yes")
    assert f"profile  {PROFILE}" in cli("status", "hep/cms").out
    assert "0 to create, 0 to change" in cli("plan", file).out
    more = cli("plan", reservations(VOLUME | {"volume": "27 GB"}))
    assert "volume: 18 GB by 2027-03-02T00:00:00Z" in more.out
    assert "-> 27 GB by 2027-03-02T00:00:00Z" in more.out
    assert "30 Mbit/s, 2027-03-01T22:00:00Z to 2027-03-02T00:00:00Z" in more.out


@pytest.mark.slow
def test_a_relative_deadline_stays_where_it_was(cli: Cli, reservations: Write) -> None:
    file = reservations(VOLUME | {"start": None, "by": "now + 2 h"})
    assert "1 created" in cli("apply", file, "--yes").out
    assert "0 to create, 0 to change" in cli("plan", file).out


@pytest.mark.slow
def test_a_volume_is_created_by_options_and_its_progress_is_told(cli: Cli) -> None:
    flow = ("-n", "bulk", "--owner", "hep", "-s", "anl-premium", "-t", "lbnl-premium:5001")
    done = cli("create", *flow, "--volume", "18 GB", "--by", "2027-03-02T00:00:00Z", "--start", "2027-03-01T22:00:00Z")
    assert f"profile  {PROFILE}" in done.out
    half = cli("modify", "hep/bulk", "--remaining", "9 GB")
    assert "remains  9 GB at" in half.out
    assert "profile  10 Mbit/s, 2027-03-01T22:00:00Z" in half.out
    grows = cli("modify", "hep/bulk", "--remaining", "10 GB")
    assert grows.code != 0
    assert "10 GB of hep/bulk cannot remain" in grows.err
    assert cli("modify", "hep/bulk", "--rate", "5 Mbit/s").code != 0
    assert cli("modify", "hep/bulk", "--remaining", "1 GB", "--rate", "5 Mbit/s").code == 2
    assert "cancelled" in cli("modify", "hep/bulk", "--remaining", "0 B").out


def test_a_refusal_says_what_would_do(cli: Cli, reservations: Write) -> None:
    fixed = {"rate": "40 Mbit/s", "start": "2027-03-01T22:00:00Z"}
    done = cli("apply", reservations(fixed, VOLUME | {"name": "bulk"}), "--yes")
    assert done.code == 3
    assert "! hep/bulk: refused, 18 GB by 2027-03-02T00:00:00Z" in done.out
    for words in ("18 GB requested, room for", "the most volume that fits by", "the earliest deadline for the whole"):
        assert words in done.out


def test_what_the_narrowest_link_can_never_carry_names_file_line_and_key(offline: Cli, reservations: Write) -> None:
    file = reservations(VOLUME | {"volume": "1 TB"})
    done = offline("plan", file, "--offline")
    assert done.code == 1
    line = next(n for n, text in enumerate(file.read_text().splitlines(), 1) if '"volume"' in text)
    assert (
        f"{file}:{line}: reservations[0].volume: is more than SLS anl-esnet-ip-premium can ever carry by" in done.err
    )
    assert "say at most 39.74 GB" in done.err
