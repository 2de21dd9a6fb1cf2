"""What slot tables count, as one typed name: a service's share of one way through an interface, an SLS, or what a resource
manager manages (a host's cores, its storage).

A name is made and read here only. The network's kinds are in `KINDS`, all others are those of the installed managers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from slotcar.base.assured import class_key
from slotcar.base.problems import SlotcarError
from slotcar.base.units import format_rate
from slotcar.base.vocabulary import Service
from slotcar.managers import ResourceManager, manager_of
from slotcar.network.model import InterfaceId

#: The first words of resources' names.
INTERFACE, SLS = "if", "sls"


class ResourceId(NamedTuple):
    """One resource.

    Attributes:
        kind: a key of `KINDS` (`if` for an interface's share, `sls` for a service-level specification), or a manager's.
        place: where it is: `DEVICE:INTERFACE`, the SLS's name, or a manager's place.
        part: which part of that place: `in:SERVICE` or `out:SERVICE` of an interface, with `/CLASS` after it where the
            assured rate has classes; or a manager's word; empty where there are no parts.
    """

    kind: str
    place: str
    part: str = ""

    @classmethod
    def parse(cls, text: str) -> ResourceId:
        """The resource that `str` wrote.

        Raises:
            ValueError: no kind of resource is written so.
        """
        return _parse(text)

    @property
    def interface(self) -> InterfaceId | None:
        """The interface that this is a share of; None of an SLS and of what a manager manages."""
        return _interface_at(self.place) if self.kind == INTERFACE else None

    @property
    def is_outbound(self) -> bool:
        """Whether it is a share of what leaves the device by an interface."""
        return self.kind == INTERFACE and self.part.startswith("out:")

    @property
    def kind_of(self) -> ResourceKind:
        return KINDS.get(self.kind) or _of_manager(self.kind)

    def __str__(self) -> str:
        return ":".join(filter(None, self))


#: Not a resource: in slot tables, how many reservations with a bound of delay or jitter are open. Nobody asks for its
#: capacity, and who has no bound finds by it, without a question to the database, that nobody else has.
DELAY_BOUNDS = ResourceId("delay-bounds", "network")


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """What all resources of a kind have in common.

    Attributes:
        unit: of its capacities and amounts, as a document names it: `bps`.
        has_parts: whether a name ends in a part, of two words.
        describe: a resource in words, for a refusal.
        format_amount: an amount with its unit, for a refusal.
    """

    unit: str
    has_parts: bool
    describe: Callable[[ResourceId], str]
    format_amount: Callable[[int], str] = format_rate


def managed_resource(kind: str, place: str, part: str = "") -> ResourceId:
    """A manager's resource, or a part of it; in the manager's unit."""
    return ResourceId(kind, place, part)


def interface_resource(
    interface: InterfaceId, direction: str, service: Service, assured_class: str = ""
) -> ResourceId:
    """A service's share, or that of one of its classes, of one direction (`in` or `out`, as the device sees it) of an
    interface, layer 2."""
    return ResourceId(INTERFACE, str(interface), f"{direction}:{class_key(service, assured_class)}")


def sls_resource(name: str) -> ResourceId:
    """An SLS's agreed rate; layer-3 bits per second."""
    return ResourceId(SLS, name)


def sls_pattern() -> str:
    """The pattern by which SQL's `LIKE` finds the names of all SLSs."""
    return str(sls_resource("%"))


def describe(resource: ResourceId) -> str:
    """A resource in words: `ip-premium on lbnl-edge eth1, outbound` or `SLS esnet-lbnl`."""
    return resource.kind_of.describe(resource)


def _describe_interface(resource: ResourceId) -> str:
    interface = _interface_at(resource.place)
    direction, _, service = resource.part.partition(":")
    return f"{service} on {interface.device} {interface.name}, {direction}bound"


@lru_cache(maxsize=65_536)
def _interface_at(place: str) -> InterfaceId:
    device, _, name = place.partition(":")
    return InterfaceId(device=device, name=name)


#: A manager's kind.
_MANAGED = re.compile(r"[a-z][a-z0-9-]{2,40}")
#: By the first word of a resource's name.
KINDS: dict[str, ResourceKind] = {
    INTERFACE: ResourceKind("bps", True, _describe_interface),
    SLS: ResourceKind("bps", False, lambda resource: f"SLS {resource.place}"),
}


@lru_cache
def _of_manager(kind: str) -> ResourceKind:
    """The kind of a resource manager. Without its package, the ledger's resources of that kind stay readable."""
    manager = manager_of(kind)
    if manager is None:
        return ResourceKind("units", False, lambda one: ":".join(filter(None, one)), str)
    return _kind_of(manager)


def _kind_of(manager: ResourceManager) -> ResourceKind:
    return ResourceKind(manager.unit, True, lambda one: manager.describe(one.place, one.part), manager.format_amount)


@lru_cache(maxsize=65_536)
def _parse(text: str) -> ResourceId:
    kind, _, name = text.partition(":")
    if kind not in KINDS and _MANAGED.fullmatch(kind) and name:
        place, _, part = name.partition(":")  # a host's name has no colon
        return ResourceId(kind, place, part)
    if kind not in KINDS or not name:
        raise ValueError(
            f"{text!r} names no resource: the kinds are {', '.join(KINDS)}, and those of resource managers"
        )
    if not KINDS[kind].has_parts:
        return ResourceId(kind, name)
    words = name.rsplit(":", 2)
    if len(words) != 3:
        raise ValueError(f"{text!r} names no part of its place")
    return ResourceId(kind, words[0], f"{words[1]}:{words[2]}")


class NoSuchResource(SlotcarError):
    """No interface's share and no SLS of the inventory is called so."""
