"""From a running configuration, or from Slotcar's own canonical lines, to objects. Whatever order IOS prints a class's
lines in, whichever words it adds or leaves out, equal meaning gives equal objects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from slotcar.base.texts import BLANKS, words_of
from slotcar.base.vocabulary import Protocol
from slotcar.platforms.ios.configuration import Ios
from slotcar.platforms.ios.free_text import UnendedText
from slotcar.platforms.ios.objects import (
    PREFIX,
    AccessList,
    ClassMap,
    CosQueueGroup,
    DropProfile,
    Entry,
    Interface,
    Mark,
    Match,
    PfcPolice,
    Police,
    PolicyClass,
    PolicyMap,
    PrecedenceQueue,
    QueueWeight,
    RandomDetect,
    RxCosSlot,
    SlotTable,
    natural,
)
from slotcar.platforms.ios.order import canonical
from slotcar.platforms.ios.tree import Node, parse
from slotcar.platforms.ios.words import PORTS, PROTOCOLS, dscp_name
from slotcar.platforms.model import Unreadable

#: What a reading asks.
SHOW = "show running-config"
#: What tells a numbered list of Slotcar's from an operator's in the same range.
MARK = "slotcar "
_ENTRY = re.compile(r"^(?:\d+ )?permit ([^ ]+) host ([^ ]+)(?: eq ([^ ]+))? host ([^ ]+)(?: eq ([^ ]+))?$")
_OURS = frozenset(PROTOCOLS.get(one.value, one.value) for one in Protocol)
_SEQUENCE = re.compile(r"^\d+ (?=permit |deny |remark )")
_MATCH_LIST = re.compile(r"^match access-group (?:name )?([^ ]+)$")
_MATCH_POINTS = re.compile(r"^match (?:ip )?(dscp|precedence) (.+)$")
_POLICE = re.compile(
    r"^police cir (\d+) bc (\d+)(?: pir (\d+))?(?: be (\d+))?(?: conform-color ([^ ]+) exceed-color ([^ ]+))?"
    r" conform-action (.+?) exceed-action (.+?)(?: violate-action (.+))?$"
)
_PFC_POLICE = re.compile(
    r"^police(?P<flow> flow)?(?: cir)? (?P<rate>\d+)(?: bc)? (?P<burst>\d+)(?:(?: be)? (?P<most>\d+))?"
    r"(?: pir (?P<peak>\d+))? conform-action (?P<conform>[^ ]+(?: \d+)?) exceed-action (?P<exceed>[^ ]+)"
    r"(?: violate-action (?P<violate>[^ ]+))?$"
)
_ACTION = re.compile(r"(?=\b(?:conform|exceed|violate)-action )")
_INSIDE = ("conform-color", "conform-action", "exceed-action", "violate-action")
_PROFILE = re.compile(r"^random-detect (dscp|precedence) ([^ ]+) (\d+) (\d+) (\d+)$")
_LABEL = re.compile(r"^random-detect-label (\d+) (\d+) (\d+) (\d+)$")


def configuration_of(text: str, device: str) -> list[Node]:
    """The top lines of an answer to `show running-config`.

    Raises:
        Unreadable: the answer holds no configuration.
    """
    try:
        nodes = parse(text)
    except UnendedText as first:
        raise Unreadable(f"{device}: the text that begins with `{first}` goes on to the end of `{SHOW}`") from first
    if not any(node.line.startswith("interface ") for node in nodes):
        raise Unreadable(f"{device}: `{SHOW}` gave no configuration: {text.strip()[:80] or 'nothing'}")
    return nodes


@dataclass(slots=True)
class _Parts:
    """What is collected while the lines are read: IOS may print a list, or a section, in several places."""

    lists: dict[str, list[Entry]] = field(default_factory=dict)
    policies: dict[str, list[PolicyClass]] = field(default_factory=dict)


def owned_in(nodes: Iterable[Node], numbers: range = range(0), *, catalyst: bool = False) -> Ios:
    """What has a name of Slotcar's, with the numbered lists in `numbers` that carry its remark.

    Remarks stand before entries where a list is written as a whole, else behind them.
    `catalyst`: policers are the PFC's, code points numbers, standing classes go by name, and no list is edited in place.
    """
    ios, parts = Ios(), _Parts()
    for node in nodes:
        words = node.words
        if words[0] == "access-list" and len(words) > 2 and words[1].isdigit() and int(words[1]) in numbers:
            parts.lists.setdefault(words[1], []).append(entry(" ".join(words[2:])))
        elif words[0] == "interface":
            one = attachments(words[1], node)
            ios.interfaces.update({words[1]: one} if one != Interface(words[1]) else {})
        elif words[-1].startswith(PREFIX):
            _add(node, words, ios, parts, catalyst)
    for name, entries in parts.lists.items():
        if not name.isdigit() or any(one.remark.startswith(MARK) for one in entries):
            first = catalyst or name.isdigit()
            ordered = sorted(entries, key=lambda one: bool(one.remark) is not first)
            ios.lists[name] = AccessList(name, tuple(ordered))
    for name, classes in parts.policies.items():
        ios.policies[name] = PolicyMap(name, canonical(classes, ios, by_name=catalyst))
    return ios


def _add(node: Node, words: list[str], ios: Ios, parts: _Parts, catalyst: bool) -> None:
    """A named object into where it belongs."""
    name = words[-1]
    if words[:3] == ["ip", "access-list", "extended"]:
        parts.lists.setdefault(name, []).extend(entry(child.line) for child in node.children)
    elif words[0] == "class-map":
        how = words[1] if words[1].startswith("match-") else "match-all"
        ios.class_maps[name] = ClassMap(name, how, tuple(match(one.line, numbers=catalyst) for one in node.children))
    elif words[0] == "policy-map":
        classes = [policy_class(one, pfc=catalyst) for one in node.children if one.line.startswith("class ")]
        parts.policies.setdefault(name, []).extend(classes)
    elif words[0] == "cos-queue-group":
        ios.groups[name] = cos_queue_group(name, [one.line for one in node.children])
    elif words[0] == "rx-cos-slot" and words[1].isdigit():
        ios.rx_cos[int(words[1])] = RxCosSlot(int(words[1]), name)
    elif words[0] == "slot-table-cos":
        group = next((one.words[-1] for one in node.children), "")
        ios.slot_tables[name] = SlotTable(name, group)


def attachments(name: str, node: Node) -> Interface:
    """The owned policies and groups of an interface."""
    one = Interface(name)
    for child in node.children:
        words = child.words
        if not words[-1].startswith(PREFIX):
            continue
        if words[0] == "service-policy" and words[1:2] in (["input"], ["output"]):
            way = {"input_policy": words[-1]} if words[1] == "input" else {"output_policy": words[-1]}
            one = replace(one, **way)  # type: ignore[arg-type]
        elif words[0] == "tx-cos" and len(words) == 2:
            one = replace(one, tx_cos=words[-1])
    return one


def entry(line: str) -> Entry:
    """An entry of an access list, without its sequence number, ports as numbers."""
    if parts := _ENTRY.match(line):
        word, source, source_port, destination, destination_port = parts.groups()
        protocol = PROTOCOLS.get(word, word)
        ports = [_port(protocol, port) for port in (source_port, destination_port)]
        if protocol in _OURS and "other" not in ports:
            return Entry(protocol, source, ports[0], destination, ports[1])  # type: ignore[arg-type]
    line = _SEQUENCE.sub("", line)
    return Entry(remark=line.removeprefix("remark ")) if line.startswith("remark ") else Entry(other=line)


def _port(protocol: str, word: str | None) -> int | str | None:
    if word is None or word.isdigit():
        return int(word) if word else None
    return PORTS.get(protocol, {}).get(word, "other")


def match(line: str, *, numbers: bool = False) -> Match:
    """`numbers`: code points are numbers; else a DSCP has its name, however IOS printed it."""
    if matched := _MATCH_LIST.match(line):
        return Match(acl=matched[1])
    if matched := _MATCH_POINTS.match(line):
        named_points = matched[1] == "dscp" and not numbers
        points = [dscp_name(word) if named_points else word for word in words_of(matched[2])]
        return Match(field=matched[1], points=tuple(int(point) if point.isdigit() else point for point in points))
    return Match(other=line)


# -- classes of policy maps --------------------------------------------------------------------------------------------


def policy_class(node: Node, *, pfc: bool = False) -> PolicyClass:
    """`pfc`: its policers are those of a Catalyst's policy feature card."""
    values: dict[str, Any] = {"name": node.words[1]}
    detection: list[str] = []
    other: list[str] = []
    for child in node.children:
        line = child.line
        if line.startswith("random-detect"):
            detection.append(line)
        elif (values_of_line := _police(child, pfc) if line.startswith("police ") else _action(line)) and not (
            values_of_line.keys() & values.keys()
        ):
            values |= values_of_line
            other += [] if line.startswith("police ") else [f" {one.line}" for one in child.children]
        else:
            other += [line, *(f" {one.line}" for one in child.children)]
    random_detect, unread = _random_detect(detection)
    return PolicyClass(**values, random_detect=random_detect, other=(*unread, *other))


