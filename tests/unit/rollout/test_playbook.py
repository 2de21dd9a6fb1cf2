"""What a playbook's run leaves behind where it is ended before it has done all."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import uuid

import psutil

from controller.rollout.playbook import OF_A_RUN, _end_all

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
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(OF_A_RUN) == mark:
                found.append(process)
    return found


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
