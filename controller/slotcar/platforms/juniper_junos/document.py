"""From objects to the tree of elements that Junos keeps them in, by the templates, in one order.

Names of elements and their namespaces are those of Juniper's YANG of Junos 24.4 (`docs/reference/platforms/`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from slotcar.platforms.juniper_junos.objects import PREFIX, Object
from slotcar.platforms.model import Unrenderable
from slotcar.platforms.netconf.tree import Node, parse
from slotcar.platforms.templates import Family

TEMPLATES = Family("juniper-junos")
_YANG = "http://yang.juniper.net/junos/conf/"
ROOT, FIREWALL, COS, INTERFACES = (f"{_YANG}{name}" for name in ("root", "firewall", "class-of-service", "interfaces"))
FORWARDING = f"{_YANG}forwarding-options"
SPACES = {"firewall": FIREWALL, "class-of-service": COS, "interfaces": INTERFACES, "forwarding-options": FORWARDING}
#: Where an object of each kind stands in the configuration.
PLACES: dict[str, tuple[str, ...]] = {
    "policer": ("firewall",),
    "three-color-policer": ("firewall",),
    "filter": ("firewall", "family", "inet"),
    "call": ("firewall", "family", "inet"),
    "attached": ("interfaces",),
    "forwarding-class": ("class-of-service", "forwarding-classes"),
    "classifier": ("class-of-service", "classifiers"),
    "rewrite-rule": ("class-of-service", "rewrite-rules"),
    "drop-profile": ("class-of-service",),
    "scheduler": ("class-of-service",),
    "scheduler-map": ("class-of-service",),
    "traffic-control-profile": ("class-of-service",),
    "scheduled": ("class-of-service", "interfaces"),
    "marked": ("class-of-service", "interfaces"),
}
_VARIABLES = {"three-color-policer": "policer", "traffic-control-profile": "profile"}
#: What may hold an operator's own beside Slotcar's: it is named on the way to Slotcar's, and never created or removed.
_SHARED = frozenset(
    tuple(path.split("/"))
    for path in (
        "firewall", "firewall/family", "firewall/family/inet", "class-of-service", "class-of-service/classifiers",
        "class-of-service/forwarding-classes", "class-of-service/rewrite-rules", "class-of-service/interfaces",
        "class-of-service/interfaces/interface", "class-of-service/interfaces/interface/unit",
        "class-of-service/interfaces/interface/unit/classifiers",
        "class-of-service/interfaces/interface/unit/rewrite-rules", "interfaces", "interfaces/interface",
        "interfaces/interface/unit", "interfaces/interface/unit/family", "interfaces/interface/unit/family/inet",
        "interfaces/interface/unit/family/inet/filter",
    )
)  # fmt: skip
FILTER = ("firewall", "family", "inet", "filter")
#: Lists in which the order counts (`ordered-by user`).
_IN_TURN = frozenset({"term", "fill-level", "drop-probability"})
_KEYS_FIRST = {"name": 0, "loss-priority": 1, "protocol": 2}
Path = tuple[str, ...]


def document_of(objects: Iterable[Object]) -> Node | None:
    """The element `configuration` with the objects; None where there are none."""
    root = Node(ROOT, "configuration")
    for one in objects:
        root = merged(root, _placed(one))
    return _shared_in_order(root, ()) if root.children else None


@lru_cache(maxsize=4096)
def _placed(one: Object) -> Node:
    variable = _VARIABLES.get(one.template, one.template.replace("-", "_"))
    text = "".join(TEMPLATES.lines(one.template, **{variable: one}))
    place = PLACES[one.template]
    node = ordered(in_space(parse(text, one.template), SPACES[place[0]]))
    for name in reversed(place):
        node = Node(SPACES[place[0]], name, children=(node,))
    return Node(ROOT, "configuration", children=(node,))


def _shared_in_order(node: Node, path: Path) -> Node:
    """The element with the siblings of shared elements in order; those of others are in order already."""
    if not is_shared(node, path):
        return node
    children = (_shared_in_order(one, (*path, one.name)) for one in node.children)
    return node.holding(sorted(children, key=_place))


def in_space(node: Node, space: str) -> Node:
    return replace(node, space=space, children=tuple(in_space(child, space) for child in node.children))


def is_shared(node: Node, path: Path) -> bool:
    """Whether the element at `path` may hold an operator's own: also an operator's filter, in which Slotcar has a term."""
    return path in _SHARED or not path or (path == FILTER and not node.text_of("name").startswith(PREFIX))


def identity(node: Node) -> tuple[str, str]:
    """What tells a list's entry from its siblings; of what is there once, its name alone."""
    return node.name, node.text_of("name")


def is_key(node: Node) -> bool:
    return node.name == "name" and not node.children


def merged(old: Node, new: Node, path: Path = ()) -> Node:
    """Two trees as one: shared elements are joined, others stand side by side."""
    children = {identity(one): one for one in old.children}
    for one in new.children:
        inner, existing = (*path, one.name), children.get(identity(one))
        if existing is not None and is_shared(one, inner):
            one = merged(existing, one, inner)
        children[identity(one)] = one
    return old.holding(children.values())


def ordered(node: Node) -> Node:
    """The same with all siblings in order: keys first, then by name and by what they say. What is asked in turn keeps its
    order."""
    return node.holding(sorted(map(ordered, node.children), key=_place))


def _place(node: Node) -> tuple[int, str, tuple[tuple[int, int, str], ...]]:
    text = node.text_of("name") or node.text or "".join(child.text for child in node.children)
    sort_key = () if node.name in _IN_TURN else natural(text)
    return _KEYS_FIRST.get(node.name, len(_KEYS_FIRST)), node.name, sort_key


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts `xe-0/0/2` before `xe-0/0/10`."""
    return tuple((1, int(part), "") if part.isdecimal() else (0, 0, part) for part in re.split(r"(\d+)", text) if part)


def entries(node: Node | None, path: Path = ()) -> Iterator[tuple[Path, Node]]:
    """What is no shared element, and no key of one, each with its path: what somebody owns."""
    for one in node.children if node else ():
        inner = (*path, one.name)
        if is_shared(one, inner):
            yield from entries(one, inner)
        elif not is_key(one):
            yield inner, one


def port_and_unit(name: str, device: str) -> tuple[str, int]:
    """The port and the unit of a logical interface, `ge-0/0/1.100`; a name without a unit means unit 0.

    Raises:
        Unrenderable: no name of an interface.
    """
    port, _, unit = name.partition(".")
    letters = port.replace("-", "").replace("/", "").replace(":", "")
    if not letters.isalnum() or not letters[:1].isalpha() or not (unit or "0").isdecimal():
        raise Unrenderable(f"{device} {name}: that is not an interface of Junos; one is ge-0/0/1 or ge-0/0/1.100")
    return port, int(unit or 0)


def label_of(name: str, device: str) -> str:
    """An interface in the names of objects, always with its unit: they have letters, numbers and hyphens only (Firewall
    Filters User Guide). A channel's number, `et-0/0/0:1`, makes one number more than a unit's, so no two are alike.

    >>> label_of("ge-0/0/1", "r1"), label_of("et-0/0/0:1.7", "r1")
    ('ge-0-0-1-0', 'et-0-0-0-1-7')

    Raises:
        Unrenderable: no name of an interface.
    """
    port, unit = port_and_unit(name, device)
    return re.sub(r"[/:]", "-", f"{port}-{unit}")
