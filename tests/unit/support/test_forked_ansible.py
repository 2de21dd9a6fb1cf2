"""Ansible's programs out of a process that has their modules are found, answer and end as they do by themselves."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import psutil

from tests.support import forked_ansible
from tests.support.forked_ansible import LOADED_AT_START, PLAYBOOK, READER
from tests.support.patience import PATIENCE_S, wait_for

#: Of one case, in the environment of all that it starts.
NAME = "SLOTCAR_OF_THIS_CASE"


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = os.environ | environment
    return subprocess.run(
        [*forked_ansible.command(PLAYBOOK, given), *words], env=given, capture_output=True, text=True,
        timeout=PATIENCE_S, check=False,
    )  # fmt: skip


def test_it_says_and_ends_as_the_program_itself() -> None:
    """The one that is started itself is what `LD_PRELOAD` asks for."""
    for words in (("--version",), ("--no-such-option",)):
        forked, itself = run(*words), run(*words, **{LOADED_AT_START: ""})
        assert (forked.returncode, forked.stdout, forked.stderr) == (itself.returncode, itself.stdout, itself.stderr)
    assert forked.returncode != 0


def test_it_is_known_by_its_environment_and_ends_with_what_stands_for_it(tmp_path: Path) -> None:
    hangs = tmp_path / "inventory.sh"
    hangs.write_text("#!/bin/sh\nexec sleep infinity\n")
    hangs.chmod(0o700)
    given = os.environ | {NAME: str(tmp_path), "ANSIBLE_HOME": str(tmp_path)}
    stands_in = subprocess.Popen([*forked_ansible.command(READER, given), str(hangs)], env=given)
    wait_for(lambda: "sleep" in {one.name() for one in started_by(tmp_path)}, "the inventory to be read")
    stands_in.kill()
    assert stands_in.wait(PATIENCE_S) < 0
    wait_for(lambda: {one.name() for one in started_by(tmp_path)} <= {"sleep"}, "the reader to end with it")
    for one in started_by(tmp_path):  # a program's own child outlives it, as it does where nothing stands for that one
        one.kill()


def started_by(folder: Path) -> list[psutil.Process]:
    """The processes with this case's name in their environment, as whoever ends a play looks for them."""
    processes = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(NAME) == str(folder):
                processes.append(process)
        except psutil.Error:
            continue
    return processes


def test_each_reads_its_own_configuration(tmp_path: Path) -> None:
    shown = set()
    for number in ("one", "two"):
        configuration = tmp_path / number / "ansible.cfg"
        configuration.parent.mkdir()
        configuration.write_text("[defaults]\n")
        shown.add(json.dumps(run("--version", ANSIBLE_CONFIG=str(configuration)).stdout.splitlines()[1]))
        assert str(configuration) in run("--version", ANSIBLE_CONFIG=str(configuration)).stdout
    assert len(shown) == 2
