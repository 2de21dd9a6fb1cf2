# GNU General Public License v3.0 or later (see LICENSE in plugins/)
"""Runs commands that only show, one after another, and returns their answers. Needs no Python on the device."""

from __future__ import annotations

import json
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

DOCUMENTATION = r"""
name: slotcar_read
short_description: Read a device
options:
  commands: {description: Commands of the device's shell., type: list, elements: str, required: true}
  save: {description: File on the control node that gets the answers as JSON., type: path}
"""


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _requires_connection = True

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {"commands": {"type": "list", "elements": "str", "required": True}, "save": {"type": "path"}}
        )
        outputs = {}
        for command in arguments["commands"]:
            done = self._low_level_execute_command(command, sudoable=True)
            if done["rc"] != 0:
                words = (done["stderr"] or done["stdout"]).strip() or f"it ended with status {done['rc']}"
                raise AnsibleActionFail(f"`{command}`: {words}")
            outputs[command] = done["stdout"]
        if arguments["save"]:
            _write(arguments["save"], json.dumps(outputs))
        result.update(changed=False, outputs=outputs)
        return result


def _write(path, text):
    """Whole or not at all: a reader never sees half of it."""
    part = Path(f"{path}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
