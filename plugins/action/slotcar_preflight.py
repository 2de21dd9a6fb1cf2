# GNU General Public License v3.0 or later (see LICENSE in plugins/)
"""Names what a play will touch, and fails where nobody named the inventory, the devices or the folder. One task."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ansible.plugins.action import ActionBase

#: A part of --limit that names one host or one group, and is no pattern.
_NAME = re.compile(r"[A-Za-z0-9_.-]+")


class ActionModule(ActionBase):
    TRANSFERS_FILES = False
    _supports_check_mode = True
    _requires_connection = False

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        _, arguments = self.validate_argument_spec(
            {
                "purpose": {"type": "str", "default": "This play"},
                "revision": {"type": "str", "default": ""},
                "state_dir": {"type": "str"},
                "target": {"type": "str"},
                "targets": {"type": "dict", "default": {}},
            }
        )
        given = {name: arguments[name] for name in self._task.args}
        problems = [*_wrong_names(task_vars), *_wrong_folder(given), *_wrong_target(given)]
        if problems:
            result.update(failed=True, msg=f"Nothing was touched: {'; '.join(problems)}.")
            return result
        devices, sources = (task_vars[name] for name in ("ansible_play_hosts_all", "ansible_inventory_sources"))
        result["msg"] = (
            f"{arguments['purpose']} works on {', '.join(devices)}, of the inventory {', '.join(sources)},"
            f" from the folder {arguments['revision']}"
        )
        result["_ansible_verbose_always"] = True
        return result


def _wrong_names(task_vars):
    """What is wrong with the inventory and the limit. To Ansible no limit is every host, and `-i ""` the current folder."""
    playbooks = task_vars["playbook_dir"]
    no_inventories = (os.environ.get("PWD", ""), playbooks, str(Path(playbooks).parent))
    folders = [source for source in task_vars["ansible_inventory_sources"] if source in no_inventories]
    if folders:
        yield f"no inventory is named, but the folder {', '.join(folders)}: say -i INVENTORY (is SLOTCAR_INVENTORY set?)"
    limits = [limit for limit in re.split("[:,]", task_vars.get("ansible_limit") or "") if limit]
    if not limits:
        yield "no device is named: say --limit DEVICE,DEVICE or, for all routers, --limit domains"
    groups, hosts = task_vars["groups"], task_vars["hostvars"]
    unknown = [limit for limit in limits if _NAME.fullmatch(limit) and limit not in groups and limit not in hosts]
    if unknown:
        yield f"the inventory has no {', '.join(unknown)}"


def _wrong_folder(given):
    revision = given.get("revision")
    if "state_dir" in given and not given["state_dir"]:
        yield "SLOTCAR_STATE_DIR is not set: it names the folder of the state of the controller"
    elif not (revision and Path(revision).is_dir()):
        yield f"there is no folder {revision or 'named: say -e slotcar_revision=FOLDER'}"


def _wrong_target(given):
    targets = given.get("targets", {})
    if "target" in given and given["target"] not in targets:
        yield f"slotcar_emergency_to is {given['target']}, and can be {', '.join(targets) or 'nothing in this play'}"
