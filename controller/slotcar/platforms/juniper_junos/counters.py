"""What Junos counts: `show firewall` of flows' terms and policers, `show interfaces queue` of forwarding classes.

A filter of `family inet` counts IP packets as they are. A term's counter is taken to count what comes, its policer what
exceeds (CLI reference, `policer`: "an implicit counter that counts the number of packets that exceed the rate limits"). A
queue counts frames, taken to be with the header of Ethernet and a tag where the unit has one. No real router's counters
were compared with a receiver's yet; `docs/howto/usage.md` says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from slotcar.base.vocabulary import Service
from slotcar.network.model import Device
from slotcar.platforms.counting import NOTHING, Amount, Count, Counts, FlowPlace, Place, QueuePlace, without_header
from slotcar.platforms.intent.model import EdgeFlow, QosIntent
from slotcar.platforms.juniper_junos.document import label_of, port_and_unit
from slotcar.platforms.juniper_junos.egress import schedules_units
from slotcar.platforms.juniper_junos.facts import JunosOptions
from slotcar.platforms.juniper_junos.ingress import class_of
from slotcar.platforms.juniper_junos.objects import FLOW, PREFIX
from slotcar.platforms.model import Configuration, Unreadable
from slotcar.platforms.netconf.question import request, state_in
from slotcar.platforms.netconf.tree import Node
from slotcar.platforms.options import options_of

FILTERS, QUEUES = request("get-firewall-information"), request("get-interface-queue-information")
ETHERNET_HEADER_BYTES, TAG_BYTES = 14, 4
#: A counter or a policer of a flow: behind its name stands the term's, or an interface's of a filter that is
#: `interface-specific`.
_OF_FLOW = re.compile(rf"^{FLOW}(\d+)(?:-.*)?$")


class JunosCounters:
    def commands(self, device: Device) -> tuple[str, ...]:
        return FILTERS, QUEUES

    def counts(self, outputs: Mapping[str, str], device: Device, intent: QosIntent, running: Configuration) -> Counts:
        filters = state_in(outputs, FILTERS, device.name)
        queues = state_in(outputs, QUEUES, device.name)
        counts: dict[Place, Count] = {}
        for name, held in _by_filter(filters):
            for number, one in held.items():
                flow = _flow(number, name, intent, device)
                if flow and (count := _count(flow, one, device)):
                    counts[FlowPlace(flow.interface.name, number)] = count
        counts.update(_queues(queues, device, intent))
        return counts


COUNTERS = JunosCounters()


def _by_filter(root: Node) -> Iterator[tuple[str, dict[int, dict[str, Amount]]]]:
    """Of each filter, by flow: its `counter` and its `policer`."""
    for one in _all(root, "filter-information"):
        held: dict[int, dict[str, Amount]] = {}
        for kind in ("counter", "policer"):
            for counter in one.all(kind):
                if match := _OF_FLOW.match(counter.text_of(f"{kind}-name")):
                    parts = held.setdefault(int(match[1]), {})
                    parts[kind] = parts.get(kind, NOTHING) + _amount(counter, "packet-count", "byte-count")
        yield one.text_of("filter-name"), held


def _flow(number: int, filter_name: str, intent: QosIntent, device: Device) -> EdgeFlow | None:
    """The flow of a counter. An operator's filter that asks Slotcar's has its counters among its own, under its name."""
    flows = [one for one in intent.flows if one.number == number]
    own = (one for one in flows if filter_name == f"{PREFIX}IN-{label_of(one.interface.name, device.name)}")
    return next(own, flows[0] if len(flows) == 1 and not filter_name.startswith(PREFIX) else None)


def _count(flow: EdgeFlow, parts: Mapping[str, Amount], device: Device) -> Count | None:
    """None where the router does not tell how much of it exceeded, or counts what comes not at all."""
    if "counter" not in parts:
        return None
    came = parts["counter"]
    if flow.service not in (Service.IP_PREMIUM, Service.ASSURED_RATE):
        return Count(came)
    if "policer" not in parts:
        return None
    exceeded = parts["policer"]
    within = came - exceeded
    return Count(within, dropped=exceeded) if flow.service is Service.IP_PREMIUM else Count(within, exceeded)


def _queues(root: Node, device: Device, intent: QosIntent) -> Iterator[tuple[Place, Count]]:
    """A unit that is scheduled by itself has queues by itself; else they are its port's."""
    options = options_of(device, JunosOptions)
    by_name = {one.text_of("name"): one for kind in _HOLDERS for one in _all(root, kind)}
    for egress in intent.egress:
        name = egress.interface.name
        port, unit = port_and_unit(name, device.name)
        holder = by_name.get(f"{port}.{unit}" if schedules_units(device, port) else port)
        if holder is None:
            continue
        header_bytes = ETHERNET_HEADER_BYTES + (TAG_BYTES if unit else 0)
        queues = {one.text_of("forwarding-class-name"): one for one in _all(holder, "queue")}
        for queue in egress.queues:
            printed = queues.get(class_of(queue.service, options, queue.assured))
            if printed is not None:
                yield QueuePlace(name, queue.key), _queued(printed, header_bytes)


_HOLDERS = ("physical-interface", "logical-interface")
_QUEUE = "queue-counters-"


def _queued(printed: Node, header_bytes: int) -> Count:
    sent = _amount(printed, f"{_QUEUE}trans-packets", f"{_QUEUE}trans-bytes")
    dropped = printed.text_of(f"{_QUEUE}total-drop-packets")
    return Count(
        without_header(sent.packets, sent.ip_bytes, header_bytes),
        dropped=Amount(int(dropped) if dropped.isdecimal() else 0),
    )


def _amount(node: Node, packets: str, octets: str) -> Amount:
    """
    Raises:
        Unreadable: no numbers.
    """
    texts = node.text_of(packets), node.text_of(octets)
    if not all(text.isdecimal() for text in texts):
        raise Unreadable(f"`{node.name}` has no numbers: {texts[0]!r} packets, {texts[1]!r} bytes")
    return Amount(*map(int, texts))


def _all(root: Node, name: str) -> Iterator[Node]:
    """Elements of a name, wherever they are; a router with several engines wraps what each says."""
    for one in root.children:
        if one.name == name:
            yield one
        else:
            yield from _all(one, name)
