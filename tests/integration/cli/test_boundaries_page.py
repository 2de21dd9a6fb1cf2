"""docs/howto/boundaries.md: its commands run, its alerts and phases are those that there are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from slotcar.views.phases import Phase
from tests.integration.cli.conftest import ROOT
from tests.support.command_line import Cli
from tests.support.documents import Command, steps

PAGE = ROOT / "docs" / "howto" / "boundaries.md"
TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_its_commands_run(cli: Cli, reservations: Callable[..., Path]) -> None:
    assert cli("apply", reservations({"start": "now + 1 h"}), "--yes").code == 0
    ran = 0
    for step in steps(PAGE):
        assert isinstance(step, Command)
        program, *arguments = shlex.split(step.line)
        assert program == "slotcar"
        done = cli(*arguments)
        assert done.code == step.code, f"{step.line}\n{done.err}"
        ran += 1
    assert ran >= 8
    assert "planned: anl-border" in cli("timeline", "--reservation", "hep/cms").out


def test_every_other_command_that_it_names_is_there(offline: Cli) -> None:
    console = re.compile(r"^```console\n.*?^```$", re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"slotcar ((?:[a-z-]+ ?)+)", console.sub("", TEXT)))
    words = {tuple(one.split()[: 2 if one.startswith("webhook") else 1]) for one in named}
    assert len(words) >= 6
    for command in words:
        assert offline(*command, "--help").code == 0, command


def test_it_names_every_phase() -> None:
    assert {f"`{phase.value}`" for phase in Phase} <= set(re.findall(r"`[a-z ]+`", TEXT))
