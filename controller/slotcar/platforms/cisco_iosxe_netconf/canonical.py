"""The one order in which elements are written, whatever order a device answers in."""

from __future__ import annotations

from slotcar.platforms.cisco_iosxe_netconf.tree import Node
from slotcar.platforms.ios.objects import natural

#: Keys of the lists that Slotcar has entries in.
KEYS = {
    "extended": "name",
    "access-list-seq-rule": "sequence",
    "class-map": "name",
    "policy-map": "name",
    "class": "name",
    "action-list": "action-type",
}
#: Siblings in the order of the models; actions in the order of `cisco-mqc`'s lines. Others come last, by name.
_ORDER = (
    *("ip", "policy", "interface"),
    *("name", "sequence", "action-type", "dscp-val"),
    *("access-list-seq-rule", "ace-rule", "remark"),
    *("action", "protocol", "host", "src-eq", "dst-host", "dst-eq"),
    *("class-map", "policy-map", "prematch", "match"),
    *("cir", "bc", "be", "pir", "pir-be", "actions"),
    *("bit-rate", "bits-per-interval-sustained", "bits-per-interval-excess"),
    *("min-threshold", "max-threshold", "denominator"),
    *("queue-limit-value", "queue-limit-type", "dscp-based", "dscp", "ecn"),
)
_PLACE = {name: place for place, name in enumerate(_ORDER)}
_ACTIONS = (
    *("police", "set", "shape", "service-policy", "priority", "bandwidth"),
    *("fair-queue", "queue-limit", "random-detect"),
)


def key_of(node: Node) -> str:
    """What tells a list's entry from its siblings; of a leaf that may come twice, its text."""
    named = KEYS.get(node.name) or ("dscp-val" if node.name == "dscp" else "name")
    return node.text_of(named) if node.children else node.text


def ordered(node: Node) -> Node:
    """The same with all siblings in order. Classes of a policy map keep theirs: it is the order of asking."""
    return node.holding(sorted(map(ordered, node.children), key=_place))


def _place(node: Node) -> tuple[int, str, tuple[tuple[int, int, str], ...]]:
    if node.name == "class":
        return len(_ORDER), "", ()
    key = key_of(node)
    if node.name == "action-list":
        return len(_ORDER), "", ((_ACTIONS.index(key) if key in _ACTIONS else len(_ACTIONS), 0, key),)
    place = _PLACE.get(node.name, len(_ORDER))
    return place, "" if place < len(_ORDER) else node.name, natural(key)
