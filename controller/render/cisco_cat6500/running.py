"""What is Slotcar's in a running configuration: objects by their names, and nameless lines that `SLOTCAR-OWNS` tells of.

The switch's maps and a port's trust and queueing cannot carry a name. Slotcar writes them only where it has said so first,
in a remark of the list `SLOTCAR-OWNS`: the port's name, or `mls qos map`. Without that remark the same lines are an
operator's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from controller.network.model import Device
from controller.render.cisco_car.running import ports_as_numbers
from controller.render.cisco_cat6500.change import setting
from controller.render.cisco_cat6500.limits import port_type
from controller.render.cisco_cat6500.marks import OURS, default_of
from controller.render.cisco_cat6500.tree import (
    ACL,
    CLASS,
    INTERFACE,
    OWNS,
    OWNS_MAPS,
    POLICER,
    POLICY,
    PREFIX,
    Tree,
    blocks,
    map_entries,
    parsed,
    policy,
)
from controller.render.model import Configuration, Unrenderable

SHOW = "show running-config"
QOS = "mls qos"
_POLICE = re.compile(
    r"^(?P<head>police|police flow)(?: cir)? (?P<rate>\d+)(?: bc)? (?P<burst>\d+)(?:(?: be)? (?P<most>\d+))?"
    r"(?: pir (?P<peak>\d+))? conform-action (?P<conform>\S+(?: \d+)?) exceed-action (?P<exceed>\S+)"
    r"(?: violate-action (?P<violate>\S+))?$"
)
_QUEUEING = ("wrr-queue ", "priority-queue cos-map ")
#: What IOS gives a port before it is told otherwise, and does not print (12.1E guide, table 31-2).
_DEFAULTS = {
    "1p2q2t": (
        "wrr-queue bandwidth 5 255",
        "wrr-queue queue-limit 70 15",
        "wrr-queue random-detect min-threshold 1 40 70",
        "wrr-queue random-detect min-threshold 2 40 70",
        "wrr-queue random-detect max-threshold 1 70 100",
        "wrr-queue random-detect max-threshold 2 70 100",
    ),
    "2q2t": (
        "wrr-queue bandwidth 5 255",
        "wrr-queue queue-limit 80 20",
        "wrr-queue threshold 1 80 100",
        "wrr-queue threshold 2 80 100",
    ),
}
_COS: dict[int, str] = {0: "1 1", 1: "1 1", 2: "1 2", 3: "1 2", 4: "2 1", 6: "2 2", 7: "2 2"}
_COS_PREMIUM = {"1p2q2t": "priority", "2q2t": "2 1"}


def owned_lines(text: str, device: Device) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Slotcar's lines in the canonical order, and in words what of others' is in their place."""
    told = list(blocks([line for line in text.splitlines() if line.strip() not in ("", "!")]))
    tree, owned = Tree(), _owned(told)
    foreign: list[str] = []
    for head, body in told:
        if head.startswith((ACL + PREFIX, CLASS + PREFIX, POLICER + PREFIX, POLICY + PREFIX)):
            _add_named(tree, head, body)
        elif head.startswith(INTERFACE):
            name = head.removeprefix(INTERFACE)
            lines, notes = _port(name, body, name in owned, device)
            foreign += notes if name in device.interfaces else []
            if lines:
                tree.interfaces[name] = lines
        elif entries := map_entries(head):
            others = {key: to for key, to in entries.items() if key in OURS and to != default_of(key)}
            if OWNS_MAPS in owned:
                tree.maps |= others
            elif others:
                foreign.append(f"{OWNS_MAPS}: `{head}`")
    if QOS not in (head for head, _ in told):
        foreign.append(f"{QOS}: is not on")
    return tree.lines(), tuple(foreign)


def _owned(told: Sequence[tuple[str, tuple[str, ...]]]) -> set[str]:
    """Ports, and `mls qos map`, whose nameless lines are Slotcar's."""
    entries = next((body for head, body in told if head == ACL + OWNS), ())
    return {entry.removeprefix("remark ") for entry in entries if entry.startswith("remark ")}


def _add_named(tree: Tree, head: str, body: tuple[str, ...]) -> None:
    one = parsed([head, *(f" {line}" for line in body)])
    tree.acls |= {name: _entries(entries) for name, entries in one.acls.items()}
    tree.classes |= one.classes
    for name, arguments in one.policers.items():
        tree.policers[name] = _canonical(f"police {arguments}").removeprefix("police ")
    for name in one.policies:
        tree.policies[name] = tuple((c, tuple(_canonical(one) for one in actions)) for c, actions in policy(body))


