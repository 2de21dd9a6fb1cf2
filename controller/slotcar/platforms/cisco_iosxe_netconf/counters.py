"""What IOS-XE tells of its policies by Cisco-IOS-XE-interfaces-oper, as 16.9 has it: bytes are those that
`show policy-map interface` prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slotcar.base.vocabulary import RESERVED_SERVICES, Service
from slotcar.network.model import Device
from slotcar.platforms.counting import Amount, Count, Counts, FlowPlace, Place, QueuePlace, without_header
from slotcar.platforms.intent.model import EdgeFlow, QosIntent
from slotcar.platforms.ios.class_names import key_of_queue
from slotcar.platforms.ios.counters import header_bytes
from slotcar.platforms.ios.ingress import input_policy
from slotcar.platforms.ios.modular import AF1, EF, QBSS
from slotcar.platforms.ios.objects import DEFAULT_CLASS, FLOW, PREFIX
from slotcar.platforms.model import Configuration, Unreadable
from slotcar.platforms.netconf.question import get_state, state_in
from slotcar.platforms.netconf.tree import Node

SPACE = "http://cisco.com/ns/yang/Cisco-IOS-XE-interfaces-oper"
#: Services of classes on the way out, as in `cisco_mqc/counters.py`: the policies are the same.
CLASSES = {EF: Service.IP_PREMIUM, AF1: Service.ASSURED_RATE, QBSS: Service.QBSS, DEFAULT_CLASS: Service.BEST_EFFORT}
_OF_CLASS = "diffserv-target-classifier-stats"
QUESTION = get_state(
    Node(SPACE, "interfaces", children=(
        Node(SPACE, "interface", children=(Node(SPACE, "name"), Node(SPACE, "diffserv-info"))),
    ))
)  # fmt: skip


class NetconfCounters:
    def commands(self, device: Device) -> tuple[str, ...]:
        return (QUESTION,)

    def counts(self, outputs: Mapping[str, str], device: Device, intent: QosIntent, running: Configuration) -> Counts:
        flows = {(one.interface.name, f"{FLOW}{one.number}"): one for one in intent.flows}
        counts: dict[Place, Count] = {}
        for interface, policy, one in _classes(state_in(outputs, QUESTION, device.name)):
            name = one.text_of("classifier-entry-name")
            if policy == input_policy(interface):
                if flow := flows.get((interface, name)):
                    counts[FlowPlace(interface, flow.number)] = _policed(one, flow)
            elif policy == f"{PREFIX}OUT-{interface}" and (key := key_of_queue(name, CLASSES)):
                counts[QueuePlace(interface, key)] = _queued(one, interface)
        return counts


COUNTERS = NetconfCounters()


def _classes(root: Node) -> Iterator[tuple[str, str, Node]]:
    """Interface, policy and class of each entry."""
    interfaces = next((one for one in (root, *root.children) if one.name == "interfaces"), None)
    for interface in interfaces.all("interface") if interfaces else ():
        for policy in interface.all("diffserv-info"):
            for one in policy.all(_OF_CLASS):
                yield interface.text_of("name"), policy.text_of("policy-name"), one


def _policed(one: Node, flow: EdgeFlow) -> Count:
    """What fails the first meter exceeds; a second one, of a peak rate, tells yellow from red."""
    interface = flow.interface.name
    meters = sorted(one.all("meter-stats"), key=lambda meter: int(meter.text_of("meter-id") or 0))
    if flow.service not in RESERVED_SERVICES or not meters:
        return Count(_amount(one.first("classifier-entry-stats") or one, "classified", interface))
    within, beyond = (_amount(meters[0], f"meter-{which}", interface) for which in ("succeed", "failed"))
    return Count(within, dropped=beyond) if flow.service is Service.IP_PREMIUM else Count(within, beyond)


def _queued(one: Node, interface: str) -> Count:
    """Of a class without a queue of its own, what was classified left."""
    queue = one.first("queuing-stats")
    if queue is None or not queue.text_of("output-pkts"):
        return Count(_amount(one.first("classifier-entry-stats") or one, "classified", interface))
    drops = queue.text_of("drop-pkts")
    return Count(_amount(queue, "output", interface), dropped=Amount(int(drops) if drops.isdecimal() else 0))


def _amount(holder: Node, kind: str, interface: str) -> Amount:
    """
    Raises:
        Unreadable: the entry has no such numbers.
    """
    texts = holder.text_of(f"{kind}-pkts"), holder.text_of(f"{kind}-bytes")
    if not all(text.isdecimal() for text in texts):
        raise Unreadable(f"{interface}: `{holder.name}` has no numbers of {kind}")
    packets, octets = map(int, texts)
    return without_header(packets, octets, header_bytes(interface))
