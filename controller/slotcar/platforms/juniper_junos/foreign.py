"""What of an operator's stands where Slotcar would put its own: noted when read, refused when in the way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from slotcar.network.model import Device
from slotcar.platforms.juniper_junos.asked_first import ON_THE_WAY_IN, asked_first
from slotcar.platforms.juniper_junos.deactivated import check_active, deactivated_in
from slotcar.platforms.juniper_junos.document import entries, label_of, port_and_unit
from slotcar.platforms.juniper_junos.egress import schedules_units
from slotcar.platforms.juniper_junos.facts import JunosOptions
from slotcar.platforms.juniper_junos.forwarding_table import check_table, table_filters
from slotcar.platforms.juniper_junos.inherited import at, groups_at, in_force, inherited_at
from slotcar.platforms.juniper_junos.limits import MOST_CLASSES
from slotcar.platforms.juniper_junos.objects import PREFIX
from slotcar.platforms.juniper_junos.running import name_in, units_in
from slotcar.platforms.model import Unrenderable
from slotcar.platforms.netconf.tree import Node
from slotcar.platforms.options import options_of

#: Statements of an interface's class of service that exclude Slotcar's; of a port and of a unit alike.
_SERVING = (
    *("scheduler-map", "output-traffic-control-profile", "shaping-rate", "scheduler-map-chassis"),
    "forwarding-class",
)
_MARKING = ("classifiers", "rewrite-rules")
_NOTE = re.compile(r"^(?P<where>[^`]+): `(?P<statement>[^`]+)`(?P<more>.*)$")
#: What of an interface a note is about: its input filter, or its class of service.
_INPUT, _SERVICE, _FILTER = "input", "class of service", "filter input "
#: What stands for every port under `class-of-service interfaces`, beside wildcards.
_EVERY_PORT = {"all": "*"}
#: Who is meant by what no interface has.
ROUTER = "the router"
#: Junos's own forwarding classes, which it has without saying so.
_OWN_CLASSES = 4


def foreign_in(root: Node | None, device: Device) -> tuple[str, ...]:
    """Statements of an operator's, each as "WHERE: `statement`", with what is wrong about it behind."""
    if root is None:
        return ()
    active = in_force(root)
    notes = (
        *deactivated_in(root, device),
        *_classes(active, device),
        *_classes_of_groups(active, device),
        *_of_interfaces(root, active, device),
        *_inherited(active, device),
        *table_filters(active),
    )
    return tuple(dict.fromkeys(notes))


def _classes(root: Node, device: Device) -> Iterator[str]:
    options = options_of(device, JunosOptions)
    class_statements = root.first("class-of-service", "forwarding-classes") or Node("", "")
    classes = max([1, *(len(one.assured_classes) for one in device.interfaces.values())])
    assured = options.queues_of_classes(classes)
    queues = {str(queue) for queue in (options.premium_queue, *assured, options.qbss_queue)}
    others = [one for one in class_statements.all("class") if not one.text_of("name").startswith(PREFIX)]
    for one in others:
        if one.text_of("queue-num") in queues:
            yield f"{ROUTER}: `forwarding-classes class {one.text_of('name')} queue-num {one.text_of('queue-num')}`"
    for one in class_statements.all("queue"):
        yield (
            f"{ROUTER}: `forwarding-classes queue {one.text_of('name')}`; Junos takes no `class` beside a `queue`, so write"
            " them as classes"
        )
    if len(others) + 2 + classes + _OWN_CLASSES > MOST_CLASSES:
        yield f"{ROUTER}: `forwarding-classes` has {len(others)} classes; {MOST_CLASSES} fit, with Junos's own and 3 more"


def _of_interfaces(root: Node, active: Node, device: Device) -> Iterator[str]:
    for name in device.interfaces:
        port, unit = port_and_unit(name, device.name)
        yield from _filters(root, device, name)
        yield from (f"{name}: `{statement}`{more}" for statement, more in asked_first(active, port, unit))
        yield from _service(root, name, port, unit)
        if schedules_units(device, port) and not _schedules_by_unit(active, port):
            yield f"{name}: `per-unit-scheduler` is missing at {port}, which has other units than 0 in the inventory"


