"""What Ansible is told wherever Slotcar starts it: which configuration it reads, and which variables of the caller's.

Left to itself it reads `ansible.cfg` of the current folder, which may name plugins: whoever wrote that folder would have
them run by the operator. So Ansible works in an empty folder of its own, and is told its configuration.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from slotcar.base.files import searched_elsewhere
from slotcar.base.problems import InvalidInput, Problem

CONFIGURATION = "ansible.cfg"
#: The caller's, of Ansible's, that never count: they choose another configuration, leave out parts of a push, ask at a
#: terminal where none is, or run a push in another way than it was tested.
LEFT_OUT = frozenset(
    (
        "ANSIBLE_CONFIG", "ANSIBLE_PLAYBOOK_DIR", "ANSIBLE_INVENTORY", "ANSIBLE_RUN_TAGS", "ANSIBLE_SKIP_TAGS",
        "ANSIBLE_STRATEGY", "ANSIBLE_STRATEGY_PLUGINS", "ANSIBLE_ASK_PASS", "ANSIBLE_ASK_VAULT_PASS",
        "ANSIBLE_BECOME_ASK_PASS", "ANSIBLE_ENABLE_TASK_DEBUGGER", "ANSIBLE_MODULE_ARGS", "ANSIBLE_VERBOSITY",
        "ANSIBLE_DEBUG",
    )
)  # fmt: skip
#: Files that hold, or print, a secret: a name that is relative there would be the current folder's file.
_SECRET_FILES = ("ANSIBLE_VAULT_PASSWORD_FILE", "ANSIBLE_BECOME_PASSWORD_FILE", "ANSIBLE_CONNECTION_PASSWORD_FILE")
_SECRET_LIST = "ANSIBLE_VAULT_IDENTITY_LIST"  # noqa: S105 - a variable's name


def configuration_of(inventory: Path, home: Path) -> Path:
    """The configuration that the inventory has in its own folder, beside its files; else the one in `home`.

    Raises:
        InvalidInput: others than root and this account could have written it.
    """
    folder = inventory if inventory.is_dir() else inventory.parent
    own = folder.absolute() / CONFIGURATION
    try:
        owners, modes = zip(*((one.st_uid, one.st_mode) for one in (own.stat(), folder.stat())), strict=True)
    except OSError:
        return home / CONFIGURATION
    others = [uid for uid in owners if uid not in (0, os.geteuid())]
    if others or any(mode & stat.S_IWOTH for mode in modes):
        why = f"belongs to the account {others[0]}" if others else "can be written by everybody, or its folder can"
        hint = "give it and its folder to root or to the account that runs Slotcar, and take others' right to write"
        raise InvalidInput([Problem(str(own), 0, "", f"{why}: Ansible would run the plugins that it names", "", hint)])
    return own


def caller_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of the caller's environment that Ansible gets, without what the current folder could mean by them.

    Raises:
        InvalidInput: a file with a secret is not named by its whole path.
    """
    relative = [(name, environment.get(name, "")) for name in _SECRET_FILES]
    listed = environment.get(_SECRET_LIST, "").split(",")
    relative += [(_SECRET_LIST, one.rpartition("@")[2].strip()) for one in listed]
    hint = "say its whole path: Ansible runs in a folder of its own"
    wrong = [
        Problem(name, 0, "", "is not a whole path", value, hint)
        for name, value in relative
        if value and value != "prompt" and not Path(value).expanduser().is_absolute()
    ]
    if wrong:
        raise InvalidInput(wrong)
    kept = {name: value for name, value in environment.items() if not is_left_out(name)}
    return kept | searched_elsewhere(kept)


def is_left_out(name: str) -> bool:
    """Whether a variable of the caller's is kept from Ansible. Those with `_` before are its developers' own."""
    return name in LEFT_OUT or name.startswith("_ANSIBLE_")
