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
        missing = [*_unnamed(task_vars), *_without_folder(arguments), *_wrong_target(arguments)]
        if missing:
            result.update(failed=True, msg=f"Nothing was touched: {'; '.join(missing)}.")
            return result
        devices, sources = (task_vars[name] for name in ("ansible_play_hosts_all", "ansible_inventory_sources"))
        result["msg"] = (
            f"{arguments['purpose']} works on {', '.join(devices)}, of the inventory {', '.join(sources)},"
            f" from the folder {arguments['revision']}"
        )
        result["_ansible_verbose_always"] = True
        return result


def _unnamed(task_vars):
    """To Ansible no limit is every host, and an empty inventory (`-i ""`) is the current folder."""
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


def _without_folder(arguments):
    revision = arguments["revision"]
    if arguments["state_dir"] == "":
        yield "SLOTCAR_STATE_DIR is not set: it names the folder of the state of the controller"
    elif not (revision and Path(revision).is_dir()):
        yield f"there is no folder {revision or 'named: say -e slotcar_revision=FOLDER'}"


def _wrong_target(arguments):
    target, targets = arguments["target"], arguments["targets"]
    if target is not None and target not in targets:
        yield f"slotcar_emergency_to is {target}, and can be {', '.join(targets)}"
