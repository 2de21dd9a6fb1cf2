"""The way in of a router with modular QoS: a list for each flow, and the classes of each interface's policy. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from slotcar.network.model import Device, InterfaceId
from slotcar.platforms.capability import Capability, require_known_ports
from slotcar.platforms.intent.model import AggregatePolicer, EdgeFlow, QosIntent
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.facts import FLOW_ACLS
from slotcar.platforms.ios.objects import (
    FLOW,
    PREFIX,
    AccessList,
    ClassMap,
    Entry,
    Mark,
    Match,
    PolicyClass,
    PolicyMap,
)
from slotcar.platforms.ios.order import ranked
from slotcar.platforms.ios.words import PROTOCOLS
from slotcar.platforms.model import Unrenderable

LABEL_LETTERS = 80


def list_of(flow: EdgeFlow, name: str, mark: str = "", *, remark_last: bool = False) -> AccessList:
    """The access list that a flow is known by. Its remark, before its entry, is the flow's label after `mark`.

    Raises:
        Unrenderable: the flow has ports that no list knows.

    `remark_last`: of a list that is edited in place. IOS appends: to put another remark before an entry, the entry would
    have to go and come again, and its flow's packets would be without a class meanwhile.
    """
    require_known_ports(flow, "IOS's lists")
    match = flow.match
    entry = Entry(
        PROTOCOLS.get(match.protocol, match.protocol.value),
        str(match.source_address), match.source_port, str(match.destination_address), match.destination_port,
    )  # fmt: skip
    remark = Entry(remark=f"{mark}{flow.label[:LABEL_LETTERS]}".rstrip(" "))
    return AccessList(name, (entry, remark) if remark_last else (remark, entry))


def flow_numbers(flows: Iterable[EdgeFlow], acls: range, device: str, platform: str) -> dict[int, int]:
    """A numbered list for each flow: its own by number where it is free, so that flows that come and go leave it alone.

    Raises:
        Unrenderable: more flows than lists.
    """
    numbers = sorted(flow.number for flow in flows)
    if len(numbers) > FLOW_ACLS:
        raise Unrenderable(
            f"{device}: {len(numbers)} flows at once, and {platform} has the {FLOW_ACLS} lists from {acls[0]} on"
        )
    used: set[int] = set()
    acl_of: dict[int, int] = {}
    for number in numbers:
        place = number % FLOW_ACLS
        while place in used:
            place = (place + 1) % FLOW_ACLS
        used.add(place)
        acl_of[number] = acls[place]
    return acl_of


@dataclass(frozen=True, slots=True)
class Ingress:
    """How a platform serves what comes in.

    Attributes:
        flow_class: a flow's class, by the name that it is to have.
        agreed_classes: an SLS's classes.
        best_effort: what packets get whose code points nobody gave.
        guarded: the standing class of each service, or assured class, whose code points must be given, by its key.
        points: the standing classes in order, each with its code points.
    """

    flow_class: Callable[[EdgeFlow, str, Device], PolicyClass]
    agreed_classes: Callable[[AggregatePolicer, Device], list[PolicyClass]]
    best_effort: Mark
    guarded: Mapping[str, str]
    points: Mapping[str, Sequence[str | int]]

    def inputs(self, intent: QosIntent, device: Device, capability: Capability) -> dict[str, list[PolicyClass]]:
        """Classes by interface: flows, then SLSs, then the code points that nobody gave (D7.3 §3.2.1, policing).

        Raises:
            Unrenderable: more classes than a policy has.
        """
        inputs: dict[str, list[PolicyClass]] = {}
        for flow in intent.flows:
            one = self.flow_class(flow, f"{FLOW}{flow.number}", device)
            inputs.setdefault(flow.interface.name, []).append(one)
        for interface in sorted({*(a.interface for a in intent.aggregates), *intent.untrusted}, key=str):
            inputs.setdefault(interface.name, []).extend(self._aggregate_classes(intent, interface, device))
        for name, classes in inputs.items():
            capability.check_classes(len(classes) + 1, f"{device.name} {name}")
        return inputs

    def _aggregate_classes(self, intent: QosIntent, interface: InterfaceId, device: Device) -> list[PolicyClass]:
        agreed = {a.key: a for a in intent.aggregates if a.interface == interface}
        classes = [one for _, aggregate in sorted(agreed.items()) for one in self.agreed_classes(aggregate, device)]
        if interface in intent.untrusted:
            promised = intent.promised(interface)
            reset = (name for key, name in self.guarded.items() if key not in promised)
            classes += [PolicyClass(name, mark=self.best_effort) for name in reset]
        places = {name: place for place, name in enumerate(self.points)}
        return sorted(classes, key=lambda one: places[one.name])

    def class_maps(self, how: str, used: Collection[str]) -> list[ClassMap]:
        """The class maps of the standing classes that are used."""
        return [
            ClassMap(name, how, (Match(field=self.best_effort.field, points=tuple(points)),))
            for name, points in self.points.items()
            if name in used
        ]


def input_policy(name: str) -> str:
    """The name of an interface's policy map on the way in."""
    return f"{PREFIX}IN-{name}"


def check_names(names: Iterable[str], kind: str, longest: int, device: Device) -> None:
    """
    Raises:
        Unrenderable: a name is longer than the platform takes.
    """
    for name in names:
        if len(name) > longest:
            raise Unrenderable(f"{device.name}: {kind} {name} is wanted, and names have {longest} letters at most")


def with_policies(owned: Ios, classes_of: Mapping[str, list[PolicyClass]]) -> Ios:
    """The objects with these policy maps, each with its classes in the order in which they are asked."""
    owned.policies.update({name: PolicyMap(name, ranked(classes, owned)) for name, classes in classes_of.items()})
    return owned
