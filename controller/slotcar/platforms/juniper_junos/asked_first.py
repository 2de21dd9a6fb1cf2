"""What of an interface takes packets before its input filter is asked, or after they were served: policers and filters that
are attached to the interface by themselves ("Order of Policer and Firewall Filter Operations" of Juniper's guide).
"""

from __future__ import annotations

from collections.abc import Iterator

from slotcar.platforms.juniper_junos.inherited import Step, at, inherited_at
from slotcar.platforms.netconf.tree import Node

_INET: tuple[Step, ...] = (("family", ""), ("inet", ""))
#: Where such a statement stands below a unit, and its words.
_HOLDERS: dict[str, tuple[Step, ...]] = {
    "family any filter": (("family", ""), ("any", ""), ("filter", "")),
    "policer": (*_INET, ("policer", "")),
    "simple-filter": (*_INET, ("simple-filter", "")),
    "layer2-policer": (("layer2-policer", ""),),
}
#: How their words begin, of what enters.
ON_THE_WAY_IN = tuple(f"{words} input" for words in _HOLDERS)
_FIRST, _LAST = ", which is asked before the filter,", ", which polices what leaves,"


def asked_first(active: Node, port: str, unit: int) -> Iterator[tuple[str, str]]:
    """Statements at a unit, each with what is wrong about it: written there, by an interface range or a group.

    Args:
        active: the configuration that is in force.
    """
    for words, steps in _HOLDERS.items():
        inner = (("unit", str(unit)), *steps)
        own = (("", holder) for one in _own(active, port) for holder in at(one, inner))
        inherited = ((f" of the {source}", holder) for source, holder in inherited_at(active, port, inner))
        for source, holder in (*own, *inherited):
            for one in holder.children:
                if one.name.startswith(("input", "output")):
                    why = _FIRST if one.name.startswith("input") else _LAST
                    name = one.text_of("filter-name") or one.text
                    yield f"{words} {one.name} {name}", f"{source}{why}"


def _own(active: Node, port: str) -> Iterator[Node]:
    """The interface itself, without what it gets from elsewhere."""
    interfaces = active.first("interfaces")
    yield from (one for one in (interfaces.all("interface") if interfaces else ()) if one.text_of("name") == port)
