"""Checks of what is shaped towards SLSs: whether the platform can, and whether each SLS has a queue of its own there."""

from __future__ import annotations

from collections.abc import Iterator

from slotcar.base.assured import class_key
from slotcar.base.registry import FOLDERS, facts_of
from slotcar.base.vocabulary import Service
from slotcar.network.building import InventoryDraft
from slotcar.network.findings import Findings
from slotcar.network.model import Interface, Sls
from slotcar.network.reading import Key


def check_shaping(draft: InventoryDraft, findings: Findings) -> None:
    """Notes interfaces that cannot shape what leaves there towards an SLS."""
    for interface in draft.interfaces.values():
        towards = list(_towards(draft, interface)) if interface.shapes_to_sls else []
        device = draft.devices.get(interface.id.device)
        if device is None or not towards:
            continue
        node, key = draft.nodes[device.name], _key(draft, interface)
        facts = facts_of(device.platform).shaper
        if facts is None:
            able = ", ".join(name for name in FOLDERS if facts_of(name).shaper)
            message = (
                f"cannot be on {device.platform}, which shapes no single queue, and {towards[0].name} is the SLS there"
            )
            hint = f"leave it out: what exceeds the SLS is dropped by {towards[0].downstream}; {able} can"
            findings.add(node, key, message, "true", hint)
        elif interface.scheduler in facts.not_with:
            others = " or ".join(one for one in facts_of(device.platform).schedulers if one not in facts.not_with)
            findings.add(
                node, key, f"cannot be with the scheduler {interface.scheduler}, which shapes nothing", "true",
                f"take {others} there",
            )  # fmt: skip
        else:
            _own_queues(draft, interface, towards, findings)


def _towards(draft: InventoryDraft, interface: Interface) -> Iterator[Sls]:
    """The SLSs into which the interface leads."""
    for sls in draft.sls.values():
        if sls.ingress == interface.neighbour and sls.upstream == draft.domain_of.get(interface.id.device):
            yield sls


def _own_queues(draft: InventoryDraft, interface: Interface, towards: list[Sls], findings: Findings) -> None:
    """Two SLSs behind one queue at a time could not be kept apart by its shaper."""
    by_queue: dict[str, Sls] = {}
    for sls in towards:
        name = interface.class_of(sls.assured_class) if sls.service is Service.ASSURED_RATE else ""
        other = by_queue.setdefault(class_key(sls.service, name), sls)
        if other.assured_class != sls.assured_class:
            message = f"cannot be towards {other.name} and {sls.name}, to which one queue leads there"
            hint = f"name classes in slotcar_domain of {sls.upstream} too"
            findings.add(draft.nodes[interface.id.device], _key(draft, interface), message, "true", hint)


def _key(draft: InventoryDraft, interface: Interface) -> Key:
    """Where it was written: at the interface, or for the whole router."""
    written = draft.nodes[interface.id.device].variables["slotcar_interfaces"][interface.id.name]
    if written.get("shape_to_sls") is not None:
        return ("slotcar_interfaces", interface.id.name, "shape_to_sls")
    return ("slotcar_shape_to_sls",)
