"""What slot tables count, as one typed name: a service's share of one way through an interface, or an SLS.

A name is made and read here only. A further kind of resource (a host's CPU, its storage) is one more entry of `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from controller.network.model import InterfaceId
from controller.units import format_rate
from controller.vocabulary import Service

#: The first words of resources' names.
INTERFACE, SLS = "if", "sls"


class ResourceId(NamedTuple):
    """One resource.

    Attributes:
        kind: a key of `KINDS`: `if` for an interface's share, `sls` for a service-level specification.
        place: where it is: `DEVICE:INTERFACE`, or the SLS's name.
        part: which part of that place: `in:SERVICE` or `out:SERVICE` of an interface; empty where there are no parts.
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
    def kind_of(self) -> ResourceKind:
        return KINDS[self.kind]

    def __str__(self) -> str:
        return ":".join(filter(None, self))


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


def interface_resource(interface: InterfaceId, direction: str, service: Service) -> ResourceId:
    """A service's share of one direction (`in` or `out`, as the device sees it) of an interface, layer 2."""
    return ResourceId(INTERFACE, f"{interface.device}:{interface.name}", f"{direction}:{service.value}")


def sls_resource(name: str) -> ResourceId:
    """An SLS's agreed rate; layer-3 bits per second."""
    return ResourceId(SLS, name)


def describe(resource: ResourceId) -> str:
    """A resource in words: `ip-premium on lbnl-edge eth1, outbound` or `SLS esnet-lbnl`."""
    return resource.kind_of.describe(resource)


def _describe_interface(resource: ResourceId) -> str:
    device, _, port = resource.place.partition(":")
    direction, _, service = resource.part.partition(":")
    return f"{service} on {device} {port}, {direction}bound"


#: By the first word of a resource's name.
KINDS: dict[str, ResourceKind] = {
    INTERFACE: ResourceKind("bps", True, _describe_interface),
    SLS: ResourceKind("bps", False, lambda resource: f"SLS {resource.place}"),
}


@lru_cache(maxsize=65_536)
def _parse(text: str) -> ResourceId:
    kind, _, name = text.partition(":")
    if kind not in KINDS or not name:
        raise ValueError(f"{text!r} names no resource: the kinds are {', '.join(KINDS)}")
    if not KINDS[kind].has_parts:
        return ResourceId(kind, name)
    words = name.rsplit(":", 2)
    if len(words) != 3:
        raise ValueError(f"{text!r} names no part of its place")
    return ResourceId(kind, words[0], f"{words[1]}:{words[2]}")
