"""A pure model of the part of IOS that the modular QoS command line and MDRR live in: takes lines in configuration mode one
by one, refuses what the command references refuse and what would open a hole, says which class a packet is in at any
moment, and prints a running configuration. Written from the command references, not from the renderer.

"Quality of Service Solutions Command Reference", 12.2 to 15.1: `policy-map` (classes are asked in the order in which they
were entered, `class-default` last; a class that is in it is entered again to be changed), `class-map` and `policy-map`
(neither goes while it is used), `bandwidth` (100 % at most), `access-list` (a list that is not there permits everything).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field

from tests.unit.platforms.ios import PORT_NAMES, Refused, refuse_unless

DEFAULT = "class-default"
NUMBERED = re.compile(r"access-list (\d+)(?: (.*))?")


@dataclass(slots=True)
class Map:
    how: str
    matches: list[str] = field(default_factory=list)


@dataclass(slots=True)
class State:
    lists: dict[str, list[str]] = field(default_factory=dict)
    maps: dict[str, Map] = field(default_factory=dict)
    policies: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    sections: dict[str, list[str]] = field(default_factory=dict)
    slots: dict[str, str] = field(default_factory=dict)
    ports: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Packet:
    protocol: str
    source: str
    source_port: int
    destination: str
    destination_port: int
    mark: str = ""


class MqcIos:
    """`watch` is called after every line."""

    def __init__(self, names: Iterable[str]) -> None:
        self.state = State(ports={name: [] for name in names})
        self.watch: Callable[[str], None] = lambda _: None
        self._modes: list[tuple[str, str]] = []

    def snapshot(self) -> State:
        return deepcopy(self.state)

    def run(self, lines: Iterable[str]) -> None:
        """Each line without its indentation: the mode says where it belongs, then the modes around it."""
        self._modes = [("global", "")]
        for raw in lines:
            line = raw.strip()
            for depth, (mode, name) in enumerate(self._modes):
                if getattr(self, f"_{mode}")(name, line, depth):
                    break
            else:
                raise Refused(f"% Invalid input: {line}")
            self._check_sums(line)
            self.watch(line)
        self._check_used_lists()

    def _enter(self, depth: int, mode: str, name: str) -> None:
        self._modes = [(mode, name), *self._modes[depth:]]

    # Modes: each says whether the line is one of its own.

    def _global(self, _: str, line: str, depth: int) -> bool:
        no, words = line.startswith("no "), line.removeprefix("no ").split()
        if words[0] == "interface" and not no:
            refuse_unless(words[1] in self.state.ports, "no such interface", line)
            self._enter(depth, "port", words[1])
        elif words[:3] == ["ip", "access-list", "extended"]:
            self._named(words[3], no, line, depth)
        elif words[0] == "access-list":
            self._numbered(no, line)
        elif words[0] == "class-map":
            self._class_map(words, no, line, depth)
        elif words[0] == "policy-map":
            self._policy_map(words[1], no, line, depth)
        elif words[0] in ("cos-queue-group", "slot-table-cos"):
            self._section(" ".join(words), no, line, depth)
        elif words[0] == "rx-cos-slot":
            refuse_unless(no or f"slot-table-cos {words[2]}" in self.state.sections, "no such slot table", line)
            refuse_unless(no == (words[1] in self.state.slots), "there, or not there", line)
            if no:
                del self.state.slots[words[1]]
            else:
                self.state.slots[words[1]] = words[2]
        else:
            return False
        return True

    def _named(self, name: str, no: bool, line: str, depth: int) -> None:
        if no:
            refuse_unless(name in self.state.lists, "no such list", line)
            refuse_unless(not self._policed(name), "a list that a policy uses goes, and all would match", line)
            del self.state.lists[name]
            return
        self.state.lists.setdefault(name, [])
        self._enter(depth, "list", name)

    def _list(self, name: str, line: str, _: int) -> bool:
        entries, body = self.state.lists.get(name, []), line.removeprefix("no ")
        if body.split()[0] not in ("permit", "deny", "remark"):
            return False
        if line.startswith("no "):
            refuse_unless(body in entries, "no such entry", line)
            entries.remove(body)
            left = [one for one in entries if not one.startswith("remark")]
            refuse_unless(left or not self._policed(name), "an empty list that a policy uses matches all", line)
        else:
            refuse_unless(body not in entries, "there twice", line)
            refuse_unless(len(body) <= 107, "a remark has 100 letters", line)
            entries.append(body)
        return True

    def _numbered(self, no: bool, line: str) -> None:
        match = NUMBERED.fullmatch(line.removeprefix("no "))
        assert match is not None
        number = match[1]
        refuse_unless(100 <= int(number) <= 199 or 2000 <= int(number) <= 2699, "no extended list", line)
        refuse_unless(not self._policed(number), "a policy matches by the list in mid-change", line)
        if no:
            refuse_unless(number in self.state.lists, "no such list", line)
            del self.state.lists[number]  # whatever entry is said
        else:
            self.state.lists.setdefault(number, []).append(match[2])

    def _class_map(self, words: list[str], no: bool, line: str, depth: int) -> None:
        name = words[-1]
        if no:
            used = any(name in classes for classes in self.state.policies.values())
            used = used or any(
                name in " ".join(statements) for p in self.state.policies.values() for statements in p.values()
            )
            refuse_unless(name in self.state.maps and not used, "Class-map is being used", line)
            del self.state.maps[name]
            return
        class_map = self.state.maps.setdefault(name, Map(words[1]))
        refuse_unless(class_map.how == words[1], "a class map of the other kind", line)
        self._enter(depth, "map", name)

    def _map(self, name: str, line: str, _: int) -> bool:
        if not line.removeprefix("no ").startswith("match "):
            return False
        matches = self.state.maps[name].matches
        if line.startswith("no "):
            refuse_unless(line[3:] in matches, "no such match", line)
            matches.remove(line[3:])
        else:
            refuse_unless(line not in matches, "there twice", line)
            matches.append(line)
        return True

    def _policy_map(self, name: str, no: bool, line: str, depth: int) -> None:
        if no:
            nested = any(f"service-policy {name}" in body for p in self.state.policies.values() for body in p.values())
            attached = any(one.split()[-1] == name for lines in self.state.ports.values() for one in lines)
            refuse_unless(name in self.state.policies and not nested and not attached, "is being used", line)
            del self.state.policies[name]
            return
        self.state.policies.setdefault(name, {})
        self._enter(depth, "policy", name)

    def _policy(self, policy: str, line: str, depth: int) -> bool:
        no, words = line.startswith("no "), line.removeprefix("no ").split()
        if words[0] != "class":
            return False
        name, classes = words[1], self.state.policies[policy]
        if no:
            refuse_unless(name in classes, "no such class in the policy", line)
            del classes[name]
            return True
        refuse_unless(name == DEFAULT or name in self.state.maps, "class map not configured", line)
        classes.setdefault(name, [])
        if DEFAULT in classes:  # asked last, whenever it was entered
            classes[DEFAULT] = classes.pop(DEFAULT)
        self._enter(depth, "class", f"{policy} {name}")
        return True

    def _class(self, place: str, line: str, depth: int) -> bool:
        policy, name = place.split()
        body, words = self.state.policies[policy][name], line.split()
        key = _key(line)
        if key is None:
            return False
        if words[0] == "service-policy":
            refuse_unless(words[1] in self.state.policies, "policy map not configured", line)
        if words[0] == "random-detect":
            refuse_unless(
                key == "random-detect" or any(_key(one) == "random-detect" for one in body), "WRED is off", line
            )
            queue = {"bandwidth", "fair-queue"} & {one.split()[0] for one in body}
            refuse_unless(queue or name == DEFAULT, "WRED needs a queue", line)
        same = [n for n, one in enumerate(body) if _key(one) == key]
        if same:
            body[same[0]] = line
        else:
            body.append(line)
        if words[0] == "police" and "-action " not in line:
            for one in [one for one in body if (_key(one) or "").startswith("police ")]:
                body.remove(one)
            self._enter(depth, "police", place)
        return True

    def _police(self, place: str, line: str, _: int) -> bool:
        policy, name = place.split()
        if not re.match(r"(conform|exceed|violate)-(action|color) ", line):
            return False
        for color in re.findall(r"-color (\S+)", line):
            refuse_unless(color in self.state.maps, "class map not configured", line)
        body = self.state.policies[policy][name]
        kept = [one for one in body if not one.startswith(f" {line.split()[0]} ")]
        body[:] = [*kept, f" {line}"]
        return True

    def _section(self, head: str, no: bool, line: str, depth: int) -> None:
        name = head.split()[1]
        if no:
            used = [*self.state.slots.values()] if head.startswith("slot") else self._groups_used()
            refuse_unless(head in self.state.sections and name not in used, "is being used", line)
            del self.state.sections[head]
            return
        self.state.sections.setdefault(head, [])
        self._enter(depth, "lines", head)

    def _groups_used(self) -> list[str]:
        ports = [one.split()[1] for lines in self.state.ports.values() for one in lines if one.startswith("tx-cos")]
        return ports + [
            one.split()[-1] for head, statements in self.state.sections.items() if head[0] == "s" for one in statements
        ]

    def _lines(self, head: str, line: str, _: int) -> bool:
        if line.removeprefix("no ").split()[0] not in (
            "precedence",
            "queue",
            "random-detect-label",
            "destination-slot",
        ):
            return False
        statements, key = self.state.sections[head], _setting(line.removeprefix("no "))
        same = [one for one in statements if _setting(one) == key]
        refuse_unless(same or not line.startswith("no "), "not there", line)
        for one in same:
            statements.remove(one)
        if not line.startswith("no "):
            statements.append(line)
        return True

    def _port(self, name: str, line: str, _: int) -> bool:
        no, body = line.startswith("no "), line.removeprefix("no ")
        statements = self.state.ports[name]
        if body.split()[0] not in ("service-policy", "tx-cos"):
            return False
        if no:
            refuse_unless(body in statements, "not attached", line)
            statements.remove(body)
            return True
        key, target = body.rsplit(" ", 1)
        known = self.state.policies if key.startswith("service") else {g.split()[1] for g in self.state.sections}
        refuse_unless(target in known, "not configured", line)
        refuse_unless(not [one for one in statements if one.startswith(f"{key} ")], "another one is attached", line)
        statements.append(body)
        return True

    def _check_sums(self, line: str) -> None:
        for classes in self.state.policies.values():
            shares = [
                re.findall(r"(?:bandwidth|priority) percent (\d+)", "\n".join(body)) for body in classes.values()
            ]
            refuse_unless(sum(int(one) for percents in shares for one in percents) <= 100, "more than 100 %", line)
            for body in classes.values():
                limits = [int(one.split()[1]) for one in body if one.startswith("queue-limit ")]
                highest = [int(one.split()[4]) for one in body if re.match("random-detect (dscp|precedence) ", one)]
                refuse_unless(not limits or max(highest, default=0) <= limits[0], "a threshold over the limit", line)

    def _policed(self, acl: str) -> bool:
        """Whether a class of a policy that is attached matches by the list."""
        attached = {one.split()[-1] for lines in self.state.ports.values() for one in lines}
        return any(
            match.split()[-1] == acl
            for policy in attached & self.state.policies.keys()
            for name in self.state.policies[policy]
            for match in self.state.maps.get(name, Map("")).matches
        )

    def _check_used_lists(self) -> None:
        for name, one in self.state.maps.items():
            for match in one.matches:
                if "access-group" in match:
                    refuse_unless(
                        match.split()[-1] in self.state.lists, f"{name} matches by a list that is not there", match
                    )

    def class_of(self, port: str, packet: Packet) -> str:
        """The first class of the port's input policy that the packet is in."""
        policies = [one.split()[-1] for one in self.state.ports[port] if one.startswith("service-policy input ")]
        for name in self.state.policies[policies[0]] if policies else ():
            one = self.state.maps.get(name)
            if one and (all if one.how == "match-all" else any)(self._matches(match, packet) for match in one.matches):
                return name
        return DEFAULT

    def _matches(self, match: str, packet: Packet) -> bool:
        words = match.split()
        if words[1] == "ip":
            return packet.mark in words[3:]
        entries = [one for one in self.state.lists.get(words[-1], []) if one.startswith("permit ")]
        return not entries or any(_permits(one.split(), packet) for one in entries)

    def text(self, release: str = "15") -> str:
        """`show running-config`. Releases differ in how they print a policer, entries' numbers and blanks."""
        return "".join(f"{line}\n" for line in self._text(release))

    def _text(self, release: str) -> Iterator[str]:
        yield from ("Building configuration...", "!", f"version {release}.1", "hostname router", "!")
        for name, one in self.state.maps.items():
            yield f"class-map {one.how} {name}"
            yield from (f"  {match.replace(' ip dscp', ' ip dscp ').rstrip()} " for match in one.matches)
        yield "!"
        for name, classes in self.state.policies.items():
            yield f"policy-map {name}"
            for part, body in classes.items():
                yield f"  class {part}" if release == "12" else f" class {part}"
                yield from (shown for line in body for shown in _shown(line, release))
        for head, lines in self.state.sections.items():
            yield from ("!", head, *(f" {line}" for line in lines))
        yield from (f"rx-cos-slot {slot} {table}" for slot, table in self.state.slots.items())
        for name, lines in self.state.ports.items():
            yield from ("!", f"interface {name}", " no ip address", *(f" {line}" for line in lines))
        yield "!"
        for name, entries in self.state.lists.items():
            named = [_with_names(entry) for entry in entries]
            if name.isdigit():
                yield from (f"access-list {name} {entry}" for entry in named)
            else:
                yield f"ip access-list extended {name}"
                numbers = (
                    (f"{10 * n} " for n in range(1, len(named) + 1)) if release == "16" else iter(lambda: "", None)
                )
                yield from (f" {number}{entry}" for number, entry in zip(numbers, named, strict=False))
        yield "end"