def _filters(root: Node, device: Device, name: str) -> Iterator[str]:
    wanted = options_of(device, JunosOptions).of_interface("input_filter", name)
    port, unit = port_and_unit(name, device.name)
    attached = list(_attached(root))
    filters_here = [filter_name for where, filter_name in attached if where == f"{port}.{unit}"]
    for filter_name in filters_here:
        if not filter_name.startswith(PREFIX) and filter_name != wanted:
            yield f"{name}: `{_FILTER}{filter_name}`"
    if wanted and wanted not in filters_here:
        yield f"{name}: `{_FILTER}{wanted}` is not there, and `input_filter` says that it is"
    for where, filter_name in attached:
        if wanted and filter_name == wanted and where != f"{port}.{unit}":
            yield f"{name}: `{_FILTER}{wanted}` is attached to {where}, too, which Slotcar's term would police"


def _attached(root: Node) -> Iterator[tuple[str, str]]:
    """Units and their input filters; of a list, or of one that is deactivated, the statement as a whole."""
    for port, number, unit in units_in(root):
        filters = unit.first("family", "inet", "filter")
        for one in filters.children if filters else ():
            several = one.name != "input" or one.inactive or (filters is not None and filters.inactive)
            if one.name in ("input", "input-list", "input-chain"):
                filter_name = one.text_of("filter-name") or one.text
                yield f"{port}.{number}", f"{filter_name} ({one.name})" if several else filter_name


def _service(root: Node, name: str, port: str, unit: int) -> Iterator[str]:
    """What serves or marks the interface, written for it or for names that it matches."""
    holder = root.first("class-of-service", "interfaces") or Node("", "")
    for one in holder.all("interface"):
        pattern = _EVERY_PORT.get(one.text_of("name"), one.text_of("name"))
        if not fnmatchcase(port, pattern) or (one.inactive and pattern != port):
            continue
        units = [other for other in one.all("unit") if fnmatchcase(str(unit), other.text_of("name"))]
        for node in (one, *units):
            yield from (f"{name}: `{words}`" for words in _not_ours(node))


def _not_ours(node: Node) -> Iterator[str]:
    """Statements with a name or a value that is not Slotcar's; an empty container says nothing."""
    for one in node.children:
        name_or_rate = name_in(one) or one.text_of("rate")
        if one.name in _SERVING and name_or_rate and not name_or_rate.startswith(PREFIX):
            yield f"{one.name} {name_or_rate}"
        for inner in one.children if one.name in _MARKING else ():
            name_or_rate = inner.text_of("classifier-name") or inner.text_of("rewrite-rule-name") or name_in(inner)
            if not name_or_rate.startswith(PREFIX):
                yield f"{one.name} {inner.name} {name_or_rate}".strip()


def _schedules_by_unit(active: Node, port: str) -> bool:
    """Whether `per-unit-scheduler` is in force at a port, by itself, by a range or by a group."""
    path = (("interfaces", ""), ("interface", port))
    sources = (active, *groups_at(active, path))
    return any(one.first("per-unit-scheduler") is not None for source in sources for one in at(source, path))


# -- inherited ---------------------------------------------------------------------------------------------------------


def _classes_of_groups(active: Node, device: Device) -> Iterator[str]:
    for group in groups_at(active, (("class-of-service", ""), ("forwarding-classes", ""))):
        yield from (f"{note} of the group {group.text_of('name')}" for note in _classes(group, device))


