"""What is Slotcar's in a running configuration: objects by their names, and nameless lines that `SLOTCAR-OWNS` tells of.

The switch's maps and a port's trust and queueing cannot carry a name. Slotcar writes them only where it has said so first,
in a remark of the list `SLOTCAR-OWNS`: the port's name, or `mls qos map`. Without that remark the same lines are an
operator's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from slotcar.base.texts import words_of
from slotcar.network.model import Device
from slotcar.platforms.cisco_cat6500.limits import port_type
from slotcar.platforms.cisco_cat6500.marks import OURS, OWNS_MAPS, Maps, default_of
from slotcar.platforms.ios import reading
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.objects import PREFIX, AggregatePolicer, CosMap, Interface, Wrr, WrrQueue
from slotcar.platforms.ios.owned_places import OWNS, owns_list, places_in
from slotcar.platforms.ios.rate_limits import check_limits, limits_beside, limits_noted
from slotcar.platforms.ios.renderer import Noted
from slotcar.platforms.ios.tree import Node
from slotcar.platforms.model import Unrenderable

QOS = "mls qos"
_POLICER = re.compile(rf"^mls qos aggregate-policer ({PREFIX}[^ ]+) (.+)$")
_MAP = re.compile(r"^mls qos map (dscp-cos|policed-dscp (?:normal-burst|max-burst)) ([\d ]+?) to (\d+)$")
#: Of a port: policies are the VLAN's, or none; a code point is believed where a telephone is; it leaves as another.
_WITHOUT_EFFECT = re.compile(r"^(mls qos vlan-based|no mls qos|mls qos trust device .+|mls qos dscp-mutation .+)$")
#: Of the switch: it polices and marks nothing; what it marks leaves unmarked; it has no microflow policers.
QUEUEING_ONLY = "mls qos queueing-only"
REWRITES_NOTHING = "no mls qos rewrite ip dscp"
NO_MICROFLOWS = "no mls qos flow-policing"
_QUEUEING = ("wrr-queue ", "priority-queue cos-map ")
#: What IOS gives a port before it is told otherwise, and does not print (12.1E guide, table 31-2).
_DEFAULTS = {
    "1p2q2t": Wrr((5, 255), (70, 15), (WrrQueue(1, (40, 70), (70, 100)), WrrQueue(2, (40, 70), (70, 100))), ()),
    "2q2t": Wrr((5, 255), (80, 20), (WrrQueue(1, tail=(80, 100)), WrrQueue(2, tail=(80, 100))), ()),
}
#: By CoS its queue and threshold, as IOS has them; in the priority queue: None.
Place = tuple[int, int] | None
_COS: dict[int, Place] = {0: (1, 1), 1: (1, 1), 2: (1, 2), 3: (1, 2), 4: (2, 1), 6: (2, 2), 7: (2, 2)}
_COS_PREMIUM: dict[str, Place] = {"1p2q2t": None, "2q2t": (2, 1)}


def owned_in(nodes: Sequence[Node], device: Device) -> tuple[Ios, tuple[str, ...]]:
    """Slotcar's objects, and in words what of others' is in their place."""
    ios = reading.owned_in(nodes, catalyst=True)
    owns = places_in(ios)
    ios.lists.update({OWNS: owns_list(owns)} if owns else {})
    foreign: list[str] = []
    for node in nodes:
        words = node.words
        if words[0] == "interface":
            one, notes = _port(words[1], node, ios, words[1] in owns, device)
            foreign += notes if words[1] in device.interfaces else []
            if one != Interface(words[1]):
                ios.interfaces[words[1]] = one
        elif match := _POLICER.match(node.line):
            if police := reading.pfc_police(f"police {match[2]}"):
                ios.policers[match[1]] = AggregatePolicer(match[1], police)
        elif entries := map_entries(node.line):
            others = {key: to for key, to in entries.items() if key in OURS and to != default_of(key)}
            if OWNS_MAPS in owns:
                ios.maps.update(others)
            elif others:
                foreign.append(f"{OWNS_MAPS}: `{node.line}`")
    beside = limits_beside(nodes, device.interfaces)
    return ios, (*foreign, *beside, *_of_the_switch({node.line for node in nodes}))


def _of_the_switch(lines: set[str]) -> Iterator[str]:
    if QOS not in lines:
        yield f"{QOS}: is not on"
    for line in (QUEUEING_ONLY, REWRITES_NOTHING, NO_MICROFLOWS):
        if line in lines:
            yield f"{line}: is on"


def map_entries(line: str) -> Maps:
    """`mls qos map dscp-cos 12 14 to 2` as one entry for each DSCP; other lines give none."""
    match = _MAP.match(line)
    return {(match[1], int(dscp)): int(match[3]) for dscp in words_of(match[2])} if match else {}


def _port(name: str, node: Node, ios: Ios, owned: bool, device: Device) -> tuple[Interface, list[str]]:
    """Slotcar's lines of a port, and notes of an operator's lines that stand where Slotcar's would."""
    lines = [child.line for child in node.children]
    trust = [line for line in lines if line.startswith("mls qos trust") and not _WITHOUT_EFFECT.match(line)]
    queueing = [line for line in lines if line.startswith(_QUEUEING)]
    in_the_way = [
        line
        for line in lines
        if line.startswith("service-policy input ") and not line.startswith(f"service-policy input {PREFIX}")
    ]
    in_the_way += [line for line in lines if _WITHOUT_EFFECT.match(line)]
    one = ios.interfaces.get(name, Interface(name))
    if owned:
        wrr = wrr_of(queueing, port_type(device, name).name) if queueing else None
        one = replace(one, trust="mls qos trust dscp" in trust, wrr=wrr)
    else:
        in_the_way += trust + queueing
    return one, [f"{name}: `{line}`" for line in in_the_way]


