"""From intent to the lines of a 7500: flow ACLs, CAR on ingress, ToS weights on egress."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from controller.intent.model import AggregatePolicer, EdgeFlow, Egress, QosIntent
from controller.network.model import Device, InterfaceId
from controller.render.cisco_car.limits import CAR, RATE_OVER_BURST
from controller.render.model import Unrenderable
from controller.render.text import Family
from controller.vocabulary import PRECEDENCE, Service

TEMPLATES = Family("cisco")
#: Numbers that are Slotcar's unless the device's options say otherwise: expanded-range ACLs for flows ...
FIRST_FLOW_ACL = 2600
FLOW_ACLS = 100
#: ... and precedence ACLs of CAR (1 to 99), one for each precedence.
FIRST_PRECEDENCE_ACL = 60
#: What CAR polices when everything is to exceed: its least rate, and a full packet.
NOTHING_BPS, NOTHING_BYTES = CAR.police_bps.floor, 1_500
#: ToS-based WFQ sorts by the two low bits of the precedence (IOS, "fair-queue tos").
TOS_BITS = 0b11


@dataclass(frozen=True, slots=True)
class Weight:
    tos: int
    percent: int


def lines_of(intent: QosIntent, device: Device) -> tuple[str, ...]:
    """Canonical lines: ACLs by number, then interfaces by name with their lines indented by one blank.

    Raises:
        Unrenderable: more flows than ACL numbers, or shares that WFQ's weights cannot express.
    """
    numbers = flow_acls(intent.flows, device)
    inputs: dict[str, list[str]] = {}
    for flow in sorted(intent.flows, key=_most_specific_first):
        if flow.service in _CONFORM:
            inputs.setdefault(flow.interface.name, []).append(_flow_line(flow, numbers[flow.number], device))
    for aggregate in intent.aggregates:
        inputs.setdefault(aggregate.interface.name, []).append(_aggregate_line(aggregate, device))
    for interface in intent.untrusted:
        promised = {a.service for a in intent.aggregates if a.interface == interface}
        inputs.setdefault(interface.name, []).extend(_reset_lines(promised, device))
    outputs = _outputs(intent.egress)
    lines = [*_acl_lines(intent.flows, numbers), *_precedence_lines(device)]
    for name in sorted({*inputs, *outputs}):
        lines += [f"interface {name}", *(f" {line}" for line in (*inputs.get(name, ()), *outputs.get(name, ())))]
    return tuple(lines)


#: What a conforming packet becomes. QBSS is best effort here: its precedence 1 falls into the class of premium's 5.
_CONFORM = {
    Service.IP_PREMIUM: f"set-prec-transmit {PRECEDENCE[Service.IP_PREMIUM]}",
    Service.ASSURED_RATE: f"set-prec-transmit {PRECEDENCE[Service.ASSURED_RATE]}",
}
#: Precedences that ToS-based WFQ cannot tell from a service's own, so that they would be served as it is: 1 and 7.
RIVALS = frozenset(
    precedence
    for precedence in range(8)
    for service in _CONFORM
    if precedence != PRECEDENCE[service] and precedence & TOS_BITS == PRECEDENCE[service] & TOS_BITS
)
_EXCEED = {Service.IP_PREMIUM: "drop", Service.ASSURED_RATE: "set-prec-transmit 0"}


def first_flow_acl(device: Device) -> int:
    return int(device.options.get("first_flow_acl", FIRST_FLOW_ACL))


def precedence_acl(device: Device, precedence: int) -> int:
    return int(device.options.get("first_precedence_acl", FIRST_PRECEDENCE_ACL)) + precedence


def flow_acls(flows: Iterable[EdgeFlow], device: Device) -> dict[int, int]:
    """An ACL number for each flow: its own by number where it is free, so that flows that come and go leave it alone.

    Raises:
        Unrenderable: more than `FLOW_ACLS` flows.
    """
    first, taken, found = first_flow_acl(device), set[int](), dict[int, int]()
    policed = sorted(flow.number for flow in flows if flow.service in _CONFORM)
    if len(policed) > FLOW_ACLS:
        raise Unrenderable(
            f"{device.name}: {len(policed)} flows at once, and cisco-car has the {FLOW_ACLS} ACLs from {first} on"
        )
    for number in policed:
        slot = number % FLOW_ACLS
        while slot in taken:
            slot = (slot + 1) % FLOW_ACLS
        taken.add(slot)
        found[number] = first + slot
    return found


def _acl_lines(flows: Iterable[EdgeFlow], numbers: dict[int, int]) -> list[str]:
    lines: list[str] = []
    for flow in sorted((flow for flow in flows if flow.number in numbers), key=lambda f: numbers[f.number]):
        acl = numbers[flow.number]
        lines += TEMPLATES.lines("car-remark", acl=acl, label=flow.label[:80])
        lines += TEMPLATES.lines(
            "car-match",
            acl=acl,
            protocol=flow.match.protocol.value,
            source=flow.match.source_address,
            source_port=flow.match.source_port,
            destination=flow.match.destination_address,
            destination_port=flow.match.destination_port,
        )
    return lines


def _precedence_lines(device: Device) -> list[str]:
    precedences = sorted({PRECEDENCE[service] for service in _CONFORM} | RIVALS)
    return [TEMPLATES.line("car-precedence", acl=precedence_acl(device, one), precedence=one) for one in precedences]


def _most_specific_first(flow: EdgeFlow) -> tuple[int, int]:
    """CAR stops at the first line that matches: a flow with its ports bound stands before one without."""
    unbound = [flow.match.source_port, flow.match.destination_port].count(None)
    return unbound, flow.number


def _flow_line(flow: EdgeFlow, acl: int, device: Device) -> str:
    rate_bps = CAR.rate(flow.cir_bps, str(flow.interface))
    burst = _burst(flow.cbs_bytes, rate_bps, flow.interface)
    return TEMPLATES.line(
        "car-flow",
        acl=acl,
        rate_bps=rate_bps,
        burst_bytes=burst,
        excess_burst_bytes=burst,  # GARA §5.1: both bursts alike
        conform=_CONFORM[flow.service],
        exceed=_EXCEED[flow.service],
    )


def _aggregate_line(aggregate: AggregatePolicer, device: Device) -> str:
    rate_bps = CAR.rate(aggregate.rate_bps, str(aggregate.interface))
    burst = _burst(aggregate.burst_bytes, rate_bps, aggregate.interface)
    return TEMPLATES.line(
        "car-aggregate",
        acl=precedence_acl(device, PRECEDENCE[aggregate.service]),
        rate_bps=rate_bps,
        burst_bytes=burst,
        excess_burst_bytes=burst,
        conform="transmit",
        exceed="drop" if aggregate.excess == "drop" else "set-prec-transmit 0",
    )


def _reset_lines(promised: Iterable[Service], device: Device) -> list[str]:
    """Precedences that lead into a service's queue are reset where neither a flow nor an SLS gave them."""
    promises = {PRECEDENCE[service] for service in promised}
    return [
        TEMPLATES.line(
            "car-aggregate",
            acl=precedence_acl(device, precedence),
            rate_bps=NOTHING_BPS,
            burst_bytes=NOTHING_BYTES,
            excess_burst_bytes=NOTHING_BYTES,
            conform="set-prec-transmit 0",
            exceed="set-prec-transmit 0",
        )
        for precedence in sorted({PRECEDENCE[service] for service in _CONFORM} | RIVALS)
        if precedence not in promises
    ]


