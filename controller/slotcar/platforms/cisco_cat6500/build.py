"""From intent to the objects of a Catalyst 6500: class and policer per flow on ingress, queues per port on egress."""

from __future__ import annotations

import re
from collections.abc import Iterator

from slotcar.base.vocabulary import Service
from slotcar.network.model import Device, InterfaceId
from slotcar.platforms.cisco_cat6500 import limits
from slotcar.platforms.cisco_cat6500.egress import queueing
from slotcar.platforms.cisco_cat6500.facts import CatalystOptions
from slotcar.platforms.cisco_cat6500.limits import port_type, where
from slotcar.platforms.cisco_cat6500.marks import BY_DSCP, OWNS_MAPS, Marks, maps_for, marks_of
from slotcar.platforms.colours import two_colours
from slotcar.platforms.intent.model import AggregatePolicer, EdgeFlow, QosIntent
from slotcar.platforms.ios import objects
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.ingress import list_of
from slotcar.platforms.ios.objects import (
    FLOW,
    PREFIX,
    ClassMap,
    Interface,
    Match,
    PfcPolice,
    PolicyClass,
    PolicyMap,
    Wrr,
)
from slotcar.platforms.ios.order import canonical, ranked
from slotcar.platforms.ios.owned_places import OWNS, owns_list
from slotcar.platforms.ios.reading import MARK
from slotcar.platforms.ios.renderer import Built
from slotcar.platforms.model import Approximation, Unrenderable
from slotcar.platforms.options import options_of
from slotcar.platforms.strict_priority import without_ceiling

REMARKED = "policed-dscp-transmit"
_NAME = re.compile(r"^[A-Za-z0-9._-]+$")


class Draft:
    """Objects by kind, while they are collected. `owned` is what `SLOTCAR-OWNS` is to tell of."""

    def __init__(self, device: Device, marks: Marks) -> None:
        self.device = device
        self.marks = marks
        self.ios = Ios()
        self.classes: dict[str, list[PolicyClass]] = {}
        self.ports: dict[str, tuple[bool, Wrr | None]] = {}
        self.owned: set[str] = set()
        self.approximations: list[Approximation] = []

    def add_class(self, interface: InterfaceId, one: PolicyClass) -> None:
        self.classes.setdefault(interface.name, []).append(one)

    def finished(self) -> Ios:
        """
        Raises:
            Unrenderable: an interface's name is too long to name a policy map.
        """
        ios = self.ios
        if self.owned:
            ios.lists[OWNS] = owns_list(self.owned)
        for interface, classes in self.classes.items():
            name = PREFIX + interface
            if len(name) > limits.LONGEST_NAME:
                raise Unrenderable(f"{where(self.device.name, interface)}: {name} is too long for a policy-map's name")
            in_order = canonical(ranked(classes, ios), ios, by_name=True)
            ios.policies[name] = PolicyMap(name, in_order)
        for name in {*self.classes, *self.ports}:
            trust, wrr = self.ports.get(name, (False, None))
            policy = PREFIX + name if name in self.classes else ""
            ios.interfaces[name] = Interface(name, trust=trust, input_policy=policy, wrr=wrr)
        return ios


def owned_of(intent: QosIntent, device: Device) -> Built:
    """The objects that the switch is to have, and where they differ from the intent.

    Raises:
        Unrenderable: more classes than queues, or a number or a name that the switch does not take.
    """
    draft = Draft(device, marks_of(device))
    for flow in intent.flows:
        if flow.service is not Service.BEST_EFFORT:
            _flow(draft, flow)
    for aggregate in intent.aggregates:
        _aggregate(draft, aggregate)
    _scavengers(draft, intent)
    _ports(draft, intent)
    _maps(draft, intent)
    _check_policers(draft)
    colours = () if draft.marks is BY_DSCP else two_colours(intent)
    strict = (one for one in intent.egress if port_type(device, one.interface.name).capability.priority_queue)
    return draft.finished(), (*colours, *draft.approximations, *without_ceiling(strict, device.name))


