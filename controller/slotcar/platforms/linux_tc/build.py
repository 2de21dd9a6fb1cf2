"""From intent to the kernel's objects.

Ingress: a filter for each flow polices and marks (GARA §4.2), each SLS polices its aggregate, and code points that nobody
gave are reset. Egress: filters by code point choose the class, and a scheduler serves the classes (`queues.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

from slotcar.base.vocabulary import DSCP, Service
from slotcar.network.model import Device, Interface, InterfaceId
from slotcar.platforms.intent.model import AggregatePolicer, EdgeFlow, Egress, QosIntent
from slotcar.platforms.linux_tc import numbers
from slotcar.platforms.linux_tc.limits import LINUX
from slotcar.platforms.linux_tc.marks import marked
from slotcar.platforms.linux_tc.objects import (
    Action,
    Clsact,
    Filter,
    Key,
    Pass,
    Police,
    TcObject,
    code_point,
    mark,
    steer,
)
from slotcar.platforms.linux_tc.queues import minors_of, queues_of
from slotcar.platforms.model import Approximation, Unrenderable

#: Flows: three preferences for each number of unbound ports, so that the most specific filter is asked first and each
#: colour of a meter is followed by the next.
FLOWS_FROM = 20_810
COLOURS = 3
AGGREGATES, CLASSIFIERS, RESETS = 20_850, 20_870, 20_890
#: Longest interface name (IFNAMSIZ), and the handles that a filter can have.
LONGEST_NAME = 15
MOST_FLOWS = 2**31


def objects_of(intent: QosIntent, device: Device) -> tuple[tuple[TcObject, ...], tuple[Approximation, ...]]:
    """All objects in the order in which they can be made, and where they differ from the intent.

    Raises:
        Unrenderable: a name or a number that the kernel has no room for.
    """
    objects: list[TcObject] = []
    approximations: list[Approximation] = []
    for egress in intent.egress:
        interface = device.interfaces[egress.interface.name]
        _check_name(interface)
        queues = queues_of(egress, interface, device)
        objects += [Clsact(interface.id.name), *queues.objects, *_classifiers(interface, egress)]
        approximations += queues.approximations
    for flow in intent.flows:
        objects += _flow(flow)
    for aggregate in intent.aggregates:
        objects += _aggregate(aggregate)
    for one in intent.untrusted:
        objects += _resets(one, intent)
    return marked(objects, device), tuple(approximations)


def _check_name(interface: Interface) -> None:
    if len(interface.id.name) > LONGEST_NAME:
        raise Unrenderable(f"{interface.id}: Linux has no interface names of more than {LONGEST_NAME} letters")


# -- egress ------------------------------------------------------------------------------------------------------------


def _classifiers(interface: Interface, egress: Egress) -> Iterator[Filter]:
    """Filters that lead each code point into its class; an assured rate's colour becomes the drop profile."""
    minors = minors_of(interface)
    chosen: list[tuple[int, str, str]] = []
    for queue in egress.queues:
        minor = minors[queue.key]
        if queue.service is Service.ASSURED_RATE:
            chosen += [(dscp, minor, f":{n}") for n, dscp in enumerate(queue.assured.dscps, 1)]
        elif queue.service is not Service.BEST_EFFORT:
            chosen.append((DSCP[queue.service], minor, ""))
    for dscp, minor, classid in chosen:
        yield Filter(interface.id.name, "egress", CLASSIFIERS, dscp, (code_point(dscp),), steer(minor), classid)


# -- ingress -----------------------------------------------------------------------------------------------------------


def _flow(flow: EdgeFlow) -> Iterator[Filter]:
    if not 0 < flow.number < MOST_FLOWS:
        raise Unrenderable(f"{flow.interface}: flow {flow.number} of {flow.label} has no filter handle")
    unbound = [flow.match.source_port, flow.match.destination_port].count(None)
    preference = FLOWS_FROM + COLOURS * unbound
    for colour, actions in enumerate(_treatments(flow)):
        yield Filter(flow.interface.name, "ingress", preference + colour, flow.number, _keys(flow), actions)


