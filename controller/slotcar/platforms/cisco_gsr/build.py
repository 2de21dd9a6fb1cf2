"""From intent to owned objects of a 12000: numbered lists and policers on the way in. The way out is in `egress`."""

from __future__ import annotations

from slotcar.base.vocabulary import PRECEDENCE, RESERVED_SERVICES, Service
from slotcar.network.model import Device
from slotcar.platforms.cisco_gsr.egress import Outputs, cos_queue_groups, policies
from slotcar.platforms.cisco_gsr.facts import GsrOptions, Queueing
from slotcar.platforms.cisco_gsr.limits import (
    LONGEST_NAME,
    capability_of,
)
from slotcar.platforms.cisco_gsr.marks import (
    AF,
    AF_IN,
    BEST_EFFORT,
    EF,
    POINTS,
    PREMIUM,
    QBSS,
    exceeding_of,
    precedences_of,
)
from slotcar.platforms.intent.model import AggregatePolicer, EdgeFlow, QosIntent
from slotcar.platforms.ios.class_names import all_of, conforming_of
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.ingress import Ingress, check_names, flow_numbers, input_policy, list_of, with_policies
from slotcar.platforms.ios.objects import (
    FLOW,
    ClassMap,
    Interface,
    Mark,
    Match,
    Police,
    PolicyClass,
    named,
)
from slotcar.platforms.ios.reading import MARK
from slotcar.platforms.ios.renderer import Built
from slotcar.platforms.model import Unrenderable
from slotcar.platforms.options import options_of


def owned_of(intent: QosIntent, device: Device) -> Built:
    """The objects that the device is to have, and where they differ from the intent.

    Raises:
        Unrenderable: a number, a name, a class or an option that a 12000 has not.
    """
    options = options_of(device, GsrOptions)
    numbers = flow_numbers(intent.flows, options.flow_acls, device.name, device.platform)
    ingress = _ingress(intent)
    inputs = ingress.inputs(intent, device, capability_of(device))
    queueing = policies if options.queueing is Queueing.MQC else cos_queue_groups
    outputs: Outputs = queueing(intent.egress, device)
    classes_of = {input_policy(name): classes for name, classes in inputs.items()} | outputs.policies
    used = {one.name for classes in classes_of.values() for one in classes}
    flow_maps = [
        ClassMap(f"{FLOW}{flow.number}", "match-any", (Match(acl=str(numbers[flow.number])),)) for flow in intent.flows
    ]
    owned = Ios(
        lists=named(list_of(flow, str(numbers[flow.number]), MARK) for flow in intent.flows),
        class_maps=named([*ingress.class_maps("match-any", used), *flow_maps]),
        groups=outputs.groups,
        slot_tables=named([outputs.slot_table] if outputs.slot_table else []),
        rx_cos={one.slot: one for one in outputs.slots},
        interfaces={
            name: Interface(
                name,
                input_policy=input_policy(name) if name in inputs else "",
                output_policy=outputs.output_policies.get(name, ""),
                tx_cos=outputs.tx_cos.get(name, ""),
            )
            for name in {**inputs, **outputs.output_policies, **outputs.tx_cos}
        },
    )
    check_names([*classes_of, *outputs.groups], "the name", LONGEST_NAME, device)
    return with_policies(owned, classes_of), outputs.approximations


def policer(flow: EdgeFlow, device: Device) -> tuple[int, int]:
    limits, where = capability_of(device), f"{flow.interface.device} {flow.interface.name}, {flow.label}"
    return limits.rate(flow.cir_bps, where), limits.burst(flow.cbs_bytes, where)


def _flow_class(flow: EdgeFlow, name: str, device: Device) -> PolicyClass:
    """Precedence can express two of RFC 2698's three colours: committed traffic is in profile, all other is out."""
    if flow.service not in RESERVED_SERVICES:
        return PolicyClass(name, mark=Mark("precedence", PRECEDENCE[flow.service]))
    premium = flow.service is Service.IP_PREMIUM
    police = Police(
        *policer(flow, device),
        conform=f"set-prec-transmit {PREMIUM if premium else precedences_of(flow.assured)[0]}",
        exceed="drop" if premium else f"set-prec-transmit {exceeding_of(flow.assured)}",
    )
    return PolicyClass(name, police=police)


def _agreed(aggregate: AggregatePolicer, device: Device) -> list[PolicyClass]:
    """An SLS. Of an assured rate it is the traffic in profile that has an agreed rate; the rest passes, first to be
    dropped, as on the other platforms."""
    where = f"{aggregate.interface.device} {aggregate.interface.name}, SLS {aggregate.sls}"
    assured = conforming_of(aggregate.assured) if aggregate.assured.name else AF_IN
    name = {Service.IP_PREMIUM: EF, Service.ASSURED_RATE: assured}.get(aggregate.service)
    if name is None:
        raise Unrenderable(f"{where}: cisco-gsr polices no aggregate of {aggregate.service.value}")
    limits = capability_of(device)
    police = Police(
        limits.rate(aggregate.rate_bps, where),
        limits.burst(aggregate.burst_bytes, where),
        conform="transmit",
        exceed="drop" if aggregate.excess == "drop" else f"set-prec-transmit {BEST_EFFORT}",
    )
    return [PolicyClass(name, police=police)]


def _ingress(intent: QosIntent) -> Ingress:
    points, guarded = {EF: POINTS[EF]}, {Service.IP_PREMIUM.value: EF}
    for one in intent.assured:
        guarded[one.key] = all_of(one) if one.name else AF
        precedences = precedences_of(one)
        names = {all_of(one): precedences, conforming_of(one): precedences[:1]}
        points |= names if one.name else {name: POINTS[name] for name in (AF, AF_IN)}
    points[QBSS] = POINTS[QBSS]
    best_effort = Mark("precedence", BEST_EFFORT)
    return Ingress(_flow_class, _agreed, best_effort=best_effort, guarded=guarded, points=points)
