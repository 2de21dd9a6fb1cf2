# GNU General Public License v3.0 or later (see LICENSE in plugins/)
"""Sets up a host's TCP for what is reserved from and to it, over Ansible's own connection. Needs iproute2 there."""

from __future__ import annotations

import json
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase

if find_spec("slotcar") is None:  # not installed: the collection and a checkout hold its modules
    sys.path += [str(Path(__file__).resolve().parents[2] / folder) for folder in ("controller", "client")]
try:  # here, where Ansible's own process loads it once, and not in each task's
    from slotcar.base.problems import SlotcarError
    from slotcar.platforms.host_tcp.change import change_to
    from slotcar.platforms.host_tcp.flows import NoFlows, read_flows
    from slotcar.platforms.host_tcp.state import state_of
    from slotcar.platforms.host_tcp.tuning import Choices, Tuned, tuned
    from slotcar.platforms.host_tcp.writing import PLACE, READ, program_of
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
                "step": {"type": "str", "required": True, "choices": ["limits", "tune", "verify", "undo"]},
                "flows": {"type": "path", "default": ""},
                "choices": {"type": "dict", "default": {}},
            }
        )
        if MISSING:
            raise AnsibleActionFail(
                f"Ansible's Python cannot import Slotcar ({MISSING}): install beside Ansible what meta/ee-requirements.txt"
                " names, or run the playbook with the ansible-playbook of the environment that slotcar is installed in"
            )
        try:
            self._take(arguments, task_vars, result)
        except SlotcarError as error:
            raise AnsibleActionFail(str(error), result=result) from error
        return result

    def _take(self, arguments, task_vars, result):
        step, place = arguments["step"], f"{PLACE}-{task_vars['inventory_hostname']}"
        flows = () if step == "undo" else _flows(arguments["flows"], task_vars["inventory_hostname"])
        host = self._read(place, [*(flow.peer for flow in flows)])
        # What was set for a peer that is reserved to no more is looked at, too.
        others = [name.partition(" ")[2] for name in host.kept if name.startswith("route ")]
        if others := [peer for peer in others if peer not in host.routes]:
            host = self._read(place, [*dict.fromkeys([*(flow.peer for flow in flows), *others])])
        wanted = Tuned({}) if step == "undo" else tuned(flows, Choices.of_mapping(arguments["choices"]), host)
        change = change_to(wanted.settings, host)
        lines = [_lines(values) for values in (change.before, change.after)]
        result.update(
            changed=bool(change.after) and step != "limits",
            words=[*wanted.words, *change.words],
            settings=dict(wanted.settings),
            diff={"before": lines[0], "after": lines[1], "before_header": "the host", "after_header": "wanted"},
        )
        if step == "verify" and change.after and not self._task.check_mode:  # a look does not make it so
            raise AnsibleActionFail(f"the host does not have what is wanted: {lines[1].strip()}", result=result)
        if step in ("tune", "undo") and (change.after or dict(change.kept) != dict(host.kept)):
            if self._task.check_mode:
                return
            self._run(program_of(change, host, place))

    def _read(self, place, peers):
        words = [place, *dict.fromkeys(peers)]
        done = self._run(f"set -- {' '.join(shlex.quote(word) for word in words)}\n{READ.read_text()}")
        return state_of(done)

    def _run(self, program):
        """The host's, through whatever connection and privileges the inventory gives it."""
        done = self._low_level_execute_command("sh -s", sudoable=True, in_data=program.encode())
        if done["rc"] != 0:
            hint = (
                "; a kernel without fq is tuned with slotcar_tuning: {pacing: false}"
                if " fq" in done["stderr"]
                else ""
            )
            raise AnsibleActionFail(f"{(done['stderr'] or done['stdout']).strip()}; all is as it was before{hint}")
        return done["stdout"]


def _flows(path, host):
    if not path:
        raise NoFlows("no file of flows is named: say -e slotcar_flows=FILE, made with `slotcar host tuning HOST`")
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise NoFlows(f"{path} cannot be read: {error}") from error
    return read_flows(document, host)


def _lines(values):
    return "".join(f"{setting} = {value or 'nothing of its own'}\n" for setting, value in values.items())