def policer(flow: EdgeFlow) -> tuple[int, int]:
    where = str(flow.interface)
    rate_bps = numbers.rate_up(LINUX.rate(flow.cir_bps, where))
    return rate_bps, numbers.bucket_up(rate_bps, LINUX.burst(flow.cbs_bytes, where))


def _treatments(flow: EdgeFlow) -> list[tuple[Action, ...]]:
    """The actions of each filter of the flow, one for each colour of its meter."""
    rate_bps, burst_bytes = policer(flow)
    if flow.service is Service.IP_PREMIUM:
        return [(Police(rate_bps, burst_bytes, "drop", "pipe"), *mark(DSCP[flow.service]))]
    if flow.service is not Service.ASSURED_RATE:
        return [mark(DSCP[flow.service])]
    # RFC 2698 by two token buckets in a row: what the first does not take, the second has up to the peak rate.
    green, yellow, red = flow.assured.colours
    peak_bps = numbers.rate_up(max(0, flow.pir_bps - flow.cir_bps))
    peak_bytes = numbers.bucket_up(peak_bps, max(flow.cbs_bytes, flow.pbs_bytes - flow.cbs_bytes))
    return [
        (Police(rate_bps, burst_bytes, "continue", "pipe"), *mark(green)),
        (Police(peak_bps, peak_bytes, "continue", "pipe"), *mark(yellow)),
        mark(red),
    ]


def _keys(flow: EdgeFlow) -> tuple[Key, ...]:
    match = flow.match
    keys = [
        Key("ip_proto", match.protocol.value),
        Key("dst_ip", match.destination_address),
        Key("src_ip", match.source_address),
    ]
    if match.destination_port is not None:
        keys.append(Key("dst_port", str(match.destination_port)))
    if match.source_port is not None:
        keys.append(Key("src_port", str(match.source_port)))
    return tuple(keys)


def _aggregate(aggregate: AggregatePolicer) -> Iterator[Filter]:
    """The SLS: conforming traffic passes, the rest is dropped or loses its code point.

    Of an assured rate, the agreed rate is that of the committed (green) traffic; yellow and red pass as what they are,
    first to be dropped. What comes in with code points that were agreed on becomes the domain's own.
    """
    device, where = aggregate.interface.name, str(aggregate.interface)
    rate_bps = numbers.rate_up(LINUX.rate(aggregate.rate_bps, where))
    burst_bytes = numbers.bucket_up(rate_bps, LINUX.burst(aggregate.burst_bytes, where))
    own, arriving = aggregate.own, aggregate.arriving
    dscp, *others = arriving or (aggregate.assured.dscps if len(own) > 1 else own)
    best_effort = mark(DSCP[Service.BEST_EFFORT])
    drops = aggregate.excess == "drop"
    if arriving:
        policer = Police(rate_bps, burst_bytes, "drop" if drops else "continue", "pipe")
        yield Filter(device, "ingress", AGGREGATES, dscp, (code_point(dscp),), (policer, *mark(own[0])))
        if not drops:
            yield Filter(device, "ingress", AGGREGATES + 1, dscp, (code_point(dscp),), best_effort)
    elif drops:
        actions: tuple[Action, ...] = (Police(rate_bps, burst_bytes, "drop", "ok"),)
        yield Filter(device, "ingress", AGGREGATES, dscp, (code_point(dscp),), actions)
    else:
        actions = (Police(rate_bps, burst_bytes, "pipe", "ok"), *best_effort)
        yield Filter(device, "ingress", AGGREGATES, dscp, (code_point(dscp),), actions)
    for other, colour in zip(others, own[1:], strict=False):
        passed: tuple[Action, ...] = mark(colour) if arriving else (Pass(),)
        yield Filter(device, "ingress", AGGREGATES, other, (code_point(other),), passed)


def _resets(interface: InterfaceId, intent: QosIntent) -> Iterator[Filter]:
    """Code points that entitle to a service and that neither a flow nor an SLS gave become best effort."""
    promised = intent.promised(interface)
    for dscp in (dscp for key, dscps in intent.guarded.items() if key not in promised for dscp in dscps):
        yield Filter(interface.name, "ingress", RESETS, dscp, (code_point(dscp),), mark(DSCP[Service.BEST_EFFORT]))
