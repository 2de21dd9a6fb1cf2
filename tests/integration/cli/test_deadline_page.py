"""docs/howto/deadline.md: its commands run one after another, and end as it says."""

from __future__ import annotations

import re
import shlex

import pytest

from slotcar.base.settings import Settings
from tests.integration.cli.conftest import ROOT
from tests.support.command_line import Cli
from tests.support.documents import Command, steps
from tests.support.transfers import GIVEN_BACK

PAGE = ROOT / "docs" / "howto" / "deadline.md"


@pytest.mark.slow
def test_its_commands_run_and_a_transfer_moves(cli: Cli) -> None:
    ended = []
    for step in steps(PAGE):
        assert isinstance(step, Command)
        program, *arguments = shlex.split(step.line)
        assert program == "slotcar"
        done = cli(*arguments)
        assert done.code == step.code, f"{step.line}\n{done.out}{done.err}"
        ended.append(step.code)
    assert ended.count(3) == 1
    assert len(ended) >= 8
    moved = cli("events", "--kind", "reservation.moved", "--format", "json").items
    assert [event["details"]["name"] for event in moved] == ["run-7"]
    # Cancelled, where all of the page was done before the second in which its slot began.
    assert re.findall(r"state    (\w+)", cli("status", "hep/run-7").out)[0] in GIVEN_BACK


def test_the_settings_that_it_names_are_there() -> None:
    named = set(re.findall(r"SLOTCAR_([A-Z_]+)", PAGE.read_text(encoding="utf-8")))
    assert named
    assert {name.lower() for name in named} <= set(Settings.model_fields)
