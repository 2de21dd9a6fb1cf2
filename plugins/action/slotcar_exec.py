# GNU General Public License v3.0 or later (see LICENSE in plugins/)
"""Runs one command on the device, with a text on its standard input, at an instant. Needs no Python on the device."""

from __future__ import annotations

import time

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

DOCUMENTATION = r"""
name: slotcar_exec
short_description: Run one command on a device at an instant
options:
  command: {description: Command of the device's shell., type: str, required: true}
  stdin: {description: Text for its standard input., type: str}
  at: {description: Seconds since the epoch by the control node's clock; at once if it is past., type: float}
  creates_change: {description: Whether the command changes the device., type: bool, default: true}
"""
#: The connection is used this long before the instant, so that it is open when the instant comes.
WARM_S = 2.0


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = True

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                "command": {"type": "str", "required": True},
                "stdin": {"type": "str"},
                "at": {"type": "float"},
                "creates_change": {"type": "bool", "default": True},
            }
        )
        if self._task.check_mode:
            result.update(changed=arguments["creates_change"], skipped=False, msg=f"would run: {arguments['command']}")
            return result
        self._wait(arguments["at"])
        text = arguments["stdin"]
        began = time.time()
        done = self._low_level_execute_command(
            arguments["command"], sudoable=True, in_data=text.encode() if text is not None else None
        )
        result.update(
            changed=arguments["creates_change"],
            rc=done["rc"],
            stdout=done["stdout"],
            stderr=done["stderr"],
            began=began,
            ended=time.time(),
        )
        if done["rc"] != 0:
            words = (done["stderr"] or done["stdout"]).strip() or f"it ended with status {done['rc']}"
            raise AnsibleActionFail(f"`{arguments['command']}`: {words}", result=result)
        return result

    def _wait(self, at):
        if at is None:
            return
        left = at - time.time()
        if left > WARM_S:
            time.sleep(left - WARM_S)
            self._low_level_execute_command(":", sudoable=False)
        time.sleep(max(0.0, at - time.time()))