def _flow(draft: Draft, flow: EdgeFlow) -> None:
    name = f"{FLOW}{flow.number}"
    draft.ios.lists[name] = list_of(flow, name, MARK)
    draft.ios.class_maps[name] = ClassMap(name, "match-all", (Match(acl=name),))
    draft.add_class(flow.interface, PolicyClass(name, pfc_police=_police(draft, flow)))


def policer(flow: EdgeFlow, device: Device) -> tuple[int, int]:
    place = where(device.name, flow.interface.name)
    rate_bps = limits.rate(flow.cir_bps, place)
    return rate_bps, limits.burst(flow.cbs_bytes, rate_bps, flow.match.protocol, device, place)


def _police(draft: Draft, flow: EdgeFlow) -> PfcPolice:
    """Premium's excess is dropped, an assured rate's re-marked by the switch's maps; QBSS is marked and not limited."""
    device, place = draft.device, where(draft.device.name, flow.interface.name)
    conform = draft.marks.set_action(flow.service)
    if flow.service is Service.QBSS:
        burst_bytes = limits.BURST_BYTES.ceiling
        return PfcPolice(limits.RATE_BPS.ceiling, burst_bytes, burst_bytes, conform, "transmit")
    rate_bps, burst_bytes = policer(flow, device)
    if flow.service is not Service.ASSURED_RATE:
        micro = _one_microflow(device, flow)
        return PfcPolice(rate_bps, burst_bytes, 0 if micro else burst_bytes, conform, "drop", microflow=micro)
    peak_bps = limits.rate(min(flow.pir_bps, limits.RATE_BPS.ceiling), place)
    peak_bytes = max(burst_bytes, limits.burst(flow.pbs_bytes, peak_bps, flow.match.protocol, device, place))
    draft.approximations += _peak_rate(draft, flow, rate_bps, peak_bps)
    if peak_bps <= rate_bps:  # both below the least rate, or at the highest: one bucket, and all excess is red
        return PfcPolice(rate_bps, burst_bytes, burst_bytes, conform, REMARKED)
    return PfcPolice(rate_bps, burst_bytes, peak_bytes, conform, REMARKED, peak_bps=peak_bps, violate=REMARKED)


def _peak_rate(draft: Draft, flow: EdgeFlow, rate_bps: int, peak_bps: int) -> Iterator[Approximation]:
    """Where the PFC has no peak rate of its own for the flow, or a lower one; told apart only by marks of both excesses."""
    name, (_, yellow, red) = flow.interface.name, draft.marks.assured
    if peak_bps <= rate_bps and flow.pir_bps > flow.cir_bps:
        otherwise = (
            f"its committed and its peak rate are one, {rate_bps} bit/s, {flow.cir_bps} and {flow.pir_bps} wanted: all that"
            " exceeds it is dropped as early as what exceeds the peak rate"
        )
    elif peak_bps < flow.pir_bps:
        otherwise = f"its peak rate is {peak_bps} bit/s, {flow.pir_bps} wanted"
    else:
        return
    if yellow != red:
        words = f"{name}: {flow.label}: {otherwise}"
        yield Approximation(draft.device.name, f"{name} {flow.label} peak rate", words)


def _one_microflow(device: Device, flow: EdgeFlow) -> bool:
    """A microflow policer gives its rate to each connection, so only a flow with both ports bound may have one."""
    bound = None not in (flow.match.source_port, flow.match.destination_port)
    return bound and options_of(device, CatalystOptions).microflow


def _aggregate(draft: Draft, aggregate: AggregatePolicer) -> None:
    """An SLS: code points of its service are believed within its rate. Of an assured rate, the rate is that of the
    committed (green) traffic; yellow and red pass as what they are."""
    place, name = where(draft.device.name, aggregate.interface.name), PREFIX + aggregate.sls
    if _NAME.match(name) is None or len(name) > limits.LONGEST_POLICER_NAME:
        room = limits.LONGEST_POLICER_NAME - len(PREFIX)
        raise Unrenderable(
            f"{place}: the SLS {aggregate.sls} cannot name a policer: at most {room} letters, digits, dots,"
            " dashes and underscores"
        )
    rate_bps = limits.rate(aggregate.rate_bps, place)
    burst_bytes = limits.burst(aggregate.burst_bytes, rate_bps, None, draft.device, place)
    exceed = "drop" if aggregate.excess == "drop" else REMARKED
    police = PfcPolice(rate_bps, burst_bytes, burst_bytes, "transmit", exceed)
    draft.ios.policers[name] = objects.AggregatePolicer(name, police)
    conforming = _code_points(draft, draft.marks.conforming(aggregate.service))
    draft.add_class(aggregate.interface, PolicyClass(conforming, trust=True, aggregate=name))
    if aggregate.service is Service.ASSURED_RATE:
        excess = _code_points(draft, *draft.marks.assured[1:])
        draft.add_class(aggregate.interface, PolicyClass(excess, trust=True))
        if aggregate.excess != "drop":
            draft.approximations.append(_remarked(draft, aggregate))


