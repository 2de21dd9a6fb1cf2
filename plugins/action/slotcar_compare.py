# GNU General Public License v3.0 or later (see LICENSE in plugins/)
"""Compares what a device has with what it is to have, on the control node, in the renderer's own words."""

from __future__ import annotations

from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

try:  # here, where Ansible's own process loads it once, and not in each task's
    from controller.problems import SlotcarError
    from controller.rollout.comparison import compare
except ImportError as error:
    MISSING = str(error)
else:
    MISSING = ""

DOCUMENTATION = r"""
name: slotcar_compare
short_description: Compare a device with a configuration
options:
  folder: {description: The device's folder in a revision., type: path, required: true}
  target: {description: Name of the file in it that says what is wanted; empty for nothing of Slotcar's., type: str}
  outputs: {description: What slotcar_read returned., type: dict, required: true}
  must_equal: {description: Fail where they differ., type: bool, default: false}
"""


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                "folder": {"type": "path", "required": True},
                "target": {"type": "str", "default": ""},
                "outputs": {"type": "dict", "required": True},
                "must_equal": {"type": "bool", "default": False},
            }
        )
        if MISSING:
            raise AnsibleActionFail(
                f"Ansible's Python cannot import Slotcar ({MISSING}): run the playbook with .venv/bin/ansible-playbook"
            )
        try:
            found = compare(Path(arguments["folder"]), arguments["target"], arguments["outputs"])
        except (SlotcarError, OSError) as error:
            raise AnsibleActionFail(str(error)) from error
        result.update(
            changed=not found.equal,
            batch="".join(f"{line}\n" for line in found.apply),
            diff={
                "before": found.before,
                "after": found.after,
                "before_header": "the device",
                "after_header": arguments["target"] or "unmanaged",
            },
        )
        if arguments["must_equal"] and not found.equal:
            raise AnsibleActionFail(f"the device does not have what is wanted:\n{found.difference}", result=result)
        return result
