"""Runs the reader of Ansible inventories and holds what it found: variables by host and domain, and their places."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slotcar.base.files import require_regular
from slotcar.base.located_yaml import require_bounded
from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.shipped import shipped
from slotcar.base.texts import lines_of
from slotcar.network.ansible_environment import caller_variables, configuration_of

READER = Path(__file__).with_name("ansible_reader.py")
#: A NetBox behind a slow link answers within it; a script that waits for a terminal does not hang us for ever.
TIMEOUT_S = 120
Key = tuple[str, ...]
#: What Ansible takes for YAML in an inventory and beside it.
_YAML_SUFFIXES = ("", ".yml", ".yaml", ".json")
_STRUCTURE_HINT = "an inventory is a file or a folder of Ansible's, for example inventories/lab"
#: Of Ansible's own, at the end of a sentence about something else.
_PYTHON_CLASS = re.compile(r",? got: <class '[^']*'>")
VAULT_HINT = "name the file with the vault's password in ANSIBLE_VAULT_PASSWORD_FILE"


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """A file, or the name of a source that is none, and a line (0: unknown)."""

    file: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class InventoryNode:
    """A host or a domain of the inventory with the variables that Ansible gives it, templates expanded.

    Attributes:
        declared: where the inventory names it.
        problems: variables whose template or secret failed, with Ansible's sentence.
        written: keys as somebody wrote them, by those that they became: an interface's short name is a full one by then.
    """

    name: str
    groups: frozenset[str]
    variables: Mapping[str, Any]
    places: Mapping[Key, SourceLocation]
    declared: SourceLocation
    problems: tuple[tuple[Key, str], ...] = field(default=())
    written: Mapping[Key, Key] = field(default_factory=dict)

    def as_written(self, key: Key) -> Key:
        """The key as it stands in the inventory."""
        for length in range(len(key), 0, -1):
            if key[:length] in self.written:
                return (*self.written[key[:length]], *key[length:])
        return key

    def place(self, key: Key) -> SourceLocation:
        """Where this variable, or the nearest thing around it, was written; else where the node is named."""
        key = self.as_written(key)
        for length in range(len(key), 0, -1):
            if key[:length] in self.places:
                return self.places[key[:length]]
        return self.declared


@dataclass(frozen=True, slots=True)
class Inventory:
    """What was read. `domains` are the groups directly below the group `domains`."""

    source: str
    hosts: Mapping[str, InventoryNode]
    domains: Mapping[str, InventoryNode]


def read_inventory(inventory: Path, vault_password_file: Path | None = None) -> Inventory:
    """Reads with Ansible's InventoryManager and VariableManager, in a process of their own.

    Raises:
        InvalidInput: the inventory does not exist, Ansible refuses it, or it takes longer than `TIMEOUT_S`.
    """
    return _read(inventory, vault_password_file)


def read_connections(
    inventory: Path, devices: Collection[str], vault_password_file: Path | None = None
) -> dict[str, dict[str, Any]]:
    """How these devices are reached: their variables `ansible_…` and `slotcar_…` by name, secrets in the clear. What has no
    value here, because its template or its secret failed, is left out.

    Raises:
        InvalidInput: see `read_inventory`.
    """
    hosts = _read(inventory, vault_password_file, "--connections").hosts
    return {
        name: {key: value for key, value in hosts[name].variables.items() if value is not None}
        for name in devices
        if name in hosts
    }


def _read(inventory: Path, vault_password_file: Path | None, *options: str) -> Inventory:
    if not inventory.exists():
        hint = "say --inventory FOLDER or set SLOTCAR_INVENTORY; `slotcar init` writes one"
        raise InvalidInput([Problem(str(inventory), 0, "", "there is no such inventory", "", hint)])
    _require_files(inventory, vault_password_file)
    answer = _run(inventory, vault_password_file, options)
    paths = _CallerPaths(inventory)
    if "error" in answer:
        error = answer["error"]
        place = paths.place(error["file"], error["line"])
        message = _PYTHON_CLASS.sub("", paths.text(error["message"]))
        hint = vault_hint(message) or (_STRUCTURE_HINT if "invalid structure" in message else "")
        raise InvalidInput([Problem(place.file, place.line, "", f"Ansible: {message}", "", hint)])
    return Inventory(
        source=str(inventory),
        hosts={name: _node(name, node, paths) for name, node in answer["hosts"].items()},
        domains={name: _node(name, node, paths) for name, node in answer["domains"].items()},
    )


def _require_files(inventory: Path, vault_password_file: Path | None) -> None:
    """
    Raises:
        InvalidInput: what Ansible would read without end: a FIFO, a socket or a device in the place of a file, or YAML
        that is nested or grows beyond reason.
    """
    named = [vault_password_file, os.environ.get("ANSIBLE_VAULT_PASSWORD_FILE")]
    read = [Path(one) for one in named if one]
    if inventory.is_dir():
        read += [Path(folder, name) for folder, _, names in os.walk(inventory) for name in names]
    else:
        read.append(inventory)
    problems: list[Problem] = []
    for path in read:
        try:
            require_regular(path.stat(), path)
            if path.suffix in _YAML_SUFFIXES:
                require_bounded(path)
        except FileNotFoundError:
            continue  # Ansible's own words for it say more
        except InvalidInput as error:
            problems += error.problems
        except OSError as error:
            problems.append(Problem(str(path), 0, "", error.strerror or "cannot be read"))
    if problems:
        raise InvalidInput(problems)


def vault_hint(message: str) -> str:
    """What to do where Ansible's sentence is about a secret that it cannot decrypt."""
    return VAULT_HINT if "vault" in message else ""


