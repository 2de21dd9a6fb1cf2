"""A callback of Ansible's by which chaos stops a push before one of its tasks (`slotcar_lab.chaos.gate`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.plugins.callback import CallbackBase

from slotcar_lab.chaos.gate import pass_gates


class CallbackModule(CallbackBase):  # type: ignore[misc]
    """Counts the tasks of a play."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "slotcar_chaos"

    def __init__(self) -> None:
        super().__init__()
        self._play, self._task = "", 0

    def v2_playbook_on_start(self, playbook: Any) -> None:
        self._play = Path(playbook._file_name).stem

    def v2_playbook_on_task_start(self, task: Any, is_conditional: bool) -> None:
        del task, is_conditional
        self._task += 1
        pass_gates(self._play, self._task)
