"""Stops a push before one of its tasks: a file says before which, and its play waits there for as long as the file is.

Ansible's process and chaos share it. Standard library only.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import NamedTuple

#: In the environment of controllers: the folder of the gates.
FOLDER = "SLOTCAR_CHAOS_GATES"
WAITING, REACHED = ".waiting", ".reached"
LOOK_S = 0.02
#: Tasks of a push: check what was named, put the files there, arm and change, compare (`playbooks/push-linux.yml`).
TASKS = 4
PUSH = "push"


class Gate(NamedTuple):
    """Before the task of that number, from 1, of the next push."""

    folder: Path
    name: str
    task: int

    def close(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        part = self.folder / f"{self.name}.part"
        part.write_text(json.dumps(self.task))
        part.replace(self._file(WAITING))

    @property
    def reached(self) -> bool:
        """Whether a push waits there."""
        return self._file(REACHED).exists()

    def open(self) -> None:
        for state in (WAITING, REACHED):
            self._file(state).unlink(missing_ok=True)

    def _file(self, state: str) -> Path:
        return self.folder / f"{self.name}{state}"


def pass_gates(play: str, task: int) -> None:
    """Called by a play before each of its tasks: returns when no gate is closed here."""
    folder = os.environ.get(FOLDER, "")
    if not folder or play.partition("-")[0] != PUSH:
        return
    for waiting in sorted(Path(folder).glob(f"*{WAITING}")):
        try:
            if json.loads(waiting.read_text()) != task:
                continue
            reached = waiting.with_suffix(REACHED)
            waiting.rename(reached)
        except FileNotFoundError:  # opened meanwhile
            continue
        while reached.exists():
            time.sleep(LOOK_S)
