"""The way in: a filter for each interface, with a policer for each reserved flow and each SLS. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slotcar.base.assured import UNNAMED, AssuredClass
from slotcar.base.vocabulary import ASSURED_DSCPS, RESERVED_SERVICES, Service
from slotcar.network.model import Device, InterfaceId
from slotcar.platforms.capability import require_known_ports
from slotcar.platforms.intent.model import AggregatePolicer, EdgeFlow, QosIntent
from slotcar.platforms.juniper_junos.document import label_of, port_and_unit
from slotcar.platforms.juniper_junos.facts import JunosOptions
from slotcar.platforms.juniper_junos.limits import JUNOS, LONGEST_NAME
from slotcar.platforms.juniper_junos.objects import (
    ASSURED,
    ASSURED_CLASS,
    FLOW,
    PREFIX,
    PREMIUM,
    QBSS,
    Attached,
    Call,
    Filter,
    Object,
    Policer,
    Term,
    ThreeColorPolicer,
)  # fmt: skip
from slotcar.platforms.model import Unrenderable
from slotcar.platforms.options import options_of

#: Junos takes no burst of less than what the rate brings in this time (Traffic Policers User Guide: 5 ms are advised).
BURST_US = 5_000
#: Terms of what stands without reservations.
RESET, REST = f"{PREFIX}RESET", f"{PREFIX}REST"
#: What an SLS's term and policer are called after.
_SHORT = {Service.IP_PREMIUM: "EF", Service.ASSURED_RATE: "AF1"}
#: Loss priorities of green, yellow and red; Junos's policers set them so (Traffic Policers User Guide).
LOSSES = ("low", "medium-high", "high")


def class_of(service: Service, options: JunosOptions, assured: AssuredClass = UNNAMED) -> str:
    """The forwarding class of a service, or of a class of the assured rate."""
    if assured.name:
        return f"{ASSURED_CLASS}{assured.name}"
    own = {Service.IP_PREMIUM: PREMIUM, Service.ASSURED_RATE: ASSURED, Service.QBSS: QBSS}
    return own.get(service, options.best_effort_class)


def ingress_of(intent: QosIntent, device: Device) -> Iterator[Object]:
    """
    Raises:
        Unrenderable: a rate, a burst or a name that Junos does not take.
    """
    interfaces = {*(f.interface for f in intent.flows), *(a.interface for a in intent.aggregates), *intent.untrusted}
    for interface in sorted(interfaces, key=str):
        yield from _Input(interface, intent, device).objects()


def checked_name(name: str, device: Device) -> str:
    """
    Raises:
        Unrenderable: it is longer than Junos takes.
    """
    if len(name) > LONGEST_NAME:
        raise Unrenderable(f"{device.name}: the name {name} is wanted, and names have {LONGEST_NAME} letters at most")
    return name


class _Input:
    """One interface: its filter, policers, and where it is asked."""

    def __init__(self, interface: InterfaceId, intent: QosIntent, device: Device) -> None:
        self._interface = interface
        self._name = interface.name
        self._label = label_of(interface.name, device.name)
        self._device = device
        self._options = options_of(device, JunosOptions)
        self._flows = sorted((f for f in intent.flows if f.interface == interface), key=_most_specific_first)
        self._agreed = {a.key: a for a in intent.aggregates if a.interface == interface}
        self._promised = intent.promised(interface)
        self._guarded = intent.guarded
        self._is_untrusted = interface in intent.untrusted

    def objects(self) -> Iterator[Object]:
        port, unit = port_and_unit(self._name, self._device.name)
        name = checked_name(f"{PREFIX}IN-{self._label}", self._device)
        operators = self._options.of_interface("input_filter", self._name)
        policed = [*map(self._flow, self._flows)]
        for agreed in self._ordered_slses():
            policed += self._remarked(agreed) if agreed.arriving else [self._sls(agreed)]
        yield from (policer for policer, _ in policed if policer is not None)
        terms = (*(term for _, term in policed), *self._reset())
        if operators:
            yield Filter(name, tuple(map(_before_others, terms)))
            yield Call(operators, name)
        else:
            yield Filter(name, (*terms, Term(REST)))
            yield Attached(port, unit, name)

    def _ordered_slses(self) -> list[AggregatePolicer]:
        order = {key: place for place, key in enumerate(self._guarded)}
        return sorted(self._agreed.values(), key=lambda one: (order.get(one.key, len(order)), one.sls))

    def _flow(self, flow: EdgeFlow) -> tuple[Object | None, Term]:
        name, service_class = f"{FLOW}{flow.number}", class_of(flow.service, self._options, flow.assured)
        require_known_ports(flow, "Junos' filters")
        if flow.service not in RESERVED_SERVICES:
            clears = flow.service is Service.BEST_EFFORT
            return None, Term(
                name, flow.match, forwarding_class=service_class, loss_priority="low", clears_dscp=clears, counter=name
            )
        rate_bps, burst_bytes = policer(flow)
        if flow.service is Service.IP_PREMIUM:
            term = Term(
                name, flow.match, policer=name, forwarding_class=service_class, loss_priority="low", counter=name
            )
            return Policer(name, rate_bps, burst_bytes), term
        if len(flow.assured.dscps) == 1:  # what exceeds has no code point of its own
            term = Term(
                name, flow.match, policer=name, forwarding_class=service_class, loss_priority="low", counter=name
            )
            return Policer(name, rate_bps, burst_bytes, self._options.best_effort_class), term
        peak_bps, peak_burst_bytes = _numbers(flow.pir_bps, flow.pbs_bytes, f"{flow.interface}, {flow.label}")
        # Junos takes no loss priority beside a policer that sets one.
        term = Term(
            name, flow.match, policer=name, three_color="two-rate", forwarding_class=service_class, counter=name
        )
        return ThreeColorPolicer(name, rate_bps, burst_bytes, peak_bps, peak_burst_bytes), term

    def _sls(self, agreed: AggregatePolicer) -> tuple[Object | None, Term]:
        """An SLS (GARA §4.2). Of an assured rate it is the green traffic that has an agreed rate; yellow and red pass as
        what they are, first to be dropped, as on the other platforms; unless one policer is to see all colours."""
        where, name, rate_bps, burst_bytes = self._of_sls(agreed)
        service_class = class_of(agreed.service, self._options, agreed.assured)
        if agreed.service is Service.ASSURED_RATE and self._options.colour_aware:
            if agreed.excess == "drop":
                raise Unrenderable(
                    f"{where}: excess is to be dropped, and a colour-aware policer of Junos drops red alone;"
                    " say `excess: remark`, or leave `colour_aware` out"
                )
            term = Term(
                name, dscps=ASSURED_DSCPS, policer=name, three_color="single-rate", forwarding_class=service_class
            )
            return ThreeColorPolicer(name, rate_bps, burst_bytes, rate_bps, burst_bytes, aware=True), term
        demote_to = None if agreed.excess == "drop" else self._options.best_effort_class
        term = Term(
            name,
            dscps=self._guarded[agreed.key][:1],
            policer=name,
            forwarding_class=service_class,
            loss_priority="low",
        )
        return Policer(name, rate_bps, burst_bytes, demote_to), term

    def _of_sls(self, agreed: AggregatePolicer) -> tuple[str, str, int, int]:
        """Where it stands, its name, and its policer's numbers."""
        where = f"{self._interface}, SLS {agreed.sls}"
        if agreed.service not in _SHORT:
            raise Unrenderable(f"{where}: {self._device.platform} polices no aggregate of {agreed.service.value}")
        special = agreed.assured.name or agreed.arriving
        if agreed.service is Service.ASSURED_RATE and special and self._options.colour_aware:
            raise Unrenderable(
                f"{where}: a colour-aware policer is for an assured rate without classes, with its own code points; leave"
                " `colour_aware` out"
            )
        short = f"AC-{agreed.assured.name}" if agreed.assured.name else _SHORT[agreed.service]
        name = checked_name(f"{PREFIX}SLS-{short}-{self._label}", self._device)
        return where, name, *_numbers(agreed.rate_bps, agreed.burst_bytes, where)

    def _remarked(self, agreed: AggregatePolicer) -> Iterator[tuple[Object | None, Term]]:
        """An SLS whose traffic comes in with other code points. The filter gives it its forwarding class and loss priority,
        and on the way out the rewrite rule gives it the domain's code points."""
        _, name, rate_bps, burst_bytes = self._of_sls(agreed)
        demote_to = None if agreed.excess == "drop" else self._options.best_effort_class
        service_class = class_of(agreed.service, self._options, agreed.assured)
        first, *others = agreed.arriving
        yield (
            Policer(name, rate_bps, burst_bytes, demote_to),
            Term(name, dscps=(first,), policer=name, forwarding_class=service_class, loss_priority="low"),
        )
        for number, dscp in enumerate(others, 2):
            single = len(agreed.assured.dscps) == 1
            to_class = self._options.best_effort_class if single else service_class
            loss = "high" if single or number == len(LOSSES) else LOSSES[number - 1]
            term = checked_name(f"{name}-{number}", self._device)
            yield None, Term(term, dscps=(dscp,), forwarding_class=to_class, loss_priority=loss)

    def _reset(self) -> list[Term]:
        """Code points that nobody gave become best effort (D7.3 §3.2.1, policing)."""
        guarded = [dscp for key, dscps in self._guarded.items() if key not in self._promised for dscp in dscps]
        if not self._is_untrusted or not guarded:
            return []
        return [
            Term(
                RESET,
                dscps=tuple(guarded),
                forwarding_class=self._options.best_effort_class,
                loss_priority="low",
                clears_dscp=True,
            )
        ]


def _most_specific_first(flow: EdgeFlow) -> tuple[int, int]:
    bound = 2 - (flow.match.source_port, flow.match.destination_port).count(None)
    return -bound, flow.number


def _before_others(term: Term) -> Term:
    """In front of an operator's terms only what a reservation names is accepted. What goes by a code point goes on to them:
    anybody could set it to get past. No packet has two of these code points, so none meets two of these terms."""
    return replace(term, goes_on=term.match is None)


def policer(flow: EdgeFlow) -> tuple[int, int]:
    return _numbers(flow.cir_bps, flow.cbs_bytes, f"{flow.interface}, {flow.label}")


def _numbers(rate_bps: int, burst_bytes: int, where: str) -> tuple[int, int]:
    """A policer's rate and burst, no less than wanted."""
    rate_bps = JUNOS.rate(rate_bps, where)
    return rate_bps, JUNOS.burst(max(burst_bytes, -(-rate_bps * BURST_US // 8_000_000)), where)