def _entries(entries: Sequence[str]) -> tuple[str, ...]:
    """Remarks first, as Slotcar writes them: IOS keeps each where it was entered."""
    remarks = sorted(entry for entry in entries if entry.startswith("remark "))
    return (*remarks, *(ports_as_numbers(entry) for entry in entries if not entry.startswith("remark ")))


def _canonical(action: str) -> str:
    """A policer in the form in which Slotcar writes it: IOS may name or leave out what is as by default."""
    found = _POLICE.match(action)
    if found is None:
        return action
    rate, burst, most, peak = (found[key] for key in ("rate", "burst", "most", "peak"))
    bucket = [] if found["head"].endswith("flow") else [most or burst]
    acts = ["conform-action", found["conform"], "exceed-action", found["exceed"]]
    if peak is None or peak == rate:
        return " ".join([found["head"], rate, burst, *bucket, *acts])
    return " ".join(
        [
            found["head"],
            rate,
            burst,
            *bucket,
            "pir",
            peak,
            *acts,
            "violate-action",
            found["violate"] or found["exceed"],
        ]
    )


def _port(name: str, body: Sequence[str], owned: bool, device: Device) -> tuple[tuple[str, ...], list[str]]:
    """Slotcar's lines of a port, and notes of an operator's lines that stand where Slotcar's would."""
    policies = [line for line in body if line.startswith("service-policy input ")]
    trust = [line for line in body if line.startswith("mls qos trust")]
    queueing = [line for line in body if line.startswith(_QUEUEING)]
    ours = [line for line in policies if line.startswith(f"service-policy input {PREFIX}")]
    in_the_way = [line for line in policies if line not in ours]
    in_the_way += [line for line in body if line == "mls qos vlan-based"]
    if not owned:
        in_the_way += trust + queueing
        trust, queueing = [], []
    notes = [f"{name}: `{line}`" for line in in_the_way]
    settings = _queueing(queueing, port_type(device, name).name) if queueing else ()
    return (*trust, *ours, *settings), notes


def _queueing(lines: Sequence[str], kind: str) -> Iterator[str]:
    """All settings of the port: those that IOS prints, over those that it leaves out because they are as by default."""
    settings = {setting(line): line for line in _DEFAULTS[kind]}
    settings |= {setting(line): line for line in lines if "cos-map" not in line}
    yield from sorted(settings.values(), key=_place)
    places: dict[int, str] = _COS | {5: _COS_PREMIUM[kind]}
    for line in lines:
        words = line.split()
        if line.startswith("wrr-queue cos-map "):
            places |= {int(cos): f"{words[2]} {words[3]}" for cos in words[4:]}
        elif line.startswith("priority-queue cos-map "):
            places |= {int(cos): "priority" for cos in words[3:]}
    for place in sorted(set(places.values())):
        cos = " ".join(str(one) for one in sorted(places) if places[one] == place)
        yield f"priority-queue cos-map 1 {cos}" if place == "priority" else f"wrr-queue cos-map {place} {cos}"


def _place(line: str) -> tuple[int, str]:
    """Where a setting stands among the port's canonical lines."""
    order = (
        "wrr-queue bandwidth",
        "wrr-queue queue-limit",
        "wrr-queue random-detect min",
        "wrr-queue random-detect max",
    )
    return next((n for n, start in enumerate(order) if line.startswith(start)), len(order)), line


def check_clear(before: Configuration, after: Configuration) -> None:
    """Slotcar replaces nothing of an operator's.

    Raises:
        Unrenderable: others' lines stand where the wanted ones would, or `mls qos` is off.
    """
    wanted = parsed(after.lines)
    for note in before.foreign:
        place, _, what = note.partition(": ")
        if place == QOS and after.lines:
            raise Unrenderable(
                f"{before.device}: `{QOS}` {what}; turning it on re-marks the traffic of every port that is not trusted,"
                " so it is the operator's to do"
            )
        if place in wanted.interfaces or (place == OWNS_MAPS and wanted.maps):
            raise Unrenderable(
                f"{before.device}: {place} has {what}, which is not Slotcar's; take it away, or leave"
                f" {'the assured rate' if place == OWNS_MAPS else 'this port'} out of the inventory"
            )