def wrr_of(lines: Sequence[str], kind: str) -> Wrr:
    """All settings of the port: those that IOS prints, over those that it leaves out because they are as by default."""
    wrr = _DEFAULTS[kind]
    queues = {queue.number: queue for queue in wrr.queues}
    places = _COS | {5: _COS_PREMIUM[kind]}
    for line in lines:
        words = words_of(line)
        numbers = tuple(int(word) for word in words if word.isdigit())
        match words[:3]:
            case ["wrr-queue", "bandwidth", *_]:
                wrr = replace(wrr, bandwidth=numbers)
            case ["wrr-queue", "queue-limit", *_]:
                wrr = replace(wrr, limits=numbers)
            case ["wrr-queue", "random-detect", "min-threshold"]:
                queues[numbers[0]] = replace(queues[numbers[0]], minima=numbers[1:])
            case ["wrr-queue", "random-detect", "max-threshold"]:
                queues[numbers[0]] = replace(queues[numbers[0]], maxima=numbers[1:])
            case ["wrr-queue", "threshold", _]:
                queues[numbers[0]] = replace(queues[numbers[0]], tail=numbers[1:])
            case ["wrr-queue", "cos-map", _]:
                places |= dict.fromkeys(numbers[2:], (numbers[0], numbers[1]))
            case ["priority-queue", "cos-map", _]:
                places |= dict.fromkeys(numbers[1:])
    by_place: dict[Place, list[int]] = {}
    for cos, place in sorted(places.items()):
        by_place.setdefault(place, []).append(cos)
    priority = tuple(by_place.pop(None, ()))
    maps = sorted((*place, tuple(cos)) for place, cos in by_place.items() if place)
    return replace(
        wrr,
        queues=tuple(queue for _, queue in sorted(queues.items())),
        cos_maps=tuple(CosMap(*one) for one in maps),
        priority_cos=priority,
    )


def check_clear(device: str, noted: Noted, after: Ios) -> None:
    """Slotcar replaces nothing of an operator's.

    Raises:
        Unrenderable: others' lines stand where the wanted ones would, or the switch leaves them without effect.
    """
    foreign = noted[1]
    check_limits(device, foreign, after)
    _check_switch(device, foreign, after)
    limits = {limit.note for limit in limits_noted(foreign)}
    for note in (note for note in foreign if note not in limits):
        place, _, what = note.partition(": ")
        if place in after.interfaces or (place == OWNS_MAPS and after.maps):
            raise Unrenderable(
                f"{device}: {place} has {what}, which is not Slotcar's; take it away, or leave"
                f" {'the assured rate' if place == OWNS_MAPS else 'this port'} out of the inventory"
            )


def _check_switch(device: str, foreign: Iterable[str], after: Ios) -> None:
    """
    Raises:
        Unrenderable: the whole switch leaves the wanted objects, or some of them, without effect.
    """
    policers = [one.pfc_police for policy in after.policies.values() for one in policy.classes if one.pfc_police]
    words = {
        QOS: (
            bool(after.objects()),
            "turning it on re-marks the traffic of every port that is not trusted, so it is the operator's to do",
        ),
        QUEUEING_ONLY: (bool(after.objects()), "nothing is policed or marked; take it away"),
        REWRITES_NOTHING: (bool(policers), "packets leave with the code point that they came with; take it away"),
        NO_MICROFLOWS: (
            any(one.microflow for one in policers),
            "no microflow is policed; take it away, or leave out slotcar_options.microflow",
        ),
    }
    for note in foreign:
        place, _, what = note.partition(": ")
        wanted, why = words.get(place, (False, ""))
        if wanted:
            joint = ";" if place == QOS else ", and"
            raise Unrenderable(f"{device}: `{place}` {what}{joint} {why}")