def _code_points(draft: Draft, *dscps: int) -> str:
    """The class of these code points, made where it is not there yet."""
    values = draft.marks.values(*dscps)
    name = f"{PREFIX}{draft.marks.keyword.upper()}-{'-'.join(str(value) for value in values)}"
    draft.ios.class_maps[name] = ClassMap(name, "match-all", (Match(field=draft.marks.match, points=values),))
    return name


def _remarked(draft: Draft, aggregate: AggregatePolicer) -> Approximation:
    """
    Raises:
        Unrenderable: the operator has not allowed approximations.
    """
    name = aggregate.interface.name
    words = (
        f"{name}: what exceeds the SLS {aggregate.sls} becomes DSCP {draft.marks.assured[2]}, dropped first in its"
        " class, and not best effort: the switch has one table of re-marking for flows and SLSs"
    )
    if not limits.approximates(draft.device):
        raise Unrenderable(f"{draft.device.name} {words}")
    return Approximation(draft.device.name, f"{name} SLS {aggregate.sls} excess", words)


def _scavengers(draft: Draft, intent: QosIntent) -> None:
    """QBSS is open to everybody (D7.3 §8.1.3): its code point is believed where all others are reset."""
    for egress in intent.egress:
        served = any(queue.service is Service.QBSS and queue.share_ppm > 0 for queue in egress.queues)
        if served and egress.interface in intent.untrusted:
            name = _code_points(draft, draft.marks.conforming(Service.QBSS))
            draft.add_class(egress.interface, PolicyClass(name, trust=True))


def _ports(draft: Draft, intent: QosIntent) -> None:
    """Queues of every port, and trust where code points come from this domain: elsewhere `mls qos` resets them itself."""
    untrusted = set(intent.untrusted)
    for egress in intent.egress:
        name = egress.interface.name
        wrr, approximations = queueing(egress, draft.device)
        trust = egress.interface not in untrusted
        if wrr or trust:
            draft.ports[name] = trust, wrr
            draft.owned.add(name)
        draft.approximations += approximations


def _maps(draft: Draft, intent: QosIntent) -> None:
    """From shares and SLSs only, so that reservations come and go without touching the switch's maps."""
    shares = {queue.service for egress in intent.egress for queue in egress.queues if queue.share_ppm > 0}
    promised = {one.service for one in intent.aggregates}
    remarked = any(one.service is Service.IP_PREMIUM and one.excess != "drop" for one in intent.aggregates)
    draft.ios.maps.update(maps_for(draft.marks, Service.ASSURED_RATE in shares | promised, remarked))
    if draft.ios.maps:
        draft.owned.add(OWNS_MAPS)


def _check_policers(draft: Draft) -> None:
    """
    Raises:
        Unrenderable: more policers than the PFC holds.
    """
    classes = [one for classes in draft.classes.values() for one in classes]
    micro = len({one.pfc_police for one in classes if one.pfc_police and one.pfc_police.microflow})
    total = sum(bool(one.aggregate) or bool(one.pfc_police and not one.pfc_police.microflow) for one in classes)
    for wanted, most, what in (
        (micro, limits.MOST_MICROFLOW_POLICERS, "different microflow policers"),
        (total, limits.MOST_POLICERS, "policers"),
    ):
        if wanted > most:
            raise Unrenderable(f"{draft.device.name}: {wanted} {what} at once, and the PFC holds {most}")
