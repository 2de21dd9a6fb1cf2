"""What of a device's answer is Slotcar's, in canonical form, and what of an operator's stands in its way."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from slotcar.platforms.cisco_iosxe_netconf.canonical import ordered
from slotcar.platforms.cisco_iosxe_netconf.native import INTERFACES
from slotcar.platforms.cisco_iosxe_netconf.tree import ACL, NATIVE, NETCONF, POLICY, Node, parse
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.objects import PREFIX, Interface
from slotcar.platforms.model import Unreadable
from slotcar.platforms.netconf.question import get_config

WAYS = ("input", "output")
#: Other ways to serve or to mark packets, as Cisco-IOS-XE-interfaces has them.
_QUEUEING = ("fair-queue", "fair-queue-conf", "priority-queue")
_TRUSTING = ("trust", "interface_qos")
_TRUST = re.compile(r"^(?P<name>[^ ]+): the port's `(?P<line>[^`]+)` ")


def question() -> str:
    """Lists, class maps, policy maps and what serves interfaces or marks there. No more: other parts of a configuration
    hold secrets, and a reading is kept in a file."""
    serving = (Node(POLICY, "service-policy"), *(Node(NATIVE, name) for name in (*_QUEUEING, *_TRUSTING)))
    kinds = tuple(Node(NATIVE, kind, children=(Node(NATIVE, "name"), *serving)) for kind in INTERFACES)
    lists = Node(NATIVE, "access-list", children=(Node(ACL, "extended"),))
    subtree = Node(
        NATIVE,
        "native",
        children=(
            Node(NATIVE, "ip", children=(lists,)),
            Node(NATIVE, "policy", children=(Node(POLICY, "class-map"), Node(POLICY, "policy-map"))),
            Node(NATIVE, "interface", children=kinds),
        ),
    )
    return get_config(subtree)


def native_in(text: str, device: str) -> Node | None:
    """The element `native` of a reply to `get-config`, or of canonical lines; None where the device has none.

    Raises:
        Unreadable: it is no such reply.
    """
    root = parse(text, device)
    data = root if root.name == "data" else root.first("data")
    if (root.space, root.name) == (NATIVE, "native"):
        return root
    if data is None or data.space != NETCONF:
        raise Unreadable(f"{device}: it gave no configuration: {' '.join(text.split())[:80]}")
    return next(data.all("native", NATIVE), None)


def owned_part(native: Node | None) -> Node | None:
    """Only what has a name with the prefix, as `native_of` would write it."""
    if native is None:
        return None
    lists = native.first("ip", "access-list")
    parts = [
        _holding(Node(NATIVE, "ip"), _holding(Node(NATIVE, "access-list"), _named(lists, "extended", ACL))),
        _holding(
            Node(NATIVE, "policy"),
            *_named(native.first("policy"), "class-map", POLICY),
            *map(_as_configured, _named(native.first("policy"), "policy-map", POLICY)),
        ),
        _holding(Node(NATIVE, "interface"), *_attached(native.first("interface"))),
    ]
    children = tuple(part for part in parts if part is not None)
    return ordered(Node(NATIVE, "native", children=children)) if children else None


def attachments(native: Node | None) -> Iterator[tuple[str, str, str]]:
    """Interface, `input` or `output`, policy map: everybody's."""
    for name, one in _interfaces(native):
        for way in WAYS:
            if policy := one.text_of("service-policy", way):
                yield name, way, policy


def attached_in(native: Node | None) -> Ios:
    """The attached policies of each interface as IOS's objects, for the check that IOS's other renderers make."""
    ios = Ios()
    for name, way, policy in attachments(native):
        one = ios.interfaces.get(name, Interface(name))
        ios.interfaces[name] = (
            replace(one, input_policy=policy) if way == "input" else replace(one, output_policy=policy)
        )
    return ios


def foreign_in(native: Node | None, interfaces: Collection[str]) -> tuple[str, ...]:
    """Policies and queueing of an operator's on `interfaces`, as `controller/slotcar/platforms/ios/foreign.py` names them,
    and ports that mark by what is connected to them."""
    policies = (
        f"{name}: `service-policy {way} {policy}`"
        for name, way, policy in attachments(native)
        if name in interfaces and not policy.startswith(PREFIX)
    )
    others = (note for name, one in _interfaces(native) if name in interfaces for note in _serving(name, one))
    return (*policies, *others)


def _interfaces(native: Node | None) -> Iterator[tuple[str, Node]]:
    for one in (native.first("interface") or Node("", "")).children if native else ():
        yield f"{one.name}{one.text_of('name')}", one


def _serving(name: str, interface: Node) -> Iterator[str]:
    """An empty `fair-queue` says nothing (RFC 7950 §7.5.1)."""
    if interface.first("fair-queue", "incomplete") or interface.text_of("fair-queue-conf", "fair-queue") == "true":
        yield f"{name}: `fair-queue`"
    if interface.first("priority-queue", "out"):
        yield f"{name}: `priority-queue out`"
    for path, words in (
        (("trust", "device"), "trust device"),
        (("interface_qos", "trust", "device"), "qos trust device"),
    ):
        if device := interface.text_of(*path):
            yield f"{name}: the port's `{words} {device}` marks by what is connected to it"


def doubts_in(device: str, foreign: Iterable[str], after: Ios) -> Iterator[str]:
    """What may keep Slotcar's policies from their effect, in whole sentences."""
    for match in map(_TRUST.match, foreign):
        if match and match["name"] in after.interfaces:
            yield (
                f"{device} {match['name']}: `{match['line']}` may take the code points from packets before Slotcar's policy"
                " is asked: where no such device is connected to the port"
            )


def _holding(node: Node, *children: Node | Iterable[Node] | None) -> Node | None:
    held: list[Node] = []
    for one in children:
        if one is not None:
            held += [one] if isinstance(one, Node) else one
    return node.holding(held) if held else None


def _named(parent: Node | None, kind: str, space: str) -> list[Node]:
    return [one for one in parent.all(kind, space) if one.text_of("name").startswith(PREFIX)] if parent else []


def _attached(interfaces: Node | None) -> Iterator[Node]:
    for one in interfaces.children if interfaces else ():
        policies = one.first("service-policy")
        own = [p for p in policies.children if p.name in WAYS and p.text.startswith(PREFIX)] if policies else []
        if own:
            name = Node(NATIVE, "name", one.text_of("name"))
            yield Node(NATIVE, one.name, children=(name, Node(POLICY, "service-policy", children=tuple(own))))


# -- what a device says otherwise than it was told ---------------------------------------------------------------------


def _as_configured(node: Node) -> Node:
    """The element without what a device adds: a `fair-queue`'s empty container, and actions that a policer has not."""
    if node.name == "action-list":
        return node.holding(one for one in map(_as_configured, node.children) if one != Node(POLICY, "fair-queue"))
    children = tuple(map(_as_configured, node.children))
    if node.name == "police" and not any(one.name == "pir" for one in children):
        # One rate and one bucket: nothing is between exceeding and violating.
        children = tuple(_one_bucket(one) for one in children if one.name != "be")
    return node.holding(children)


def _one_bucket(one: Node) -> Node:
    if one.name != "actions":
        return one
    return one.holding(action for action in one.children if action.name != "violate-drop")
