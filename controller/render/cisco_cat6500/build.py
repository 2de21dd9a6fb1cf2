"""From intent to the lines of a Catalyst 6500: class and policer per flow on ingress, queues per port on egress."""

from __future__ import annotations

import re
from collections.abc import Iterable

from controller.intent.model import AggregatePolicer, EdgeFlow, QosIntent
from controller.network.model import Device, InterfaceId
from controller.render.cisco_cat6500 import limits
from controller.render.cisco_cat6500.egress import queueing_lines
from controller.render.cisco_cat6500.limits import where
from controller.render.cisco_cat6500.marks import Marks, maps_for, marks_of
from controller.render.cisco_cat6500.tree import FLOW, OWNS, OWNS_MAPS, PREFIX, by_rank, parsed
from controller.render.model import Unrenderable
from controller.render.text import Family
from controller.vocabulary import Service

TEMPLATES = Family("cisco")
REMARKED = "policed-dscp-transmit"
_NAME = re.compile(r"^[A-Za-z0-9._-]+$")


class Draft:
    """Lines by kind, while they are collected."""

    def __init__(self, device: Device, marks: Marks) -> None:
        self.device = device
        self.marks = marks
        self.objects: list[str] = []
        self.policies: dict[str, list[str]] = {}
        self.ports: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self.owned: set[str] = set()
        self.notes: list[str] = []

    def add_class(self, interface: InterfaceId, name: str, *actions: str) -> None:
        self.policies.setdefault(interface.name, []).extend([f" class {name}", *(f"  {one}" for one in actions)])

    def lines(self) -> tuple[str, ...]:
        found = list(self.objects)
        if self.owned:
            found += TEMPLATES.lines("cat-owned", name=OWNS, places=sorted(self.owned))
        for interface, classes in self.policies.items():
            name = PREFIX + interface
            if len(name) > limits.LONGEST_NAME:
                raise Unrenderable(f"{where(self.device.name, interface)}: {name} is too long for a policy-map's name")
            found += [f"policy-map {name}", *classes]
        for interface in sorted({*self.policies, *self.ports}):
            policy = [f"service-policy input {PREFIX}{interface}"] if interface in self.policies else []
            trust, queueing = self.ports.get(interface, ((), ()))
            found += [f"interface {interface}", *(f" {line}" for line in (*trust, *policy, *queueing))]
        tree = parsed(found)
        for name, drafted in tree.policies.items():
            tree.policies[name] = by_rank(tree, drafted)
        return tree.lines()


def lines_of(intent: QosIntent, device: Device) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Canonical lines, and in words what they do otherwise than the intent wants.

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
    return draft.lines(), tuple(draft.notes)


def _flow(draft: Draft, flow: EdgeFlow) -> None:
    name = f"{FLOW}{flow.number}"
    draft.objects += TEMPLATES.lines(
        "cat-acl",
        name=name,
        label=flow.label[:80],
        protocol=flow.match.protocol.value,
        source=flow.match.source_address,
        source_port=flow.match.source_port,
        destination=flow.match.destination_address,
        destination_port=flow.match.destination_port,
    )
    draft.objects += TEMPLATES.lines("cat-class", name=name, acl=name)
    draft.add_class(flow.interface, name, _police(draft, flow))


def _police(draft: Draft, flow: EdgeFlow) -> str:
    """Premium's excess is dropped, an assured rate's re-marked by the switch's maps; QBSS is marked and not limited."""
    device, place = draft.device, where(draft.device.name, flow.interface.name)
    conform = draft.marks.set_action(flow.service)
    if flow.service is Service.QBSS:
        return TEMPLATES.line(
            "cat-police",
            microflow=False,
            peak_bps=0,
            rate_bps=limits.RATE_BPS.ceiling,
            burst_bytes=limits.BURST_BYTES.ceiling,
            conform=conform,
            exceed="transmit",
        )
    rate_bps = limits.rate(flow.cir_bps, place)
    burst_bytes = limits.burst(flow.cbs_bytes, rate_bps, flow.match.protocol, device, place)
    assured = flow.service is Service.ASSURED_RATE
    peak_bps = limits.rate(min(flow.pir_bps, limits.RATE_BPS.ceiling), place) if assured else 0
    peak_bytes = limits.burst(flow.pbs_bytes, peak_bps, flow.match.protocol, device, place)
    return TEMPLATES.line(
        "cat-police",
        microflow=not assured and _one_microflow(draft.device, flow),
        rate_bps=rate_bps,
        burst_bytes=burst_bytes,
        peak_bps=peak_bps
        if peak_bps > rate_bps
        else 0,  # both below the least rate: one bucket, and all excess is red
        peak_bytes=max(peak_bytes, burst_bytes),
        conform=conform,
        exceed=REMARKED if assured else "drop",
    )


