"""The tab key: a script for each shell, names in time, and never a word on the line that somebody types."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from slotcar.cli import completing
from tests.support.checkout import PYTHONPATH
from tests.support.command_line import in_this_process
from tests.support.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]
FOLDER = Path(sys.executable).parent


def ask_bash(line: str, folder: Path, **settings: str) -> list[str]:
    """What a bash that has read the script offers after `line`."""
    script = (
        'eval "$(slotcar completion bash)"; read -ra COMP_WORDS <<< "$0"; [[ $0 == *" " ]] && COMP_WORDS+=("");'
        " COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _slotcar_completion slotcar; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(
        ["bash", "-c", script, line],
        env={"PATH": f"{FOLDER}:/usr/bin:/bin", "SLOTCAR_STATE_DIR": str(folder), "PYTHONPATH": PYTHONPATH, **settings},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    assert ask_bash("slotcar can", tmp_path) == ["cancel"]
    assert "--repair" in ask_bash("slotcar drift --re", tmp_path)


def test_nothing_and_no_word_where_there_is_no_ledger(tmp_path: Path) -> None:
    assert ask_bash("slotcar cancel ", tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], shell: str
) -> None:
    done = in_this_process(monkeypatch, capfd)("completion", shell)
    assert (done.code, done.err) == (0, "")
    assert f"{completing.VARIABLE}=complete_{shell}" in done.out


def test_devices_are_those_of_the_inventory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOTCAR_INVENTORY", str(ROOT / "inventories" / "lab"))
    monkeypatch.setattr(completing, "PATIENCE_S", 120.0)
    assert [name for name, _ in completing.devices("anl")] == ["anl-border", "anl-edge"]


def test_what_is_not_there_in_time_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()

    def slow() -> tuple[()]:
        answered.wait(PATIENCE_S)
        return ()

    monkeypatch.setattr(completing, "PATIENCE_S", 0.05)
    monkeypatch.setattr(completing, "_living", slow)
    assert completing.reservations("") == []
    assert not answered.is_set()
    answered.set()
