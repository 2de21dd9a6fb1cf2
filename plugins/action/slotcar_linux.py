# GNU General Public License v3.0 or later (see LICENSE in plugins/)
"""Takes one step of a push on a Linux router, over Ansible's own connection to it. Needs no Python there."""

from __future__ import annotations

import asyncio
import sys
from importlib.util import find_spec
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

if find_spec("slotcar") is None:  # not installed: the collection and a checkout hold its modules
    sys.path += [str(Path(__file__).resolve().parents[2] / folder) for folder in ("controller", "client")]
try:  # here, where Ansible's own process loads it once, and not in each task's
    from slotcar.base.problems import SlotcarError
    from slotcar.rollout import steps
    from slotcar.rollout.device_folder import DeviceFolder
    from slotcar.rollout.linux.shell import ShellAnswer
    from slotcar.rollout.linux.transport import LinuxTransport
    from slotcar.rollout.transport import Order
except ImportError as error:
    MISSING = str(error)
else:
    MISSING = ""


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = True

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                "step": {
                    "type": "str",
                    "required": True,
                    "choices": ["read", "stage", "activate", "verify", "restore"],
                },
                "folder": {"type": "path", "required": True},
                "target": {"type": "str", "default": "after.txt"},
                "fence": {"type": "str", "default": "-"},
                "unknown_ends": {"type": "bool", "default": False},
            }
        )
        if MISSING:
            raise AnsibleActionFail(
                f"Ansible's Python cannot import Slotcar ({MISSING}): install beside Ansible what meta/ee-requirements.txt"
                " names, or run the playbook with the ansible-playbook of the environment that slotcar is installed in"
            )
        folder = DeviceFolder(Path(arguments["folder"]))
        try:
            outcome = asyncio.run(self._take(arguments, folder))
        except (SlotcarError, OSError) as error:
            raise AnsibleActionFail(str(error).removeprefix(f"{folder.name}: "), result=result) from error
        headers = {"before_header": "the device", "after_header": arguments["target"] or "unmanaged"}
        result.update(changed=outcome.changed, diff={"before": outcome.before, "after": outcome.after, **headers})
        return result

    async def _take(self, arguments, folder):
        step, look = arguments["step"], self._task.check_mode
        order = Order(
            folder,
            target=arguments["target"],
            only_look=look,
            fence=None if arguments["fence"] == "-" else int(arguments["fence"]),
            unknown_ends=arguments["unknown_ends"],
        )
        transport = LinuxTransport(_Shell(self), folder.device())
        if step == "activate":
            # A router is compared only where that is asked: it refuses by itself what is stale.
            return await (steps.restore if look else steps.activate)(transport, order)
        return await steps.ALONE[step](transport, order)


class _Shell:
    """The router's, through whatever connection and privileges the inventory gives it."""

    def __init__(self, action):
        self._action = action

    def run(self, command, text=""):
        # With nothing to read Ansible would ask for a terminal, which mixes what is said with what went wrong.
        data = text.encode() or b"\n"
        done = self._action._low_level_execute_command(command, sudoable=True, in_data=data)
        return ShellAnswer(done["rc"], done["stdout"], done["stderr"])