def _one_microflow(device: Device, flow: EdgeFlow) -> bool:
    """A microflow policer gives its rate to each connection, so only a flow with both ports bound may have one."""
    bound = None not in (flow.match.source_port, flow.match.destination_port)
    return bound and device.options.get("microflow") is True


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
    draft.objects += TEMPLATES.lines(
        "cat-aggregate",
        name=name,
        rate_bps=rate_bps,
        burst_bytes=limits.burst(aggregate.burst_bytes, rate_bps, None, draft.device, place),
        exceed="drop" if aggregate.excess == "drop" else REMARKED,
    )
    conforming = draft.marks.conforming(aggregate.service)
    draft.add_class(aggregate.interface, _code_points(draft, conforming), "trust dscp", f"police aggregate {name}")
    if aggregate.service is Service.ASSURED_RATE:
        draft.add_class(aggregate.interface, _code_points(draft, *draft.marks.assured[1:]), "trust dscp")
        if aggregate.excess != "drop":
            draft.notes.append(_remarked(draft, aggregate, place))


def _code_points(draft: Draft, *dscps: int) -> str:
    """The class of these code points, made where it is not there yet."""
    values = draft.marks.values(*dscps)
    name = f"{PREFIX}{draft.marks.keyword.upper()}-{'-'.join(str(value) for value in values)}"
    draft.objects += TEMPLATES.lines("cat-class", name=name, acl="", field=draft.marks.match, values=values)
    return name


def _remarked(draft: Draft, aggregate: AggregatePolicer, place: str) -> str:
    """
    Raises:
        Unrenderable: the operator has not allowed approximations.
    """
    said = (
        f"{place}: what exceeds the SLS {aggregate.sls} becomes DSCP {draft.marks.assured[2]}, dropped first in its"
        " class, and not best effort: the switch has one table of re-marking for flows and SLSs"
    )
    if not limits.approximates(draft.device):
        raise Unrenderable(said)
    return said


def _scavengers(draft: Draft, intent: QosIntent) -> None:
    """QBSS is open to everybody (D7.3 §8.1.3): its code point is believed where all others are reset."""
    for egress in intent.egress:
        served = any(queue.service is Service.QBSS and queue.share_ppm > 0 for queue in egress.queues)
        if served and egress.interface in intent.untrusted:
            name = _code_points(draft, draft.marks.conforming(Service.QBSS))
            draft.add_class(egress.interface, name, "trust dscp")


def _ports(draft: Draft, intent: QosIntent) -> None:
    """Queues of every port, and trust where code points come from this domain: elsewhere `mls qos` resets them itself."""
    untrusted = set(intent.untrusted)
    for egress in intent.egress:
        name = egress.interface.name
        queueing, notes = queueing_lines(egress, draft.device)
        trust: tuple[str, ...] = () if egress.interface in untrusted else ("mls qos trust dscp",)
        if queueing or trust:
            draft.ports[name] = trust, queueing
            draft.owned.add(name)
        draft.notes += notes


def _maps(draft: Draft, intent: QosIntent) -> None:
    """From shares and SLSs only, so that reservations come and go without touching the switch's maps."""
    shares = {queue.service for egress in intent.egress for queue in egress.queues if queue.share_ppm > 0}
    promised = {one.service for one in intent.aggregates}
    remarked = any(one.service is Service.IP_PREMIUM and one.excess != "drop" for one in intent.aggregates)
    maps = maps_for(draft.marks, Service.ASSURED_RATE in shares | promised, remarked)
    for (table, dscp), value in maps.items():
        draft.objects += TEMPLATES.lines("cat-map", table=table, dscp=dscp, value=value)
    if maps:
        draft.owned.add(OWNS_MAPS)


def _check_policers(draft: Draft) -> None:
    """
    Raises:
        Unrenderable: more policers than the PFC holds.
    """
    actions = {line.strip() for lines in draft.policies.values() for line in lines if "police " in line}
    micro = sum(one.startswith("police flow ") for one in actions)
    total = sum("police " in line and "police flow " not in line for line in _all(draft.policies.values()))
    for wanted, most, what in (
        (micro, limits.MOST_MICROFLOW_POLICERS, "different microflow policers"),
        (total, limits.MOST_POLICERS, "policers"),
    ):
        if wanted > most:
            raise Unrenderable(f"{draft.device.name}: {wanted} {what} at once, and the PFC holds {most}")


def _all(lists: Iterable[list[str]]) -> Iterable[str]:
    return (line for lines in lists for line in lines)
