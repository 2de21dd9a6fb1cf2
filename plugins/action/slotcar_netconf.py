# GNU General Public License v3.0 or later (see LICENSE in plugins/)
"""Takes one step of a push on many NETCONF peers at once, from one process. One task for all of them."""

from __future__ import annotations

from pathlib import Path

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase

try:  # here, where Ansible's own process loads it once, and not in each task's
    from controller.rollout.ios.login import IosError
    from controller.rollout.netconf import Job, Order, Step, fan_out, netconf_login
except ImportError as error:
    MISSING = str(error)
else:
    MISSING = ""

DOCUMENTATION = r"""
name: slotcar_netconf
short_description: Take a step of a push on NETCONF peers
options:
  step: {description: What to do., type: str, choices: [read, stage, activate, verify, restore], required: true}
  devices: {description: The peers; their variables say how they are reached., type: list, elements: str, required: true}
  revision: {description: Folder with a folder for each peer., type: path, required: true}
  target: {description: File of that folder that says what is wanted; empty for nothing of Slotcar's., type: str}
  at: {description: Seconds since the epoch by the control node's clock; at once if it is past., type: float}
"""


class ActionModule(ActionBase):
    BYPASS_HOST_LOOP = True
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                "step": {
                    "type": "str",
                    "required": True,
                    "choices": ["read", "stage", "activate", "verify", "restore"],
                },
                "devices": {"type": "list", "elements": "str", "required": True},
                "revision": {"type": "path", "required": True},
                "target": {"type": "str", "default": "after.txt"},
                "at": {"type": "float", "default": 0.0},
            }
        )
        if MISSING:
            raise AnsibleActionFail(
                f"Ansible's Python cannot import Slotcar ({MISSING}): run the playbook with .venv/bin/ansible-playbook"
            )
        failures, jobs = self._jobs(arguments, task_vars["hostvars"])
        outcomes = fan_out(Step(arguments["step"]), jobs)
        failures |= {name: one.error for name, one in outcomes.items() if one.error}
        result.update(
            changed=any(one.changed for one in outcomes.values()),
            failures=failures,
            began={name: one.began for name, one in outcomes.items() if one.began},
            ended={name: one.ended for name, one in outcomes.items() if one.ended},
            notes=[f"{name}: {note}" for name, one in outcomes.items() for note in one.notes],
            diff=[
                {"before": one.before, "after": one.after, "before_header": name, "after_header": arguments["target"]}
                for name, one in outcomes.items()
                if one.changed
            ],
        )
        return result

    def _jobs(self, arguments, hostvars):
        """A job for each peer whose variables are whole, and why others have none."""
        failures, jobs = {}, []
        for name in arguments["devices"]:
            order = Order(
                folder=Path(arguments["revision"]) / name,
                target=arguments["target"],
                at=arguments["at"],
                only_look=self._task.check_mode,
            )
            variables = hostvars[name]
            try:
                confirm_s = variables.get("slotcar_confirm_s")
                jobs.append(Job(name, netconf_login(name, variables), order, int(confirm_s) if confirm_s else None))
            except (IosError, AnsibleError, ValueError) as error:
                failures[name] = f"{name}: {error}"
        return failures, jobs
