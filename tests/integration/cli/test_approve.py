"""The gate on the command line: a change waits, and an approval is of what was shown."""

from __future__ import annotations

import io
import os
import pwd
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import Cli

CREATE = (
    "create", "--name", "cms", "--owner", "hep", "-s", "anl-premium", "-t", "lbnl-premium:5001", "-r", "1 Mbit/s",
    "--protocol", "udp", "--start", "now + 1 h", "--duration", "1 h",
)  # fmt: skip


@pytest.fixture
def gated(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.setenv("SLOTCAR_APPROVAL_RATE", "20 Mbit/s")
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert cli(*CREATE).code == 0
    return cli


def test_a_raise_waits_and_is_approved_as_it_was_shown(gated: Cli) -> None:
    done = gated("modify", "hep/cms", "--rate", "24 Mbit/s")
    assert done.code == 0
    assert "1 Mbit/s ip-premium" in done.out
    assert f"waits for approval, asked by {pwd.getpwuid(os.getuid()).pw_name}@cli" in done.out
    assert "rate: 1 Mbit/s -> 24 Mbit/s" in done.out
    assert ", change waits" in gated("status").out
    asks = gated("approve", "hep/cms")
    assert asks.code == 2
    assert "--yes" in asks.err
    stale = gated("approve", "hep/cms", "--if-version", "1")
    assert (stale.code, "is at version 2, not 1" in stale.err) == (1, True)
    approved = gated("approve", "hep/cms", "--yes", "-f", "json")
    assert (approved.data["reservation"]["rate_bps"], approved.data["proposed"]) == (24_000_000, None)
    assert "rate: 1 Mbit/s -> 24 Mbit/s" in approved.err, "what is approved is shown before"


@pytest.mark.slow
def test_a_raise_through_a_file_waits_and_the_plan_says_so(
    gated: Cli, reservations: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = reservations({"rate": "24 Mbit/s", "start": "now + 1 h", "duration": "1 h"})
    assert "(waits for approval)" in gated("plan", file).out
    applied = gated("apply", file, "--yes")
    assert (applied.code, "its change waits for approval" in applied.out) == (0, True)
    assert gated("status", "hep/cms", "-f", "json").data["reservation"]["rate_bps"] == 1_000_000


def test_what_the_rules_refuse_ends_with_3_and_says_the_numbers(gated: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOTCAR_QUOTA_RESERVATIONS", "1")
    monkeypatch.setenv("SLOTCAR_HORIZON", "1 d")
    other = [word.replace("cms", "atlas") for word in CREATE]
    done = gated(*other)
    assert (done.code, done.err.strip().splitlines()[-1]) == (
        3, "owner hep may have 1 live reservations, has 1, and asks for 1 more: give some back first"
    )  # fmt: skip
    late = gated("modify", "hep/cms", "--start", "now + 9 d")
    assert (late.code, "reservations end within 1 d from now" in late.err) == (3, True)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("SLOTCAR_QUOTA_HOLDS", "-1", "greater than or equal to 0"),
        ("SLOTCAR_QUOTA_VOLUME", "much", "SLOTCAR_QUOTA_VOLUME"),
        ("SLOTCAR_OWNER_QUOTAS", "{", "is not JSON"),
        ("SLOTCAR_OWNER_QUOTAS", '{"hep": {"reservation": 1}}', "SLOTCAR_OWNER_QUOTAS"),
    ],
)
def test_a_wrong_rule_is_refused_by_its_variables_name(
    offline: Cli, monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    done = offline("db", "status")
    assert done.code != 0
    assert name in done.err
    assert words in done.err