#: What takes one value in a class; `random-detect` of one code point takes its own.
SINGLE = ("police", "bandwidth", "priority", "queue-limit", "shape", "fair-queue", "service-policy", "set")


def _key(line: str) -> str | None:
    words = line.split()
    if words[0] == "random-detect":
        return " ".join(words[: {"dscp": 3, "precedence": 3, "ecn": 2}.get(words[1] if words[1:] else "", 1)])
    if line.startswith(" "):
        return f"police {words[0]}"
    return words[0] if words[0] in SINGLE else None


def _setting(line: str) -> str:
    words = line.split()
    return " ".join(words[:3]) if words[0] == "precedence" else " ".join(words[:2])


def _permits(entry: list[str], packet: Packet) -> bool:
    ends = re.fullmatch(r"permit (\S+) host (\S+)(?: eq (\d+))? host (\S+)(?: eq (\d+))?", " ".join(entry))
    assert ends is not None
    number = {"sctp": "132"}.get(packet.protocol, packet.protocol)
    mine = (number, packet.source, str(packet.source_port), packet.destination, str(packet.destination_port))
    return all(wanted is None or wanted == has for wanted, has in zip(ends.groups(), mine, strict=True))


def _shown(line: str, release: str) -> Iterator[str]:
    if line.startswith("police ") and release != "12":
        first, *actions = re.split(r" (?=(?:conform|exceed|violate)-action )", line)
        yield from (f"  {first}", *(f"     {one} " for one in actions))
    elif release == "12":
        yield f"   {line}".replace("set-dscp-transmit ef", "set-dscp-transmit 46").replace("dscp af11", "dscp 10")
    elif line.startswith("random-detect ") and line.split()[1:2] in (["dscp"], ["precedence"]):
        yield "  " + "  ".join(line.split())
    else:
        yield f"  {line}"


def _with_names(entry: str) -> str:
    words = entry.split()
    for place in range(1, len(words)):
        if words[0] == "permit" and words[place - 1] == "eq":
            words[place] = PORT_NAMES.get((words[1], words[place]), words[place])
    return " ".join(words)
