"""docs/howto/transfer.md: every command in it is one that the program takes, and its numbers are the program's."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from slotcar_transfer import cli, receiving
from slotcar_transfer.identity import PORT

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "howto" / "transfer.md").read_text(encoding="utf-8")
LINES = re.findall(r"^(?:lbnl|anl)\$\s+(slotcar-transfer .*)$", PAGE, re.MULTILINE)


@pytest.mark.parametrize("line", LINES)
def test_a_command_is_taken(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("anl.pem", "lbnl.pem"):
        (tmp_path / name).touch()
    words = shlex.split(line, comments=True)
    words = words[1 : words.index(">") if ">" in words else None]
    group: Any = typer.main.get_command(cli.app)
    context = group.make_context("slotcar-transfer", list(words))
    name, command, rest = group.resolve_command(context, [*context._protected_args, *context.args])
    with command.make_context(name, rest, parent=context) as inner:
        assert inner.params
    assert name in (words[0], "copy")


def test_there_are_commands() -> None:
    assert len(LINES) > 8


def test_its_numbers_are_the_programs() -> None:
    codes = {int(code) for code in re.findall(r"^\| (\d+)(?:, \d+)? \|", PAGE, re.MULTILINE)}
    assert codes
    assert codes <= {one.value for one in cli.ExitCode}
    assert f"{receiving.MOST_FILES:,} files" in PAGE
    assert f"port {PORT}" in PAGE
