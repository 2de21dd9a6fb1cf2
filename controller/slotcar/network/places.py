"""Places of resource managers in an inventory: hosts with cores or disks to reserve, and whatever third parties manage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from slotcar.base.registry import facts_of
from slotcar.managers import Place, ResourceManager, WrongVariable, managers
from slotcar.network.findings import Findings
from slotcar.network.model import Device
from slotcar.network.reading import InventoryNode

#: The platform of places whose managers have call-outs of their own.
CALL_OUTS = "resource-manager"
OPTIONS = ("slotcar_options",)


class Places(Protocol):
    """The places of resource managers that a draft of a network has."""

    nodes: dict[str, InventoryNode]
    devices: dict[str, Device]


def variables_of_managers() -> tuple[str, ...]:
    """The variables that the installed managers read."""
    return tuple(sorted({name for manager in managers().values() for name in manager.variables}))


def variables_of(node: InventoryNode) -> tuple[str, ...]:
    """The variables among them that the node has."""
    return tuple(name for name in variables_of_managers() if node.variables.get(name) is not None)


def is_place(node: InventoryNode) -> bool:
    """Whether a node of a domain is a place of a manager and no router."""
    return bool(variables_of(node)) and "slotcar_interfaces" not in node.variables


def add_place(draft: Places, name: str, domain: str, findings: Findings) -> None:
    """Notes what is wrong with the variables, and adds the device where nothing is."""
    node = draft.nodes[name]
    place = Place(name, node.variables)
    resources: dict[str, dict[str, int]] = {}
    used: list[ResourceManager] = []
    for manager in managers().values():
        try:
            capacities = manager.capacities(place)
        except WrongVariable as error:
            findings.add(node, error.path, error.message, error.value, error.hint)
            continue
        if capacities:
            used.append(manager)
            resources[manager.kind] = dict(sorted(capacities.items()))
    platforms = {manager.platform or CALL_OUTS for manager in used}
    if len(platforms) > 1:
        kinds = " and ".join(manager.kind for manager in used)
        findings.add(node, (), f"is a place of {kinds}, which are given in different ways", "", "make a host for each")
    elif resources:
        platform = platforms.pop()
        options = _own_options(draft, node)
        if options is not None:
            findings.parse(facts_of(platform).options, node, OPTIONS, options)
        draft.devices[name] = Device(
            name=name,
            domain=domain,
            platform=platform,
            interfaces={},
            options=dict(sorted(options.items())) if isinstance(options, Mapping) else {},
            resources=dict(sorted(resources.items())),
        )


def _own_options(draft: Places, node: InventoryNode) -> Any:
    """What is written as `slotcar_options` for this place and not for routers of a group that it is in, too."""
    options = node.variables.get(OPTIONS[0])
    routers = (one for one in draft.nodes.values() if "slotcar_interfaces" in one.variables)
    if any(one.place(OPTIONS) == node.place(OPTIONS) and one.variables.get(OPTIONS[0]) == options for one in routers):
        return None
    return options