#: Lines of a class with one number, and those without, by what they say.
_NUMBERS = {
    "shape average": "shape_bps",
    "priority percent": "priority_percent",
    "bandwidth percent": "bandwidth_percent",
    "queue-limit": "queue_limit_packets",
}
#: Of a shaper with a bucket of its own, and nothing in excess of it.
_SHAPE = re.compile(r"^shape average ([0-9]+) ([0-9]+) 0$")
_FLAGS = {"trust dscp": "trust", "priority": "priority", "fair-queue": "fair_queue"}


def _action(line: str) -> dict[str, Any]:
    """The attributes of a class that a line says; empty where it is in no form of Slotcar's."""
    if line in _FLAGS:
        return {_FLAGS[line]: True}
    if shaped := _SHAPE.match(line):
        return {"shape_bps": int(shaped[1]), "shape_bc_bits": int(shaped[2])}
    head, _, value = line.removesuffix(" packets").rpartition(" ")
    if head in _NUMBERS and value.isdigit():
        flag = {"priority": True} if head == "priority percent" else {}
        return flag | {_NUMBERS[head]: int(value)}
    if head == "set ip dscp":
        return {"mark": Mark("dscp", dscp_name(value))}
    if head == "set ip precedence" and value.isdigit():
        return {"mark": Mark("precedence", int(value))}
    return {"service_policy": value} if head == "service-policy" else {}


