"""A command that asks: a terminal's answer counts, `--yes` does not ask, and without either nothing is done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from slotcar.cli.exit_codes import ExitCode
from tests.support.command_line import Cli, in_this_process, terminal

SLOTCAR = Path(sys.executable).with_name("slotcar")


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Cli:
    """`slotcar …` with a token named `cms`."""
    monkeypatch.setenv("SLOTCAR_STATE_DIR", str(tmp_path))
    monkeypatch.delenv("SLOTCAR_TOKENS_FILE", raising=False)
    run = in_this_process(monkeypatch, capfd)
    assert run("token", "create", "cms").code == 0
    return run


def left(folder: Path) -> list[str]:
    return [one["name"] for one in json.loads((folder / "tokens.json").read_text())["tokens"]]


@pytest.mark.parametrize("answer", ["y", "n", ""], ids=["yes", "no", "only-enter"])
def test_the_answer_at_a_terminal_counts(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    with terminal(monkeypatch, f"{answer}\n"):
        done = cli("token", "revoke", "cms")
    assert (done.code, left(tmp_path)) == ((0, []) if answer == "y" else (ExitCode.DECLINED, ["cms"])), done
    if answer != "y":
        assert "nothing was done: the answer was no" in done.err


def test_yes_does_not_ask(cli: Cli, tmp_path: Path) -> None:
    assert cli("token", "revoke", "cms", "--yes").code == 0
    assert left(tmp_path) == []


@pytest.mark.parametrize("piped", ["y\n", "n\n", ""], ids=["yes", "no", "nothing"])
def test_what_is_piped_in_is_no_answer(cli: Cli, tmp_path: Path, piped: str) -> None:
    """As in `echo n | slotcar …` and `slotcar … </dev/null`."""
    done = subprocess.run(
        [SLOTCAR, "token", "revoke", "cms"], input=piped, env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done
    assert "--yes" in done.stderr
    assert "nothing was done" in done.stderr
    assert left(tmp_path) == ["cms"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("rollback", "--device", ""),
        ("rollback", ""),
        ("push", "--inventory", ""),
        ("drift", "--device", "anl-edge", "--device", ""),
        ("status", ""),
        ("status", "--owner", ""),
        ("events", "--kind", ""),
        ("timeline", "--reservation", ""),
        ("cancel", ""),
        ("--context", "", "cancel", "hep/cms", "--yes"),
        ("--timezone", "", "status"),
        ("apply", ""),
        ("token", "create", "atlas", "--valid", ""),
        ("webhook", "add", "http://127.0.0.1:1", "--secret-env", "S", "--kinds", ""),
    ],
    ids=lambda arguments: " ".join(one or "''" for one in arguments[:4]),
)
def test_an_empty_text_is_never_taken_for_everything(cli: Cli, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = cli(*arguments)
    assert done.code == 2, done
    assert "is empty: say a value, or leave it out" in " ".join(done.err.replace("│", " ").split())
    assert left(tmp_path) == ["cms"]
