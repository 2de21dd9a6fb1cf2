"""The way in of a router with modular QoS: a list for each flow, and the classes of each interface's policy. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from slotcar.intent.model import AggregatePolicer, EdgeFlow, QosIntent
from slotcar.platforms.capability import Capability
from slotcar.platforms.ios.facts import FLOW_ACLS
from slotcar.platforms.ios.objects import FLOW, AccessList, Entry, PolicyClass
from slotcar.platforms.model import Unrenderable
from slotcar.vocabulary import Service

LABEL_LETTERS = 80


def list_of(flow: EdgeFlow, name: str, mark: str = "", *, remark_last: bool = False) -> AccessList:
    """The access list that a flow is known by. Its remark, before its entry, is the flow's label after `mark`.

    `remark_last`: of a list that is edited in place. IOS appends: to put another remark before an entry, the entry would
    have to go and come again, and its flow's packets would be without a class meanwhile.
    """
    match = flow.match
    entry = Entry(
        match.protocol.value,
        str(match.source_address), match.source_port, str(match.destination_address), match.destination_port,
    )  # fmt: skip
    remark = Entry(remark=f"{mark}{flow.label[:LABEL_LETTERS]}".rstrip())
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
    taken: set[int] = set()
    acl_of: dict[int, int] = {}
    for number in numbers:
        place = number % FLOW_ACLS
        while place in taken:
            place = (place + 1) % FLOW_ACLS
        taken.add(place)
        acl_of[number] = acls[place]
    return acl_of


def inputs_of(
    intent: QosIntent,
    flow_class: Callable[[EdgeFlow, str], PolicyClass],
    agreed_class: Callable[[AggregatePolicer], PolicyClass],
    reset: Callable[[str], PolicyClass],
    guarded: Mapping[Service, str],
    order: Iterable[str],
) -> dict[str, list[PolicyClass]]:
    """Classes by interface: flows, then SLSs, then the code points that nobody gave (D7.3 §3.2.1, policing).

    Args:
        flow_class: a flow's class, by the name that it is to have.
        reset: the class of code points that nobody gave.
        guarded: the standing class of each service whose code points must be given.
        order: of the standing classes.
    """
    inputs: dict[str, list[PolicyClass]] = {}
    for flow in intent.flows:
        inputs.setdefault(flow.interface.name, []).append(flow_class(flow, f"{FLOW}{flow.number}"))
    places = {name: place for place, name in enumerate(order)}
    for interface in sorted({*(a.interface for a in intent.aggregates), *intent.untrusted}, key=str):
        agreed = {a.service: a for a in intent.aggregates if a.interface == interface}
        aggregates = [agreed_class(aggregate) for _, aggregate in sorted(agreed.items())]
        if interface in intent.untrusted:
            aggregates += [reset(name) for service, name in guarded.items() if service not in agreed]
        inputs.setdefault(interface.name, []).extend(sorted(aggregates, key=lambda one: places[one.name]))
    return inputs


def check_classes(inputs: Mapping[str, list[PolicyClass]], capability: Capability, device: str) -> None:
    """
    Raises:
        Unrenderable: more classes than a policy has.
    """
    for name, classes in inputs.items():
        capability.check_classes(len(classes) + 1, f"{device} {name}")