def _inherited(active: Node, device: Device) -> Iterator[str]:
    """Filters and class of service that interfaces get from groups and ranges: Slotcar's statement would take their place,
    or theirs would come into it."""
    for name in device.interfaces:
        port, unit = port_and_unit(name, device.name)
        for source, statement in (*_inherited_filters(active, port, unit), *_inherited_service(active, port, unit)):
            yield f"{name}: `{statement}` of the {source}"
        own = f"{PREFIX}IN-{label_of(name, device.name)}"
        path = (("firewall", ""), ("family", ""), ("inet", ""), ("filter", own))
        for group in groups_at(active, path):
            for term in (term for one in at(group, path) for term in one.all("term")):
                yield f"{name}: `filter {own} term {term.text_of('name')}` of the group {group.text_of('name')}"


def _inherited_filters(active: Node, port: str, unit: int) -> Iterator[tuple[str, str]]:
    """Where an input filter comes from, and which it is."""
    inner = (("unit", str(unit)), ("family", ""), ("inet", ""), ("filter", ""))
    for source, holder in inherited_at(active, port, inner):
        for one in holder.children:
            filter_name = one.text_of("filter-name") or one.text
            if one.name in ("input", "input-list", "input-chain") and not filter_name.startswith(PREFIX):
                yield source, f"{_FILTER}{filter_name}"


def _inherited_service(active: Node, port: str, unit: int) -> Iterator[tuple[str, str]]:
    of_port = (("class-of-service", ""), ("interfaces", ""), ("interface", port))
    for path in (of_port, (*of_port, ("unit", str(unit)))):
        for group in groups_at(active, path):
            for words in (words for one in at(group, path) for words in _not_ours(one)):
                yield f"group {group.text_of('name')}", words


# -- in the way --------------------------------------------------------------------------------------------------------


def check_clear(device: Device, foreign: Iterable[str], after: Node | None) -> None:
    """Slotcar never takes another's statement away, and its own in the same place would.

    Raises:
        Unrenderable: an operator's statement stands where one of `after` would go, or what would hold it is deactivated, or
            a filter of the forwarding table takes every packet.
    """
    wanted = set(_wanted(after, device))
    # The inventory may name unit 0 by the port alone.
    names = {"{}.{}".format(*port_and_unit(name, device.name)): name for name in device.interfaces}
    wanted |= {(names.get(where, where), aspect) for where, aspect in wanted}
    check_active(device, foreign, after)
    check_table(device.name, foreign, after)
    for note in foreign:
        match = _NOTE.match(note)
        if match is None:
            continue
        where, what, more = match.group("where", "statement", "more")
        if (where, _INPUT if what.startswith(("filter ", *ON_THE_WAY_IN)) else _SERVICE) in wanted:
            raise Unrenderable(
                f"{device.name} {where}: `{what}`{more} is in the way of Slotcar's; {_advice(where, what, more)}"
            )


def _advice(where: str, what: str, more: str) -> str:
    if where == ROUTER:
        return "choose other queues in slotcar_options, or free these"
    advice = "take it away, or leave this interface out of the inventory"
    name = what.removeprefix(_FILTER)
    if name == what or more or " " in name:
        return advice
    return f"say `input_filter:{where}: {name}` in slotcar_options and Slotcar's term is asked before it; or {advice}"


def _wanted(after: Node | None, device: Device) -> Iterator[tuple[str, str]]:
    by_label = {label_of(name, device.name): name for name in device.interfaces}
    for path, one in entries(after):
        if path[:2] == ("class-of-service", "forwarding-classes"):
            yield ROUTER, _SERVICE
        if path[0] == "firewall" and one.name == "term":
            label = one.text_of("filter").removeprefix(f"{PREFIX}IN-")
            yield by_label.get(label, label), _INPUT
    for port, number, unit in units_in(after):
        if unit.first("family", "inet", "filter"):
            yield f"{port}.{number}", _INPUT
    holder = after.first("class-of-service", "interfaces") if after else None
    for one in holder.all("interface") if holder else ():
        for unit in one.all("unit"):
            yield f"{one.text_of('name')}.{unit.text_of('name')}", _SERVICE
