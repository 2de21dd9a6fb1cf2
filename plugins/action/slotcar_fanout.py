# GNU General Public License v3.0 or later (see LICENSE in plugins/)
"""Takes one step of a push on many devices at once, from one process: IOS over SSH or NAPALM, and NETCONF. One task."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase

if find_spec("slotcar") is None:  # not installed: the collection and a checkout hold its modules
    sys.path += [str(Path(__file__).resolve().parents[2] / folder) for folder in ("controller", "client")]
try:  # here, where Ansible's own process loads it once, and not in each task's
    from slotcar.rollout.device_folder import DeviceFolder
    from slotcar.rollout.fanout import DeviceError, Order, PushStep, fan_out, fan_out_push, job_of, serves
except ImportError as error:
    MISSING = str(error)
else:
    MISSING = ""

STEPS = ["read", "stage", "activate", "verify", "push", "restore", "report"]


class ActionModule(ActionBase):
    BYPASS_HOST_LOOP = True
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                "step": {"type": "str", "required": True, "choices": STEPS},
                "devices": {"type": "list", "elements": "str"},
                "revision": {"type": "path", "default": ""},
                "target": {"type": "str", "default": "after.txt"},
                "fence": {"type": "str", "default": "-"},
                "unknown_ends": {"type": "bool", "default": False},
                "at": {"type": "float", "default": 0.0},
                "instants": {"type": "dict", "default": {}},
                "failures": {"type": "dict", "default": {}},
                "preflight": {"type": "bool", "default": False},
                "fail_on_failures": {"type": "bool", "default": False},
            }
        )
        if MISSING:
            raise AnsibleActionFail(
                f"Ansible's Python cannot import Slotcar ({MISSING}): install beside Ansible what meta/ee-requirements.txt"
                " names, or run the playbook with the ansible-playbook of the environment that slotcar is installed in"
            )
        step = arguments["step"]
        if arguments["preflight"]:
            preflight = self._preflight(arguments["revision"], task_vars)
            if preflight.get("failed"):
                return result | preflight
            self._display.display(preflight["msg"])
        if step == "report":
            return self._with_failures(result, arguments["failures"], fails=True)
        failures, jobs = self._jobs(arguments, task_vars)
        if not failures and not jobs:
            result.update(skipped=True, failures={}, skip_reason="no device of this play is served from one process")
            return result
        if failures and step == "push":
            return self._with_failures(result, failures, fails=True)
        outcomes = fan_out_push(jobs) if step == "push" else fan_out(PushStep(step), jobs)
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
        fails = arguments["fail_on_failures"] or step in ("stage", "activate", "verify", "push")
        return self._with_failures(result, failures, fails=fails)

    def _preflight(self, revision, task_vars):
        """Runs `slotcar_preflight` in this task: a task of its own costs a process."""
        task = self._task.copy()
        task.args = {"revision": revision}
        action = self._shared_loader_obj.action_loader.get(
            self._task.action.replace("slotcar_fanout", "slotcar_preflight"),
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        return action.run(task_vars=task_vars)

    @staticmethod
    def _with_failures(result, failures, *, fails):
        result["failures"] = failures
        if failures and fails:
            result.update(failed=True, msg="; ".join(failures.values()))
        return result

    def _jobs(self, arguments, task_vars):
        """A job for each device whose variables are whole, and why others have none."""
        hostvars, devices = task_vars["hostvars"], arguments["devices"]
        fence = None if arguments["fence"] == "-" else int(arguments["fence"])
        failures, jobs = {}, []
        for name in devices if devices is not None else task_vars["ansible_play_hosts"]:
            variables = hostvars[name]
            try:
                if devices is None and not serves(variables):
                    continue
                order = Order(
                    folder=DeviceFolder(Path(arguments["revision"]) / name),
                    target=arguments["target"],
                    at=float(arguments["instants"].get(name, arguments["at"])),
                    only_look=self._task.check_mode,
                    fence=fence,
                    unknown_ends=arguments["unknown_ends"],
                )
                jobs.append(job_of(name, variables, order))
            except (DeviceError, AnsibleError, ValueError) as error:
                words = str(error)
                failures[name] = words if words.startswith(f"{name}: ") else f"{name}: {words}"
        return failures, jobs
