# GNU General Public License v3.0 or later (see LICENSE in plugins/)
"""Takes one step of a push on many IOS routers at once, from one process. One task for all of them."""

from __future__ import annotations

from pathlib import Path

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase

try:  # here, where Ansible's own process loads it once, and not in each task's
    from controller.rollout.ios import Job, Login, Order, Step, fan_out, fan_out_push
    from controller.rollout.ios.login import IosError
except ImportError as error:
    MISSING = str(error)
else:
    MISSING = ""

DOCUMENTATION = r"""
name: slotcar_ios
short_description: Take a step of a push on IOS routers
options:
  step:
    description: >-
      What to do. Push is stage, activate and verify on one login. Read and restore do what they can and return the others
      in `failures`, for report to fail with.
    type: str
    choices: [read, stage, activate, verify, push, restore, report]
    required: true
  devices: {description: The routers; their variables say how they are reached., type: list, elements: str}
  revision: {description: Folder with a folder for each router., type: path}
  target: {description: File of that folder that says what is wanted; empty for nothing of Slotcar's., type: str}
  failures: {description: Of an earlier step, for report., type: dict}
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
                "step": {"type": "str", "required": True},
                "devices": {"type": "list", "elements": "str", "default": []},
                "revision": {"type": "path", "default": ""},
                "target": {"type": "str", "default": "after.txt"},
                "at": {"type": "float", "default": 0.0},
                "failures": {"type": "dict", "default": {}},
            }
        )
        if MISSING:
            raise AnsibleActionFail(
                f"Ansible's Python cannot import Slotcar ({MISSING}): run the playbook with .venv/bin/ansible-playbook"
            )
        if arguments["step"] == "report":
            return self._told(result, arguments["failures"], fails=True)
        failures, jobs = self._jobs(arguments, task_vars["hostvars"])
        step = arguments["step"]
        if failures and step == "push":
            return self._told(result, failures, fails=True)
        outcomes = fan_out_push(jobs) if step == "push" else fan_out(Step(step), jobs)
        failures |= {name: one.error for name, one in outcomes.items() if one.error}
        result.update(
            changed=any(one.changed for one in outcomes.values()),
            began={name: one.began for name, one in outcomes.items() if one.began},
            ended={name: one.ended for name, one in outcomes.items() if one.ended},
            notes=[f"{name}: {note}" for name, one in outcomes.items() for note in one.notes],
            diff=[
                {"before": one.before, "after": one.after, "before_header": name, "after_header": arguments["target"]}
                for name, one in outcomes.items()
                if one.changed
            ],
        )
        return self._told(result, failures, fails=step in ("stage", "activate", "verify", "push"))

    @staticmethod
    def _told(result, failures, *, fails):
        result["failures"] = failures
        if failures and fails:
            result.update(failed=True, msg="; ".join(failures.values()))
        return result

    def _jobs(self, arguments, hostvars):
        """A job for each router whose variables are whole, and why others have none."""
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
                login = Login.from_variables(name, variables)
                transport = str(variables.get("slotcar_transport") or "ssh")
                jobs.append(Job(name, login, order, transport, str(variables.get("slotcar_flash") or "flash:")))
            except (IosError, AnsibleError, ValueError) as error:
                failures[name] = f"{name}: {error}"
        return failures, jobs