def _police(node: Node, pfc: bool) -> dict[str, Any]:
    """A policer, whether IOS prints it in one line or in several."""
    words = node.words
    if words[1] == "aggregate":
        return {"aggregate": words[2]}
    parts = [*_ACTION.split(node.line), *sorted((one.line for one in node.children), key=_inside)]
    line = " ".join(" ".join(words_of(one)) for one in sorted(parts[1:], key=_inside))
    line = f"{parts[0].strip(BLANKS)} {line}"
    if pfc:
        one = pfc_police(line)
        return {"pfc_police": one} if one else {}
    if matched := _POLICE.match(line):
        cir, bc, pir, be, green, yellow, *acts = matched.groups()
        conform, exceed, violate = (_marking(one or "") for one in acts)
        one_bucket = pir is None and be is None
        # With one bucket nothing violates; newer releases print it all the same.
        police = Police(
            int(cir), int(bc), conform, exceed,
            violate="" if one_bucket and violate == "drop" else violate,
            pir_bps=_number(pir), be_bytes=_number(be), conform_color=green or "", exceed_color=yellow or "",
        )  # fmt: skip
        return {"police": police} if green or pir or not be else {}
    return {}


def pfc_police(line: str) -> PfcPolice | None:
    """A policer of a Catalyst: IOS may name or leave out what is as by default."""
    matched = _PFC_POLICE.match(line)
    if matched is None:
        return None
    rate, burst = int(matched["rate"]), int(matched["burst"])
    peak = int(matched["peak"] or rate)
    two_rates = peak != rate
    return PfcPolice(
        rate, burst, 0 if matched["flow"] else int(matched["most"] or burst), matched["conform"], matched["exceed"],
        peak_bps=peak if two_rates else 0,
        violate=(matched["violate"] or matched["exceed"]) if two_rates else "",
        microflow=bool(matched["flow"]),
    )  # fmt: skip


def _number(word: str | None) -> int | None:
    return int(word) if word else None


def _inside(line: str) -> int:
    word = line.split(" ", 1)[0]
    return _INSIDE.index(word) if word in _INSIDE else len(_INSIDE)


def _marking(action: str) -> str:
    kind, _, point = action.partition(" ")
    return f"{kind} {dscp_name(point)}" if kind == "set-dscp-transmit" else action


def _random_detect(lines: Sequence[str]) -> tuple[RandomDetect | None, tuple[str, ...]]:
    """WRED of a class, and the lines about it that are in no form of Slotcar's."""
    kinds = [line for line in lines if line in ("random-detect", "random-detect precedence-based")]
    by_dscp = "random-detect dscp-based" in lines
    field, profiles, left = ("dscp" if by_dscp else "precedence"), [], []
    for line in lines:
        matched = _PROFILE.match(line)
        if matched and matched[1] == field and (kinds or by_dscp):
            point = dscp_name(matched[2]) if by_dscp else matched[2]
            numbers = [int(word) for word in matched.groups()[2:]]
            profiles.append(DropProfile(int(point) if point.isdigit() else point, *numbers))
        elif line not in (*kinds, "random-detect dscp-based", "random-detect ecn"):
            left.append(line)
    if not (kinds or by_dscp):
        return None, tuple(lines)
    profiles.sort(key=lambda one: natural(str(one.point)))
    return RandomDetect(field, tuple(profiles), "random-detect ecn" in lines), tuple(left)


# -- line cards of a 12000 ---------------------------------------------------------------------------------------------


def cos_queue_group(name: str, lines: Iterable[str]) -> CosQueueGroup:
    queues: dict[int, str] = {}
    labels: set[int] = set()
    weights, profiles, other, low_latency = [], [], [], ""
    for line in lines:
        words = words_of(line)
        match words:
            case ["precedence", precedence, "queue", queue]:
                queues[int(precedence)] = queue
            case ["precedence", precedence, "random-detect-label", label] if precedence == label:
                labels.add(int(precedence))
            case ["queue", "low-latency", *how]:
                low_latency = " ".join(how)
            case ["queue", queue, weight]:
                weights.append(QueueWeight(int(queue), int(weight)))
            case _:
                if matched := _LABEL.match(line):
                    profiles.append(DropProfile(*(int(word) for word in matched.groups())))
                else:
                    other.append(line)
    other += [f"precedence {one} random-detect-label {one}" for one in sorted(labels - queues.keys())]
    return CosQueueGroup(
        name,
        tuple(PrecedenceQueue(one, queue, one in labels) for one, queue in sorted(queues.items())),
        tuple(sorted(weights, key=lambda one: one.queue)),
        low_latency,
        tuple(sorted(profiles, key=lambda one: one.point)),
        tuple(other),
    )
