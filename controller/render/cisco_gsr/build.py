"""From intent to owned objects of a 12000: numbered lists and policers on the way in. The way out is in `egress`."""

from __future__ import annotations

from collections.abc import Iterable

from controller.intent.model import AggregatePolicer, EdgeFlow, QosIntent
from controller.network.model import Device
from controller.render.cisco_gsr.egress import Outputs, cos_queue_groups, policies
from controller.render.cisco_gsr.limits import (
    FLOW_ACLS,
    LONGEST_NAME,
    Queueing,
    capability_of,
    flow_acls_of,
    queueing_of,
)
from controller.render.cisco_gsr.marks import AF, AF_IN, BEST_EFFORT, EF, IN, OUT, POINTS, PREMIUM, TEMPLATES
from controller.render.ios.ingress import check_classes, inputs_of, list_of
from controller.render.ios.owned import PREFIX, ClassMap, Owned, PolicyClass, ranked
from controller.render.model import Unrenderable
from controller.vocabulary import PRECEDENCE, Service


def owned_of(intent: QosIntent, device: Device) -> tuple[Owned, tuple[str, ...]]:
    """What the device is to have, and in words what that does otherwise than the intent wants.

    Raises:
        Unrenderable: a number, a name, a class or an option that a 12000 has not.
    """
    numbers = flow_numbers(intent.flows, device)
    inputs = _inputs(intent, device)
    queueing = policies if queueing_of(device) is Queueing.MQC else cos_queue_groups
    outputs: Outputs = queueing(intent.egress, device)
    found = {f"{PREFIX}IN-{name}": classes for name, classes in inputs.items()} | outputs.policies
    attached = {name: [TEMPLATES.line("gsr-attach", way="input", policy=f"{PREFIX}IN-{name}")] for name in inputs}
    for name, line in outputs.attachments.items():
        attached.setdefault(name, []).append(line)
    used = {one.name for classes in found.values() for one in classes}
    class_maps = {
        name: ClassMap("match-any", (TEMPLATES.line("gsr-match-precedence", precedences=points),))
        for name, points in POINTS.items()
        if name in used
    }
    for flow in intent.flows:
        line = TEMPLATES.line("gsr-match-list", acl=numbers[flow.number])
        class_maps[f"{PREFIX}F{flow.number}"] = ClassMap("match-any", (line,))
    owned = Owned(
        lists={str(numbers[flow.number]): list_of("gsr-list", flow) for flow in intent.flows},
        class_maps=class_maps,
        sections=outputs.sections,
        settings=outputs.settings,
        interfaces={name: tuple(told) for name, told in attached.items()},
    )
    owned.policies.update({name: ranked(classes, owned) for name, classes in found.items()})
    _check_names([*found, *(head.split()[1] for head in outputs.sections)], device)
    return owned, outputs.approximations


def _check_names(names: Iterable[str], device: Device) -> None:
    for name in names:
        if len(name) > LONGEST_NAME:
            raise Unrenderable(
                f"{device.name}: the name {name} is wanted, and names have {LONGEST_NAME} letters at most"
            )


def flow_numbers(flows: Iterable[EdgeFlow], device: Device) -> dict[int, int]:
    """A list for each flow: its own by number where it is free, so that flows that come and go leave it alone.

    Raises:
        Unrenderable: more flows than lists.
    """
    acls = flow_acls_of(device)
    numbers = sorted(flow.number for flow in flows)
    if len(numbers) > FLOW_ACLS:
        raise Unrenderable(
            f"{device.name}: {len(numbers)} flows at once, and cisco-gsr has the {FLOW_ACLS} lists from {acls[0]} on"
        )
    taken: set[int] = set()
    found: dict[int, int] = {}
    for number in numbers:
        place = number % FLOW_ACLS
        while place in taken:
            place = (place + 1) % FLOW_ACLS
        taken.add(place)
        found[number] = acls[place]
    return found


def _inputs(intent: QosIntent, device: Device) -> dict[str, list[PolicyClass]]:
    found = inputs_of(
        intent,
        flow_body=lambda flow: _flow_body(flow, device),
        agreed_class=lambda aggregate: _agreed(aggregate, device),
        reset=TEMPLATES.lines("gsr-set", precedence=BEST_EFFORT),
        guarded={Service.IP_PREMIUM: EF, Service.ASSURED_RATE: AF},
        order=POINTS,
    )
    check_classes(found, capability_of(device), device.name)
    return found


def _flow_body(flow: EdgeFlow, device: Device) -> tuple[str, ...]:
    """Of RFC 2698's colours precedence can say two: committed traffic is in, all the rest is out."""
    where = f"{flow.interface.device} {flow.interface.name}, {flow.label}"
    if flow.service not in (Service.IP_PREMIUM, Service.ASSURED_RATE):
        return TEMPLATES.lines("gsr-set", precedence=PRECEDENCE[flow.service])
    premium = flow.service is Service.IP_PREMIUM
    limits = capability_of(device)
    return TEMPLATES.lines(
        "gsr-police",
        cir_bps=limits.rate(flow.cir_bps, where),
        bc_bytes=limits.burst(flow.cbs_bytes, where),
        conform=f"set-prec-transmit {PREMIUM if premium else IN}",
        exceed="drop" if premium else f"set-prec-transmit {OUT}",
    )


def _agreed(aggregate: AggregatePolicer, device: Device) -> PolicyClass:
    """An SLS. Of an assured rate it is the traffic in profile that has an agreed rate; the rest passes, first to be
    dropped, as on the other platforms."""
    where = f"{aggregate.interface.device} {aggregate.interface.name}, SLS {aggregate.sls}"
    name = {Service.IP_PREMIUM: EF, Service.ASSURED_RATE: AF_IN}.get(aggregate.service)
    if name is None:
        raise Unrenderable(f"{where}: cisco-gsr polices no aggregate of {aggregate.service.value}")
    limits = capability_of(device)
    body = TEMPLATES.lines(
        "gsr-police",
        cir_bps=limits.rate(aggregate.rate_bps, where),
        bc_bytes=limits.burst(aggregate.burst_bytes, where),
        conform="transmit",
        exceed="drop" if aggregate.excess == "drop" else f"set-prec-transmit {BEST_EFFORT}",
    )
    return PolicyClass(name, body)
