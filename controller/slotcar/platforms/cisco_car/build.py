"""From intent to the objects of a 7500: flow ACLs, CAR on ingress, ToS weights on egress."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar.base.vocabulary import PRECEDENCE, Service
from slotcar.network.model import Device, InterfaceId
from slotcar.platforms.cisco_car.facts import CarOptions
from slotcar.platforms.cisco_car.limits import CAR, RATE_OVER_BURST
from slotcar.platforms.colours import serves
from slotcar.platforms.intent.model import AggregatePolicer, EdgeFlow, Egress, QosIntent
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.ingress import flow_numbers, list_of
from slotcar.platforms.ios.objects import Interface, RateLimit, RateLimitList, TosWeight, named
from slotcar.platforms.ios.owned_places import owns_list
from slotcar.platforms.ios.reading import MARK
from slotcar.platforms.model import Approximation, Unrenderable
from slotcar.platforms.options import options_of

#: What CAR polices when everything is to exceed: its least rate, and a full packet.
NOTHING_BPS, NOTHING_BYTES = CAR.police_bps.floor, 1_500
#: ToS-based WFQ sorts by the two low bits of the precedence (IOS, "fair-queue tos").
TOS_BITS = 0b11
#: What `SLOTCAR-OWNS` says of CAR's lists of precedences, which take no remark; of WFQ's weights it says the interface.
OWNS_PRECEDENCES = "access-list rate-limit"
BEST_EFFORT = "set-prec-transmit 0"
#: What a conforming packet becomes. QBSS is best effort here: its precedence 1 falls into the class of premium's 5.
_CONFORM = {
    Service.IP_PREMIUM: f"set-prec-transmit {PRECEDENCE[Service.IP_PREMIUM]}",
    Service.ASSURED_RATE: f"set-prec-transmit {PRECEDENCE[Service.ASSURED_RATE]}",
}
_EXCEED = {Service.IP_PREMIUM: "drop", Service.ASSURED_RATE: BEST_EFFORT}
#: Precedences that ToS-based WFQ cannot tell from a service's own, so that they would be served as it is: 1 and 7.
RIVALS = frozenset(
    precedence
    for precedence in range(8)
    for service in _CONFORM
    if precedence != PRECEDENCE[service] and precedence & TOS_BITS == PRECEDENCE[service] & TOS_BITS
)
#: Precedences that lead into a service's queue.
_ENTITLING = sorted({PRECEDENCE[service] for service in _CONFORM} | RIVALS)


def owned_of(intent: QosIntent, device: Device) -> Ios:
    """
    Raises:
        Unrenderable: more flows than ACL numbers, or shares that WFQ's weights cannot express.
    """
    options = options_of(device, CarOptions)
    flows = sorted((flow for flow in intent.flows if flow.service in _CONFORM), key=_most_specific_first)
    numbers = flow_numbers(flows, options.flow_acls, device.name, device.platform)
    limits: dict[str, list[RateLimit]] = {}
    for flow in flows:
        limits.setdefault(flow.interface.name, []).append(_flow_limit(flow, numbers[flow.number]))
    for aggregate in intent.aggregates:
        limits.setdefault(aggregate.interface.name, []).append(_aggregate_limit(aggregate, options))
    for interface in intent.untrusted:
        promised = {a.service for a in intent.aggregates if a.interface == interface}
        limits.setdefault(interface.name, []).extend(_resets(promised, options))
    weights = _weights_by_interface(intent.egress)
    return Ios(
        lists=named(
            [
                *(list_of(flow, str(numbers[flow.number]), MARK) for flow in flows),
                owns_list([OWNS_PRECEDENCES, *weights]),
            ]
        ),
        rate_limit_lists=precedence_lists(options.first_precedence_acl),
        interfaces={
            name: Interface(name, rate_limits=tuple(limits.get(name, ())), tos_weights=weights.get(name, ()))
            for name in {**limits, **weights}
        },
    )


def precedence_lists(first: int) -> dict[int, RateLimitList]:
    """CAR's own lists, which are the same whatever is reserved, by number."""
    return {first + precedence: RateLimitList(first + precedence, precedence) for precedence in _ENTITLING}


