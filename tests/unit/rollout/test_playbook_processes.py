"""Processes of a run that is cut short, and the folder that they write to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from slotcar.rollout.playbook import LATE, OF_A_RUN, Playbooks, _folder_of_a_run, _Limits, _processes

#: Starts others for as long as it lives, each in a session of its own as Ansible's workers are; each writes files.
BREEDER = """
import subprocess, sys
print("begun", flush=True)
while True:
    subprocess.Popen(
        ["sh", "-c", 'while :; do echo > "$1/$$-$(date +%N)"; sleep 0.01; done', "sh", sys.argv[1]],
        start_new_session=True, stdout=subprocess.DEVNULL)
"""


def test_a_run_that_is_cut_short_leaves_no_process_and_no_folder(tmp_path: Path) -> None:
    limits = _Limits(Playbooks(tmp_path, tmp_path), "push", 60, None)
    with _folder_of_a_run(limits) as folder:
        limits.reason = LATE
        breeder = subprocess.Popen(
            [sys.executable, "-c", BREEDER, folder], env=os.environ | {OF_A_RUN: folder}, stdout=subprocess.PIPE
        )
        assert breeder.stdout is not None
        assert breeder.stdout.readline() == b"begun\n"
    breeder.stdout.close()
    breeder.wait()
    assert _processes(OF_A_RUN, folder) == []
    assert not Path(folder).exists()