def _run(inventory: Path, vault_password_file: Path | None, options: Sequence[str]) -> dict[str, Any]:
    command = [sys.executable, "-P", str(READER), str(_absolute(inventory)), *options]
    if vault_password_file is not None:
        command += ["--vault-password-file", str(_absolute(vault_password_file))]
    with tempfile.TemporaryDirectory(prefix="slotcar-inventory-") as scratch:
        try:
            done = subprocess.run(  # noqa: S603 - Ansible's own program, as a list and without a shell
                command, env=_environment(inventory, scratch), cwd=scratch, capture_output=True, text=True,
                timeout=TIMEOUT_S, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            problem = Problem(str(inventory), 0, "", f"Ansible did not read it within {TIMEOUT_S} s")
            raise InvalidInput([problem]) from error
    if done.returncode != 0:
        last = lines_of(done.stderr.strip() or "no message")[-1]
        raise InvalidInput([Problem(str(inventory), 0, "", f"Ansible cannot read it: {last}")])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _environment(inventory: Path, scratch: str) -> dict[str, str]:
    """The caller's (`caller_variables`), with what makes Ansible strict and quiet unless the caller chose otherwise.

    Raises:
        InvalidInput: see `configuration_of` and `caller_variables`.
    """
    strict = {
        "ANSIBLE_DUPLICATE_YAML_DICT_KEY": "error",
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
        "ANSIBLE_INVENTORY_UNPARSED_FAILED": "true",
        "ANSIBLE_DEPRECATION_WARNINGS": "false",
        "ANSIBLE_LOCALHOST_WARNING": "false",
    }
    always = {
        "LC_ALL": "C.UTF-8", "ANSIBLE_LOCAL_TEMP": scratch, "ANSIBLE_NOCOLOR": "true", "PWD": scratch,
        "ANSIBLE_CONFIG": str(configuration_of(inventory, shipped())),
    }  # fmt: skip
    state_dir = os.environ.get("SLOTCAR_STATE_DIR")  # an inventory may look it up, as the lab's does
    whole = {"SLOTCAR_STATE_DIR": str(Path(state_dir).absolute())} if state_dir else {}
    return strict | caller_variables(os.environ) | always | whole


def _absolute(path: Path) -> Path:
    """An absolute path as Ansible makes it: `..` taken out, links left alone."""
    return Path(os.path.normpath(path.absolute()))


class _CallerPaths:
    """Paths as the caller wrote the inventory's: below it where they are, else absolute."""

    def __init__(self, inventory: Path) -> None:
        folder = inventory if inventory.is_dir() else inventory.parent
        self._folder = folder
        self._absolute = _absolute(folder)
        self._inventory = str(inventory)

    def place(self, file: str, line: int) -> SourceLocation:
        if not file:
            return SourceLocation(self._inventory)
        path = Path(file)
        if path.is_absolute() and path.is_relative_to(self._absolute):
            return SourceLocation(str(self._folder / path.relative_to(self._absolute)), line)
        return SourceLocation(self.text(file), line)

    def text(self, text: str) -> str:
        return text.replace(str(self._absolute), str(self._folder))


def _node(name: str, node: dict[str, Any], paths: _CallerPaths) -> InventoryNode:
    return InventoryNode(
        name=name,
        groups=frozenset(node["groups"]),
        variables=node["variables"],
        places={tuple(path): paths.place(file, line) for path, file, line in node["places"]},
        declared=paths.place(node["file"], node["line"]),
        problems=tuple((tuple(path), paths.text(message)) for path, message in node["problems"]),
    )
