"""What each class of the assured rate has of an interface: its domain's share, where the interface says no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from slotcar.base.assured import AssuredClass
from slotcar.base.model_errors import nearest
from slotcar.base.vocabulary import Service
from slotcar.network.findings import Findings
from slotcar.network.model import Domain, InterfaceId
from slotcar.network.reading import InventoryNode, Key
from slotcar.network.variables import format_share


def classes_on(
    domain: Domain, own_shares: Mapping[str, int], place: InterfaceId, node: InventoryNode, findings: Findings
) -> tuple[AssuredClass, ...]:
    """The domain's classes with their shares of one interface; a share of a class that the domain has not is noted."""
    key = _key(place, "assured_shares", "slotcar_assured_shares", node)
    for name in own_shares:
        if name not in domain.assured_classes:
            others = list(domain.assured_classes)
            hint = nearest(name, others) if others else f"name it in slotcar_domain of {domain.name}, or leave it out"
            message = f"is no assured class of {domain.name}"
            findings.add(node, (*key, name), message, format_share(own_shares[name]), hint)
    return tuple(
        replace(one, share_ppm=own_shares.get(name, one.share_ppm)) for name, one in domain.assured_classes.items()
    )


def shares_with(
    shares: Mapping[Service, int],
    classes: tuple[AssuredClass, ...],
    place: InterfaceId,
    node: InventoryNode,
    findings: Findings,
) -> dict[Service, int]:
    """The services' shares, in which the assured rate has what its classes have together. Where a share was said for all of
    it, that is the most that they may have, and more is noted."""
    if not classes:
        return dict(shares)
    total_ppm, most_ppm = sum(one.share_ppm for one in classes), shares.get(Service.ASSURED_RATE)
    if most_ppm is not None and total_ppm > most_ppm:
        parts = " + ".join(f"{one.name} {format_share(one.share_ppm)}" for one in classes)
        message = f"is less than its classes have together, {parts} = {format_share(total_ppm)}"
        key = (*_key(place, "shares", "slotcar_shares", node), Service.ASSURED_RATE.value)
        findings.add(node, key, message, format_share(most_ppm), f"say {format_share(total_ppm)}, or leave it out")
    return {**shares, Service.ASSURED_RATE: total_ppm}


def _key(place: InterfaceId, own: str, routers: str, node: InventoryNode) -> Key:
    """Where the interface's shares were written: there, or for the whole router."""
    key = ("slotcar_interfaces", place.name, own)
    return key if node.variables["slotcar_interfaces"][place.name].get(own) is not None else (routers,)