#: What ToS-based WFQ and CAR do otherwise than the services want: aspect and words.
_OTHERWISE = {
    Service.IP_PREMIUM: (
        "ip-premium priority",
        "ip-premium is served by its weight of fair-queue tos and not in strict priority",
    ),
    Service.ASSURED_RATE: (
        "assured-rate colours",
        "assured-rate has one colour: what exceeds the committed rate becomes best effort, below the peak rate as well",
    ),
    Service.QBSS: (
        "qbss queue",
        "qbss is served as best effort: its precedence would fall into the class of ip-premium, and is reset where"
        " traffic comes in",
    ),
}


def approximations(intent: QosIntent) -> tuple[Approximation, ...]:
    return tuple(Approximation(intent.device, *one) for service, one in _OTHERWISE.items() if serves(intent, service))


def _most_specific_first(flow: EdgeFlow) -> tuple[int, int]:
    """CAR stops at the first line that matches: a flow with its ports bound stands before one without."""
    unbound = [flow.match.source_port, flow.match.destination_port].count(None)
    return unbound, flow.number


def policer(flow: EdgeFlow) -> tuple[int, int]:
    rate_bps = CAR.rate(flow.cir_bps, str(flow.interface))
    return rate_bps, _burst(flow.cbs_bytes, rate_bps, flow.interface)


def _flow_limit(flow: EdgeFlow, acl: int) -> RateLimit:
    rate_bps, burst = policer(flow)  # GARA §5.1: both bursts alike
    return RateLimit(acl, False, rate_bps, burst, burst, _CONFORM[flow.service], _EXCEED[flow.service])


def _aggregate_limit(aggregate: AggregatePolicer, options: CarOptions) -> RateLimit:
    rate_bps = CAR.rate(aggregate.rate_bps, str(aggregate.interface))
    burst = _burst(aggregate.burst_bytes, rate_bps, aggregate.interface)
    acl = options.first_precedence_acl + PRECEDENCE[aggregate.service]
    exceed = "drop" if aggregate.excess == "drop" else BEST_EFFORT
    return RateLimit(acl, True, rate_bps, burst, burst, "transmit", exceed)


def _resets(promised: Iterable[Service], options: CarOptions) -> list[RateLimit]:
    """Precedences that lead into a service's queue are reset where neither a flow nor an SLS gave them."""
    promises = {PRECEDENCE[service] for service in promised}
    return [
        RateLimit(
            options.first_precedence_acl + precedence,
            True, NOTHING_BPS, NOTHING_BYTES, NOTHING_BYTES, BEST_EFFORT, BEST_EFFORT,
        )
        for precedence in _ENTITLING
        if precedence not in promises
    ]  # fmt: skip


def physical(interface: str) -> str:
    """The interface that a subinterface is on: WFQ on a VIP is set there only (IOS, "Distributed WFQ", Restrictions)."""
    return interface.partition(".")[0]


def _weights_by_interface(egresses: Iterable[Egress]) -> dict[str, tuple[TosWeight, ...]]:
    """
    Raises:
        Unrenderable: subinterfaces of one interface need different weights.
    """
    of_interface: dict[str, tuple[str, tuple[TosWeight, ...]]] = {}
    for egress in egresses:
        weights = _weights(egress)
        other, others = of_interface.setdefault(physical(egress.interface.name), (str(egress.interface), weights))
        if others != weights:
            raise Unrenderable(
                f"{egress.interface} and {other} are on one interface, which has one set of weights of fair-queue tos;"
                " give them the same shares"
            )
    return {name: weights for name, (_, weights) in of_interface.items()}


def _weights(egress: Egress) -> tuple[TosWeight, ...]:
    return tuple(TosWeight(tos, percent) for tos, percent in sorted(weights_of(egress).items()))


def weights_of(egress: Egress) -> dict[int, int]:
    """Percent of the line by class of `fair-queue tos`, from the configured shares: WFQ stays as it is while reservations
    come and go (GARA §5.1). Class 0 has the rest.

    Raises:
        Unrenderable: more than all.
    """
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
    return percents


def _burst(burst_bytes: int, rate_bps: int, interface: InterfaceId) -> int:
    """
    Raises:
        Unrenderable: more than CAR's largest burst.
    """
    return CAR.burst(max(NOTHING_BYTES, burst_bytes, -(-rate_bps // RATE_OVER_BURST)), str(interface))
