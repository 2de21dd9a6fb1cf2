"""A command that goes over HTTP to a server that is no controller says so, and calls it no fault in Slotcar."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from tests.integration.cli.test_hostile_folder import COMMANDS, ENDLESS, arguments_of
from tests.support.command_line import Cli
from tests.support.strange import ANSWERS, server

#: Of this machine alone, whatever controller is named.
LOCAL = (
    "context", "db", "token", "host", "init", "schema", "completion", "run", "push", "rollback", "drift", "adopt", "diff",
)  # fmt: skip


@pytest.mark.parametrize(
    "strange",
    [
        pytest.param(
            one, marks=() if one in ("html", "object", "items-of-nothing", "all-keys-wrong") else pytest.mark.slow
        )
        for one in ANSWERS
    ],
)
def test_no_answer_is_a_fault_in_slotcar(
    strange: str, offline: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "reservations.yml"
    entry = {
        "name": "n", "owner": "hep", "source": "anl-premium", "destination": "lbnl-premium:5001", "protocol": "udp",
        "service": "ip-premium", "rate": "1 Mbit/s", "start": "now", "duration": "PT1H",
    }  # fmt: skip
    file.write_text(json.dumps({"version": 1, "reservations": [entry]}))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SLOTCAR_INVENTORY")
    monkeypatch.setattr(sys, "stdin", io.StringIO("x\n"))
    with server(ANSWERS[strange]) as address:
        monkeypatch.setenv("SLOTCAR_API", address)
        monkeypatch.setenv("SLOTCAR_TOKEN", "x")
        for path in sorted(COMMANDS.keys() - ENDLESS):
            if path[0] in LOCAL:
                continue
            arguments = arguments_of(path, {"FILE": file, "NEW": tmp_path / "new"})
            done = offline(*arguments)
            assert "unexpected error" not in done.err, (arguments, done.err)
            assert "fault in Slotcar" not in done.err, (arguments, done.err)
