"""`commit check`: what Junos refuses of a configuration that it has taken statement by statement.

References between names, and rules that hold between statements. Read from the configuration that is in force, so what
is deactivated refers to nothing and gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from slotcar_lab.junos.statements import amount
from slotcar_lab.junos.tree import Element, Refused

#: Forwarding classes that Junos has without saying so.
OWN_CLASSES = ("best-effort", "expedited-forwarding", "assured-forwarding", "network-control")
MOST_CLASSES = 16
_MARKINGS = {"classifiers": ("classifiers", "Classifier"), "rewrite-rules": ("rewrite-rules", "Rewrite rule")}


def check(root: Element) -> list[Refused]:
    """Every problem of a configuration in force (`inheritance.effective`); none where it can be committed."""
    return [*_firewall(root), *_attached(root), *_service(root), *_scheduling(root), *_profiles(root), *_used(root)]


def _problem(path: str, statement: str, message: str) -> Refused:
    return Refused(message, "operation-failed", "application", f"[edit {path}]", statement)


def _names(root: Element, path: str) -> set[str]:
    return {one.findtext("name") or "" for one in root.iterfind(path)}


def _classes(root: Element) -> set[str]:
    holder = "class-of-service/forwarding-classes"
    by_queue = {one.findtext("class-name") or "" for one in root.iterfind(f"{holder}/queue")}
    return {*OWN_CLASSES, *_names(root, f"{holder}/class"), *by_queue}


# -- filters and policers ----------------------------------------------------------------------------------------------


def _firewall(root: Element) -> Iterator[Refused]:
    for one in root.iterfind("firewall/policer"):
        where = f"firewall policer {one.findtext('name')}"
        limits = one.find("if-exceeding")
        if limits is None or not (limits.findtext("bandwidth-limit") or limits.findtext("bandwidth-percent")):
            yield _problem(where, "if-exceeding", "Missing mandatory statement: 'if-exceeding'")
        elif limits.findtext("burst-size-limit") is None:
            yield _problem(
                f"{where} if-exceeding", "burst-size-limit", "Missing mandatory statement: 'burst-size-limit'"
            )
        if one.find("then") is None:
            yield _problem(where, "then", "Missing mandatory statement: 'then'")
    for one in root.iterfind("firewall/three-color-policer"):
        yield from _three_color(one)
    for one in root.iterfind("firewall/family/inet/filter"):
        if not one.findall("term"):
            yield _problem("firewall family inet", f"filter {one.findtext('name')}", "Filter has no terms")
        for term in one.iterfind("term"):
            yield from _term(
                root, term, f"firewall family inet filter {one.findtext('name')} term {term.findtext('name')}"
            )


def _three_color(one: Element) -> Iterator[Refused]:
    where = f"firewall three-color-policer {one.findtext('name')}"
    kinds = [kind for kind in ("single-rate", "two-rate") if one.find(kind) is not None]
    if len(kinds) != 1:
        yield _problem(where, "two-rate", "Exactly one of 'single-rate' and 'two-rate' must be configured")
        return
    meter = one.find(kinds[0])
    if (meter.find("color-aware") is None) == (meter.find("color-blind") is None):
        yield _problem(
            f"{where} {kinds[0]}", "color-blind", "One of 'color-aware' and 'color-blind' must be configured"
        )
    committed, peak = (amount(meter.findtext(f"{name}-information-rate") or "") for name in ("committed", "peak"))
    if committed is None:
        yield _problem(
            f"{where} {kinds[0]}",
            "committed-information-rate",
            "Missing mandatory statement: 'committed-information-rate'",
        )
    elif kinds == ["two-rate"] and (peak is None or peak < committed):
        yield _problem(
            f"{where} two-rate",
            "peak-information-rate",
            "Peak information rate must be at least the committed information rate",
        )


def _term(root: Element, term: Element, where: str) -> Iterator[Refused]:
    filters = {one.findtext("name"): one for one in root.iterfind("firewall/family/inet/filter")}
    if called := term.findtext("filter"):
        if called not in filters:
            yield _problem(where, f"filter {called}", f"Referenced filter '{called}' is not defined")
        elif any(inner.find("filter") is not None for inner in filters[called].iterfind("term")):
            yield _problem(where, f"filter {called}", "Filters can be nested one level only")
        if term.find("from") is not None or term.find("then") is not None:
            yield _problem(where, f"filter {called}", "'filter' is mutually exclusive with 'from' and 'then'")
        return
    policers, colors = _names(root, "firewall/policer"), _names(root, "firewall/three-color-policer")
    references = (
        ("then/policer", policers, "policer"),
        ("then/three-color-policer/single-rate", colors, "three-color-policer"),
        ("then/three-color-policer/two-rate", colors, "three-color-policer"),
        ("then/forwarding-class", _classes(root), "forwarding-class"),
    )
    for path, defined, kind in references:
        name = term.findtext(path)
        if name and name not in defined:
            yield _problem(f"{where} then", f"{kind} {name}", f"Referenced {kind} '{name}' is not defined")


def _attached(root: Element) -> Iterator[Refused]:
    filters, policers = _names(root, "firewall/family/inet/filter"), _names(root, "firewall/policer")
    for port in root.iterfind("interfaces/interface"):
        for unit in port.iterfind("unit"):
            where = f"interfaces {port.findtext('name')} unit {unit.findtext('name')} family inet"
            holder = unit.find("family/inet/filter")
            for way in ("input", "output"):
                policer = unit.findtext(f"family/inet/policer/{way}")
                if policer and policer not in policers:
                    yield _problem(where, "policer", f"Referenced policer '{policer}' is not defined")
                if holder is None:
                    continue
                single = holder.findtext(f"{way}/filter-name")
                several = [one.text or "" for one in holder.iterfind(f"{way}-list")]
                if single and several:
                    yield _problem(
                        f"{where} filter", f"{way}-list", f"'{way}' and '{way}-list' are mutually exclusive"
                    )
                for name in (*([single] if single else []), *several):
                    if name not in filters:
                        yield _problem(where, "filter", f"Referenced filter '{name}' is not defined")


# -- class of service --------------------------------------------------------------------------------------------------


def _service(root: Element) -> Iterator[Refused]:
    holder = root.find("class-of-service/forwarding-classes")
    if holder is not None:
        named = holder.findall("class")
        if named and holder.findall("queue"):
            yield _problem(
                "class-of-service forwarding-classes", "class", "'class' and 'queue' are mutually exclusive"
            )
        if len({one.findtext("name") for one in named} | set(OWN_CLASSES)) > MOST_CLASSES:
            yield _problem("class-of-service", "forwarding-classes", f"More than {MOST_CLASSES} forwarding classes")
        for one in named:
            if one.findtext("queue-num") is None:
                name = f"class {one.findtext('name')}"
                yield _problem("class-of-service forwarding-classes", name, "Missing mandatory statement: 'queue-num'")
    classes = _classes(root)
    for path in (
        "classifiers/dscp",
        "classifiers/inet-precedence",
        "rewrite-rules/dscp",
        "rewrite-rules/inet-precedence",
        "scheduler-maps",
    ):
        for one in root.iterfind(f"class-of-service/{path}"):
            for name in (of.findtext("name") for of in one.iterfind("forwarding-class")):
                if name not in classes:
                    where = f"class-of-service {path.replace('/', ' ')} {one.findtext('name')}"
                    yield _problem(where, f"forwarding-class {name}", f"forwarding-class '{name}' is not defined")


def _scheduling(root: Element) -> Iterator[Refused]:
    schedulers, profiles = _names(root, "class-of-service/schedulers"), _names(root, "class-of-service/drop-profiles")
    for one in root.iterfind("class-of-service/scheduler-maps"):
        where = f"class-of-service scheduler-maps {one.findtext('name')}"
        for of in one.iterfind("forwarding-class"):
            if (name := of.findtext("scheduler")) not in schedulers:
                yield _problem(
                    f"{where} forwarding-class {of.findtext('name')}",
                    f"scheduler {name}",
                    f"scheduler '{name}' is not defined",
                )
    for one in root.iterfind("class-of-service/schedulers"):
        where = f"class-of-service schedulers {one.findtext('name')}"
        rate = one.find("transmit-rate")
        if rate is not None and sum(rate.find(kind) is not None for kind in ("rate", "percent", "remainder")) != 1:
            yield _problem(where, "transmit-rate", "One of a rate, 'percent' and 'remainder' must be configured")
        for name in (of.findtext("drop-profile") for of in one.iterfind("drop-profile-map")):
            if name not in profiles:
                yield _problem(where, f"drop-profile {name}", f"drop-profile '{name}' is not defined")


def _profiles(root: Element) -> Iterator[Refused]:
    for one in root.iterfind("class-of-service/drop-profiles"):
        curve = one.find("interpolate")
        if curve is not None and len(curve.findall("fill-level")) != len(curve.findall("drop-probability")):
            where = f"class-of-service drop-profiles {one.findtext('name')}"
            yield _problem(where, "interpolate", "As many fill levels as drop probabilities must be configured")
    maps = _names(root, "class-of-service/scheduler-maps")
    for one in root.iterfind("class-of-service/traffic-control-profiles"):
        if (name := one.findtext("scheduler-map")) and name not in maps:
            where = f"class-of-service traffic-control-profiles {one.findtext('name')}"
            yield _problem(where, f"scheduler-map {name}", f"scheduler-map '{name}' is not defined")


def _used(root: Element) -> Iterator[Refused]:
    """What interfaces say of their class of service."""
    per_unit = {
        one.findtext("name") or ""
        for one in root.iterfind("interfaces/interface")
        if one.find("per-unit-scheduler") is not None
    }
    for port in root.iterfind("class-of-service/interfaces/interface"):
        name = port.findtext("name") or ""
        yield from _of_interface(root, port, f"class-of-service interfaces {name}")
        for unit in port.iterfind("unit"):
            where = f"class-of-service interfaces {name} unit {unit.findtext('name')}"
            yield from _of_interface(root, unit, where)
            serving = [
                kind for kind in ("scheduler-map", "output-traffic-control-profile") if unit.find(kind) is not None
            ]
            if serving and not any(fnmatchcase(one, name) for one in per_unit):
                yield _problem(where, serving[0], f"'per-unit-scheduler' is not configured for {name}")


def _of_interface(root: Element, one: Element, where: str) -> Iterator[Refused]:
    references = (
        ("scheduler-map", "class-of-service/scheduler-maps", "scheduler-map"),
        (
            "output-traffic-control-profile/profile-name",
            "class-of-service/traffic-control-profiles",
            "traffic-control-profile",
        ),
    )
    for path, kept, kind in references:
        name = one.findtext(path)
        if name and name not in _names(root, kept):
            yield _problem(where, f"{kind} {name}", f"{kind} '{name}' is not defined")
    if one.find("scheduler-map") is not None and one.find("output-traffic-control-profile") is not None:
        yield _problem(
            where, "scheduler-map", "'scheduler-map' and 'output-traffic-control-profile' are mutually exclusive"
        )
    for marking, (kept, words) in _MARKINGS.items():
        for of in one.iterfind(f"{marking}/*"):
            name = of.findtext("name") or of.findtext("classifier-name")
            if name != "default" and name not in _names(root, f"class-of-service/{kept}/{of.tag}"):
                yield _problem(f"{where} {marking}", f"{of.tag} {name}", f"{words} '{name}' is not defined")
    name = one.findtext("forwarding-class")
    if name and name not in _classes(root):
        yield _problem(where, f"forwarding-class {name}", f"forwarding-class '{name}' is not defined")
