"""Interfaces of an inventory by the names that their routers print, where a platform also takes short ones. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from slotcar.base.registry import FOLDERS, facts_of
from slotcar.base.units import UnitError
from slotcar.network.findings import Findings
from slotcar.network.reading import Inventory, InventoryNode, Key

INTERFACES, OPTIONS = "slotcar_interfaces", "slotcar_options"
#: One of an option that lists some, apart by blanks or commas.
_NAME = re.compile(r"[^\s,]+")
#: By router, its short names and the full ones.
_Names = dict[str, Callable[[str], str]]


def with_full_names(inventory: Inventory, findings: Findings) -> Inventory:
    """The inventory with full names of interfaces, also where others refer to them. What is none is noted."""
    full_names = {name: full_name for name, node in inventory.hosts.items() if (full_name := _full_name_of(node))}
    if not full_names:
        return inventory
    for name in full_names:
        _check(inventory.hosts[name], full_names[name], findings)
    hosts = {name: _with_names(node, full_names) for name, node in inventory.hosts.items()}
    domains = {name: _with_names(node, full_names) for name, node in inventory.domains.items()}
    return replace(inventory, hosts=hosts, domains=domains)


def _full_name_of(node: InventoryNode) -> Callable[[str], str] | None:
    platform = node.variables.get("slotcar_platform")
    facts = facts_of(platform) if isinstance(platform, str) and platform in FOLDERS else None
    if facts is None or facts.interface_name is None or not isinstance(node.variables.get(INTERFACES), Mapping):
        return None
    to_full = facts.interface_name

    def full_name(written: str) -> str:
        try:
            return to_full(written)
        except UnitError:  # it is noted where the router has it, and unknown elsewhere
            return written

    return full_name


def _check(node: InventoryNode, full_name: Callable[[str], str], findings: Findings) -> None:
    to_full = facts_of(node.variables["slotcar_platform"]).interface_name
    assert to_full is not None
    by_full: dict[str, str] = {}
    for written in map(str, node.variables[INTERFACES]):
        key = (INTERFACES, written)
        try:
            to_full(written)
        except UnitError as error:
            findings.add(node, key, error.message, "", error.hint)
        first = by_full.setdefault(full_name(written), written)
        if first != written:
            findings.add(node, key, f"is the interface {first} once more", "", "say each interface once")


def _with_names(node: InventoryNode, full_names: _Names) -> InventoryNode:
    """A node whose references and, if it is such a router, whose own interfaces have full names."""
    variables = dict(node.variables)
    own = full_names.get(node.name)
    keys: dict[Key, Key] = {}
    if isinstance(written := variables.get(INTERFACES), Mapping):
        variables[INTERFACES] = {
            (own(name) if own and isinstance(name, str) else name): _referring(data, "neighbour", full_names)
            for name, data in written.items()
        }
        if own:
            keys = {(INTERFACES, own(name)): (INTERFACES, name) for name in written if isinstance(name, str)}
    if own and isinstance(options := variables.get(OPTIONS), Mapping):
        variables[OPTIONS] = _options(options, node.variables["slotcar_platform"], own)
    if isinstance(sls := variables.get("slotcar_sls"), Mapping):
        variables["slotcar_sls"] = {name: _sls(data, full_names) for name, data in sls.items()}
    variables = _referring(variables, "slotcar_attached_to", full_names)
    return replace(node, variables=variables, written=keys)


def _sls(data: Any, full_names: _Names) -> Any:
    data = _referring(data, "ingress", full_names)
    if isinstance(data, Mapping) and isinstance(egress := data.get("egress"), list):
        return {**data, "egress": [_referring({"one": one}, "one", full_names)["one"] for one in egress]}
    return data


def _referring(data: Any, key: str, full_names: _Names) -> Any:
    """The mapping with a full name in its reference `DEVICE:INTERFACE`."""
    reference = data.get(key) if isinstance(data, Mapping) else None
    if not isinstance(reference, str):
        return data
    device, colon, name = reference.partition(":")
    return {**data, key: f"{device}:{full_names[device](name)}"} if colon and device in full_names else data


def _options(options: Mapping[str, Any], platform: str, own: Callable[[str], str]) -> dict[str, Any]:
    model = facts_of(platform).options
    full: dict[str, Any] = {}
    for key, value in options.items():
        option, colon, name = str(key).partition(":")
        listed = option in model.NAME_INTERFACES and isinstance(value, str)
        full[f"{option}:{own(name)}" if colon and option in model.PER_INTERFACE else key] = (
            _NAME.sub(lambda match: own(match[0]), value) if listed else value
        )
    return full
