"""What Slotcar owns of an IOS configuration, as one tree for every platform with IOS's objects, and its print.

`reading` makes it of a device's answer, `change` leads from one to another. Each object is printed whole, as the device
shows it, by a template of its own in `templates/cisco/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from slotcar.platforms.ios.objects import (
    AccessList,
    AggregatePolicer,
    ClassMap,
    CosQueueGroup,
    Entry,
    Interface,
    MapEntry,
    PolicyClass,
    PolicyMap,
    RateLimitList,
    RxCosSlot,
    SlotTable,
    by_number,
    natural,
    sorted_by,
)
from slotcar.platforms.model import Configuration
from slotcar.platforms.templates import Family

TEMPLATES = Family("cisco")
Printable = (
    AccessList | AggregatePolicer | ClassMap | CosQueueGroup | Interface | MapEntry | PolicyClass | PolicyMap
    | RateLimitList | RxCosSlot | SlotTable
)  # fmt: skip
#: By kind of object its template, and what the template calls it.
_TEMPLATES: dict[type, tuple[str, str]] = {
    AccessList: ("access-list", "list"),
    RateLimitList: ("access-list-rate-limit", "list"),
    AggregatePolicer: ("aggregate-policer", "policer"),
    MapEntry: ("mls-qos-map", "map"),
    ClassMap: ("class-map", "map"),
    PolicyMap: ("policy-map", "policy"),
    PolicyClass: ("policy-class", "class"),
    CosQueueGroup: ("cos-queue-group", "group"),
    SlotTable: ("slot-table-cos", "table"),
    RxCosSlot: ("rx-cos-slot", "slot"),
    Interface: ("interface", "interface"),
}


@lru_cache(maxsize=1 << 16)
def printed(one: Printable) -> tuple[str, ...]:
    """The lines of one object, the ones below its first indented as IOS does."""
    template, name = _TEMPLATES[type(one)]
    return TEMPLATES.lines(template, **{name: one})


def body(one: Printable) -> tuple[str, ...]:
    """The lines below an object's first, without the margin that all of them have."""
    lines = printed(one)[1:]
    margin = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    return tuple(line[margin:] for line in lines)


def indented(lines: Iterable[str], depth: int = 1) -> list[str]:
    return [f"{' ' * depth}{line}" for line in lines]


@dataclass(frozen=True, slots=True)
class Ios:
    """Owned objects by name, in the order in which they are written: definitions before what refers to them."""

    lists: dict[str, AccessList] = field(default_factory=dict)
    rate_limit_lists: dict[int, RateLimitList] = field(default_factory=dict)
    policers: dict[str, AggregatePolicer] = field(default_factory=dict)
    maps: dict[tuple[str, int], int] = field(default_factory=dict)
    class_maps: dict[str, ClassMap] = field(default_factory=dict)
    policies: dict[str, PolicyMap] = field(default_factory=dict)
    groups: dict[str, CosQueueGroup] = field(default_factory=dict)
    slot_tables: dict[str, SlotTable] = field(default_factory=dict)
    rx_cos: dict[int, RxCosSlot] = field(default_factory=dict)
    interfaces: dict[str, Interface] = field(default_factory=dict)

    def lines(self) -> tuple[str, ...]:
        """Canonical lines: equal meaning, equal bytes."""
        return tuple(line for one in self.objects() for line in printed(one))

    def objects(self) -> list[Printable]:
        """All objects in the order of the fields, those of each kind by name."""
        return [
            *sorted_by(by_number, self.lists).values(),
            *(one for _, one in sorted(self.rate_limit_lists.items())),
            *sorted_by(natural, self.policers).values(),
            *(MapEntry(table, dscp, value) for (table, dscp), value in sorted(self.maps.items())),
            *sorted_by(by_number, self.class_maps).values(),
            *sorted_by(natural, self.policies).values(),
            *sorted_by(natural, self.groups).values(),
            *sorted_by(natural, self.slot_tables).values(),
            *(one for _, one in sorted(self.rx_cos.items())),
            *sorted_by(natural, self.interfaces).values(),
        ]

    def acl_of(self, name: str) -> str | None:
        """The access list that a class matches by; None where it matches by code point, or is not there."""
        one = self.class_maps.get(name)
        return one.acl if one else None

    def permits_of(self, acl: str | None) -> tuple[Entry, ...]:
        one = self.lists.get(acl or "")
        return one.permits if one else ()


def ios_of(configuration: Configuration) -> Ios:
    """The tree of a configuration; an empty one of an unmanaged device."""
    assert configuration.objects is None or isinstance(configuration.objects, Ios)
    return configuration.objects or Ios()
