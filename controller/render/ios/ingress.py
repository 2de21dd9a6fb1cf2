"""The way in of a router with modular QoS: a list for each flow, and the classes of each interface's policy. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from controller.intent.model import AggregatePolicer, EdgeFlow, QosIntent
from controller.render.capability import Capability
from controller.render.ios.owned import PREFIX, PolicyClass
from controller.render.text import Family
from controller.vocabulary import Service

TEMPLATES = Family("cisco")
LABEL_LETTERS = 80


def list_of(template: str, flow: EdgeFlow) -> tuple[str, ...]:
    """The access list that a flow is known by."""
    return TEMPLATES.lines(
        template,
        protocol=flow.match.protocol.value,
        source=flow.match.source_address,
        source_port=flow.match.source_port,
        destination=flow.match.destination_address,
        destination_port=flow.match.destination_port,
        label=flow.label[:LABEL_LETTERS],
    )


def inputs_of(
    intent: QosIntent,
    flow_body: Callable[[EdgeFlow], tuple[str, ...]],
    agreed_class: Callable[[AggregatePolicer], PolicyClass],
    reset: Iterable[str],
    guarded: Mapping[Service, str],
    order: Iterable[str],
) -> dict[str, list[PolicyClass]]:
    """Classes by interface: flows, then SLSs, then the code points that nobody gave (D7.3 §3.2.1, policing).

    Args:
        reset: what is done with code points that nobody gave.
        guarded: the standing class of each service whose code points must be given.
        order: of the standing classes.
    """
    found: dict[str, list[PolicyClass]] = {}
    for flow in intent.flows:
        found.setdefault(flow.interface.name, []).append(PolicyClass(f"{PREFIX}F{flow.number}", flow_body(flow)))
    places = {name: place for place, name in enumerate(order)}
    for interface in sorted({*(a.interface for a in intent.aggregates), *intent.untrusted}, key=str):
        agreed = {a.service: a for a in intent.aggregates if a.interface == interface}
        standing = [agreed_class(aggregate) for _, aggregate in sorted(agreed.items())]
        if interface in intent.untrusted:
            standing += [PolicyClass(name, tuple(reset)) for service, name in guarded.items() if service not in agreed]
        found.setdefault(interface.name, []).extend(sorted(standing, key=lambda one: places[one.name]))
    return found


def check_classes(inputs: Mapping[str, list[PolicyClass]], capability: Capability, device: str) -> None:
    """
    Raises:
        Unrenderable: more classes than a policy has.
    """
    for name, classes in inputs.items():
        capability.check_classes(len(classes) + 1, f"{device} {name}")
