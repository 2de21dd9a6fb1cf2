"""docs/howto/assured-classes.md, followed as its reader would follow it: each class is counted against its own share."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from tests.support.command_line import Cli
from tests.support.documents import Command, steps

ROOT = Path(__file__).resolve().parents[3]
#: What the refused ones are to be told, by their names.
REFUSALS = {
    "too-much": "assured-rate/gold on west-router eth2, outbound",
    "of-no-class": "west has several classes of the assured rate: say `assured_class`, one of bronze, silver, video, gold",
}


def test_the_walk_through_does_what_it_says(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    lines = [step for step in steps(ROOT / "docs" / "howto" / "assured-classes.md") if isinstance(step, Command)]
    for step in lines:
        words = shlex.split(step.line)
        if words[0] == "export":
            monkeypatch.setenv(*words[1].split("=", 1))
            continue
        done = cli(*words[1:])
        assert done.code == step.code, (step.line, done.out, done.err)
        output = "".join((done.out + done.err).split())
        assert "".join(REFUSALS.get(words[3] if len(words) > 3 else "", "").split()) in output, done.out + done.err
        if words[1] == "plan":
            assert "assured-rate/gold tcp" in done.out
