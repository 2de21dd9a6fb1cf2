"""What a playbook's run leaves behind where it is ended before it has done all."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import uuid
from pathlib import Path

import psutil
import pytest

from slotcar.rollout.playbook import OF_A_RUN, Playbooks, _end_all

#: Goes on starting processes, as Ansible does for each task and device.
STARTS = """
import os, time
for number in range(200):
    os.posix_spawnp("sleep", ["sleep", "60"], os.environ)
    if number == 3:
        print("begun", flush=True)
    time.sleep(0.005)
time.sleep(60)
"""


def of_the_run(mark: str) -> list[psutil.Process]:
    answers = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(OF_A_RUN) == mark:
                answers.append(process)
    return answers


def test_a_run_that_is_ended_leaves_none_of_the_processes_that_it_was_just_starting() -> None:
    mark = uuid.uuid4().hex
    with subprocess.Popen(
        [sys.executable, "-c", STARTS], env=os.environ | {OF_A_RUN: mark}, stdout=subprocess.PIPE
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"begun\n"
        try:
            _end_all(OF_A_RUN, mark)
            assert of_the_run(mark) == []
        finally:
            for process in of_the_run(mark):
                process.kill()


def test_a_run_finds_the_state_folder_from_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The lab's inventory looks its keys up there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLOTCAR_STATE_DIR", "state")
    playbooks = Playbooks(tmp_path, tmp_path)
    assert playbooks._environment("scratch")["SLOTCAR_STATE_DIR"] == str(tmp_path / "state")
    monkeypatch.delenv("SLOTCAR_STATE_DIR")
    assert "SLOTCAR_STATE_DIR" not in playbooks._environment("scratch")
