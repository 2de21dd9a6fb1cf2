"""Reads an inventory with Ansible's own code and writes what Slotcar needs of it as JSON.

Runs as a script in a process of its own (see reading.py): Ansible keeps global state, prints, insists on a UTF-8
locale and makes folders when it is imported, and a dynamic inventory may hang. It imports nothing of Slotcar.

Output: {"hosts": {NAME: NODE}, "domains": {NAME: NODE}} or {"error": {"message", "file", "line"}}, where NODE is
{"groups": [...], "file", "line", "variables": {...}, "places": [[[PATH...], FILE, LINE], ...], "problems": [...]}.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

PREFIX = "slotcar_"
#: Of the variables that say how a host is reached; read where `--connections` asks for them.
OF_CONNECTIONS = "ansible_"
DOMAINS_GROUP = "domains"
#: Stands in a domain's group for the moment of reading: sees what a router sees that sets nothing itself.
PROBE = "slotcar-probe-of-{}"


def main() -> int:
    # Plugins and dynamic scripts may print: keep the real standard output for the answer alone.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    parser = argparse.ArgumentParser()
    parser.add_argument("inventory")
    parser.add_argument("--vault-password-file", action="append", default=[])
    parser.add_argument("--connections", action="store_true")
    options = parser.parse_args()
    prefixes = (PREFIX, OF_CONNECTIONS) if options.connections else (PREFIX,)
    with answer:
        json.dump(read(options.inventory, options.vault_password_file, prefixes), answer)
    return 0


def read(inventory: str, vault_password_files: list[str], prefixes: tuple[str, ...]) -> dict[str, Any]:
    from ansible.errors import AnsibleError
    from ansible.inventory import manager

    causes: list[BaseException] = []
    # Ansible prints why each plugin refused a file and raises no more than that all did.
    manager.display.error_as_warning = lambda *_, exception, **__: causes.append(exception)
    try:
        return AnsibleReader(inventory, vault_password_files, prefixes).everything()
    except AnsibleError as error:
        return {"error": _best([*causes, error])}


def _best(errors: list[BaseException]) -> dict[str, Any]:
    """The first error that names a line, or else the first; of an error and its causes, the innermost that has one."""
    variables = []
    for error in errors:
        chain: list[BaseException] = []
        cause: BaseException | None = error
        while cause is not None and cause not in chain:
            chain.insert(0, cause)
            cause = cause.__cause__ or cause.__context__
        for one in chain:
            file, line = _origin(getattr(one, "obj", None))
            variables.append({"message": _sentence(one), "file": file, "line": line, "outer": one is error})
    lined = (one for one in variables if one["line"])
    outer = [one for one in variables if one["outer"]]
    # Every YAML file that is no inventory draws this one beside the one that says why.
    telling = (one for one in outer if "no root 'plugin' key" not in str(one["message"]))
    # Who runs a script wants to know that it failed, whichever plugin Ansible asked before.
    script = (one for one in outer if str(one["message"]).startswith("Inventory script"))
    return next(lined, None) or next(script, None) or next(telling, outer[0])


class AnsibleReader:
    """One inventory, its variables with Ansible's precedence, and the templar that expands them."""

    def __init__(self, inventory: str, vault_password_files: list[str], prefixes: tuple[str, ...]) -> None:
        from ansible import constants
        from ansible.cli import CLI
        from ansible.inventory.manager import InventoryManager
        from ansible.parsing.dataloader import DataLoader
        from ansible.plugins.loader import init_plugin_loader
        from ansible.vars.hostvars import HostVars
        from ansible.vars.manager import VariableManager

        init_plugin_loader()
        self.prefixes = prefixes
        self.loader = DataLoader()
        secrets = CLI.setup_vault_secrets(
            self.loader,
            vault_ids=list(constants.DEFAULT_VAULT_IDENTITY_LIST),
            vault_password_files=list(vault_password_files),
            auto_prompt=False,
        )
        self.loader.set_vault_secrets(secrets)
        self.inventory = InventoryManager(loader=self.loader, sources=[inventory])
        self.variables = VariableManager(loader=self.loader, inventory=self.inventory)
        # Registers itself with the variable manager, so that templates find `hostvars`.
        HostVars(inventory=self.inventory, variable_manager=self.variables, loader=self.loader)

    def everything(self) -> dict[str, Any]:
        hosts = {str(host.name): self.node(host) for host in self.inventory.get_hosts()}
        parent = self.inventory.groups.get(DOMAINS_GROUP)
        domains = {}
        for group in parent.child_groups if parent else ():
            probe = PROBE.format(group.name)
            self.inventory._inventory.add_host(probe, group.name)
            host = self.inventory.get_host(probe)
            for neighbour in group.get_hosts()[:1]:
                # Templates may name the inventory's folder, which Ansible gives to hosts only.
                for key in ("inventory_file", "inventory_dir"):
                    host.set_variable(key, neighbour.vars.get(key))
            domains[str(group.name)] = self.node(host) | _place_of(group.name)
        return {"hosts": hosts, "domains": domains}

    def node(self, host: Any) -> dict[str, Any]:
        from ansible.template import Templar

        everything = self.variables.get_vars(host=host)
        ours = {key: value for key, value in everything.items() if key.startswith(self.prefixes)}
        templar = Templar(loader=self.loader, variables=everything)
        problems: list[list[Any]] = []
        variables = {str(key): _expand(value, (str(key),), templar, problems) for key, value in ours.items()}
        places = [[list(path), *place] for key, value in ours.items() for path, place in _places(key, value, ())]
        groups = sorted(str(group.name) for group in host.get_groups())
        node = {"groups": groups, "variables": variables, "places": places, "problems": problems}
        return node | _place_of(host.name)


def _expand(value: Any, path: tuple[str, ...], templar: Any, problems: list[list[Any]]) -> Any:
    """The value with its templates expanded and its secrets decrypted; a leaf that fails is noted and becomes None."""
    from ansible.errors import AnsibleError

    if isinstance(value, dict):
        return {str(key): _expand(item, (*path, str(key)), templar, problems) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_expand(item, (*path, str(index)), templar, problems) for index, item in enumerate(value)]
    try:
        return _plain(templar.template(value))
    except AnsibleError as error:
        problems.append([list(path), _sentence(error)])
        return None


def _plain(value: Any) -> Any:
    """JSON's own types: tags taken off, dates as ISO 8601."""
    if value is None or isinstance(value, bool):
        return value
    for kind in (str, int, float):
        if isinstance(value, kind):
            return kind(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _places(key: Any, value: Any, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, int]]]:
    """Where each key and value was written, as Ansible's data tags tell; a key's line comes before its value's."""
    path = (*above, str(key))
    place = _origin(key) if _origin(key)[0] else _origin(value)
    if place[0]:
        yield path, place
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for child_key, child in children:
        yield from _places(child_key, child, path)


def _place_of(name: Any) -> dict[str, Any]:
    file, line = _origin(name)
    return {"file": file, "line": line}


def _origin(value: Any) -> tuple[str, int]:
    """File and line of a tagged value; an empty file where Ansible does not know."""
    from ansible._internal._datatag._tags import Origin

    origin = value if isinstance(value, Origin) else Origin.get_tag(value) if value is not None else None
    if origin is None:
        return "", 0
    made_by_plugin = re.search(r"with source '(.*)'>$", str(origin.description or ""))
    described = made_by_plugin[1] if made_by_plugin else origin.description
    return str(origin.path or described or ""), int(origin.line_num or 0)


def _sentence(error: BaseException) -> str:
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