def physical(interface: str) -> str:
    """The interface that a subinterface is on: WFQ on a VIP is set there only (IOS, "Distributed WFQ", Restrictions)."""
    return interface.partition(".")[0]


def _outputs(egresses: Iterable[Egress]) -> dict[str, tuple[str, ...]]:
    """
    Raises:
        Unrenderable: subinterfaces of one interface need different weights.
    """
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for egress in egresses:
        lines = _queueing_lines(egress)
        other, others = found.setdefault(physical(egress.interface.name), (str(egress.interface), lines))
        if others != lines:
            raise Unrenderable(
                f"{egress.interface} and {other} are on one interface, which has one set of weights of fair-queue tos;"
                " give them the same shares"
            )
    return {name: lines for name, (_, lines) in found.items()}


def _queueing_lines(egress: Egress) -> tuple[str, ...]:
    """Weights from the configured shares: WFQ stays as it is while reservations come and go (GARA §5.1)."""
    shares = {queue.service: queue.share_ppm for queue in egress.queues}
    percents = dict.fromkeys(range(1, CAR.queues), CAR.weight.floor)
    for service in _CONFORM:
        percents[PRECEDENCE[service] & TOS_BITS] = max(CAR.weight.floor, -(-shares.get(service, 0) // 10_000))
    if sum(percents.values()) > CAR.weight.ceiling:
        raise Unrenderable(
            f"{egress.interface}: the shares need {sum(percents.values())} % in weights of fair-queue tos"
            f" ({', '.join(f'tos {tos}: {percent}' for tos, percent in sorted(percents.items()))}),"
            f" which are {CAR.weight.ceiling} at most together"
        )
    weights = [Weight(tos, percent) for tos, percent in sorted(percents.items())]
    return TEMPLATES.lines("car-queueing", weights=weights)


def _burst(burst_bytes: int, rate_bps: int, interface: InterfaceId) -> int:
    """
    Raises:
        Unrenderable: more than CAR's largest burst.
    """
    return CAR.burst(max(NOTHING_BYTES, burst_bytes, -(-rate_bps // RATE_OVER_BURST)), str(interface))
