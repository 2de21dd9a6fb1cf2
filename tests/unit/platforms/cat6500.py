"""A pure model of the part of a Catalyst 6500's IOS 12.1E that Slotcar writes: takes lines in configuration mode, refuses
what IOS refuses, hides what is as by default, and says which class a packet is in.

From the "Catalyst 6500 Series Switch Cisco IOS Software Configuration Guide, Release 12.1 E", chapter 31: ranges of
`police` (p. 31-46), default queues, thresholds and maps (table 31-2); `wrr-queue` as D7.3 §8.2 prints it.
Classes are appended; a class-map that a policy uses, a list that a class-map uses and a policy-map that a port uses stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field

PORT_NAMES = {("tcp", "80"): "www", ("tcp", "22"): "22", ("udp", "53"): "domain"}
COS = {0: "1 1", 1: "1 1", 2: "1 2", 3: "1 2", 4: "2 1", 6: "2 2", 7: "2 2"}
SETTINGS = {
    "1p2q2t": {
        "bandwidth": "5 255",
        "queue-limit": "70 15",
        "random-detect min-threshold 1": "40 70",
        "random-detect min-threshold 2": "40 70",
        "random-detect max-threshold 1": "70 100",
        "random-detect max-threshold 2": "70 100",
    },
    "2q2t": {"bandwidth": "5 255", "queue-limit": "80 20", "threshold 1": "80 100", "threshold 2": "80 100"},
}
ACTION = r"(?:drop|transmit|set-dscp-transmit ([0-9]|[1-5][0-9]|6[0-3])|set-prec-transmit [0-7])"
EXCEED = r"(?:drop|transmit|policed-dscp-transmit)"
AGGREGATE = re.compile(
    rf"(\d+) (\d+) (\d+)(?: pir (\d+))? conform-action {ACTION} exceed-action {EXCEED}"
    rf"(?: violate-action {EXCEED})?"
)
MICROFLOW = re.compile(rf"(\d+) (\d+) conform-action {ACTION} exceed-action {EXCEED}")
ENTRY = re.compile(r"(permit|deny) (\S+) (?:host (\S+)|any)(?: eq (\d+))? (?:host (\S+)|any)(?: eq (\d+))?")


class Refused(AssertionError):
    """`% Invalid input`, or something that IOS takes and that opens a hole."""


def refuse_unless(condition: object, why: str, line: str) -> None:
    if not condition:
        raise Refused(f"{why}: {line}")


@dataclass(slots=True)
class Port:
    """`settings` and `cos` start as by default; `others` are an operator's lines."""

    kind: str
    settings: dict[str, str] = field(default_factory=dict)
    cos: dict[int, str] = field(default_factory=dict)
    trust: str = ""
    policy: str = ""
    others: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.settings = dict(SETTINGS[self.kind])
        self.cos = default_cos(self.kind)


def default_cos(kind: str) -> dict[int, str]:
    return COS | {5: "priority" if kind == "1p2q2t" else "2 1"}


@dataclass(slots=True)
class State:
    on: bool = True
    maps: dict[str, int] = field(default_factory=dict)
    acls: dict[str, list[str]] = field(default_factory=dict)
    policers: dict[str, str] = field(default_factory=dict)
    classes: dict[str, list[str]] = field(default_factory=dict)
    policies: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    ports: dict[str, Port] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)


def map_default(key: str) -> int:
    dscp = int(key.split()[-1])
    return dscp // 8 if key.startswith("dscp-cos") else dscp


class Catalyst:
    def __init__(self, kinds: dict[str, str]) -> None:
        self.state = State(ports={name: Port(kind) for name, kind in kinds.items()})

    def snapshot(self) -> State:
        return deepcopy(self.state)

    def run(self, lines: Iterable[str]) -> None:
        for _ in self.steps(lines):
            pass

    def steps(self, lines: Iterable[str]) -> Iterator[str]:
        """Takes line by line, and gives each one after it has worked."""
        modes: list[str] = []
        for raw in lines:
            line = raw.strip()
            if line == "exit":
                modes.pop()
            elif not modes:
                self._top(line, modes)
            elif modes[-1].startswith("policy-map "):
                self._policy(modes[-1].split()[1], line, modes)
            elif len(modes) == 2:
                self._class(modes, line)
            elif modes[-1].startswith("interface "):
                self._port(self.state.ports[modes[-1].split()[1]], line)
            else:
                kind, name = modes[-1].rsplit(" ", 1)
                self._entry(self.state.acls[name] if kind.startswith("ip") else self.state.classes[name], kind, line)
            yield line
        refuse_unless(not modes, "left in a mode", str(modes))

    def _top(self, line: str, modes: list[str]) -> None:
        no, body = line.startswith("no "), line.removeprefix("no ")
        kind, name = body.rsplit(" ", 1)
        if body.startswith("mls qos map "):
            match = re.fullmatch(r"mls qos map (dscp-cos|policed-dscp (?:normal|max)-burst) (\d+) to (\d+)", line)
            refuse_unless(match, "not an entry of a map", line)
            assert match is not None
            refuse_unless(int(match[2]) < 64 and int(match[3]) < (8 if match[1] == "dscp-cos" else 64), "range", line)
            self.state.maps[f"{match[1]} {match[2]}"] = int(match[3])
        elif body.startswith("mls qos aggregate-policer "):
            self._policer(no, body.removeprefix("mls qos aggregate-policer "))
        elif kind == "interface":
            refuse_unless(name in self.state.ports and not no, "no such interface", line)
            modes.append(body)
        else:
            self._object(no, kind, name, line, modes)

    def _object(self, no: bool, kind: str, name: str, line: str, modes: list[str]) -> None:
        objects = {
            "ip access-list extended": self.state.acls,
            "class-map match-all": self.state.classes,
            "policy-map": self.state.policies,
        }
        refuse_unless(kind in objects, "not in global mode", line)
        refuse_unless(len(name) <= 40, "a name has 40 letters", line)
        where: dict = objects[kind]  # type: ignore[type-arg]
        if no:
            refuse_unless(name in where, "no such object", line)
            refuse_unless(not self._used(kind, name), "still used", line)
            del where[name]
            return
        where.setdefault(name, {} if kind == "policy-map" else [])
        modes.append(f"{kind} {name}")

    def _used(self, kind: str, name: str) -> bool:
        if kind == "policy-map":
            return any(port.policy == name for port in self.state.ports.values())
        if kind == "class-map match-all":
            return any(name in classes for classes in self.state.policies.values())
        return any(f"match access-group name {name}" in match for match in self.state.classes.values())

    def _policer(self, no: bool, body: str) -> None:
        name, _, arguments = body.partition(" ")
        refuse_unless(re.fullmatch(r"[A-Za-z][A-Za-z0-9._-]{0,30}", name), "not a policer's name", body)
        if no:
            users = [a for p in self.state.policies.values() for c in p.values() for a in c.values()]
            refuse_unless(f"police aggregate {name}" not in users, "still used", body)
            del self.state.policers[name]
        else:
            refuse_unless(self._meters(AGGREGATE, arguments), "not a policer", body)
            self.state.policers[name] = arguments

    def _meters(self, form: re.Pattern[str], arguments: str) -> bool:
        match = form.fullmatch(arguments)
        if match is None:
            return False
        rate, burst = int(match[1]), int(match[2])
        most, peak = (int(match[3]), int(match[4] or rate)) if form is AGGREGATE else (burst, rate)
        sizes = 1_000 <= burst <= most <= 31_250_000 and burst >= rate / 4_000
        return sizes and 32_000 <= rate <= peak <= 4_000_000_000

    def _policy(self, name: str, line: str, modes: list[str]) -> None:
        classes = self.state.policies[name]
        no, one = line.startswith("no "), line.split()[-1]
        refuse_unless(line.removeprefix("no ") == f"class {one}", "not in policy-map mode", line)
        if no:
            refuse_unless(one in classes, "no such class", line)
            del classes[one]
        else:
            refuse_unless(one in self.state.classes, "no such class-map", line)
            classes.setdefault(one, {})
            modes.append(line)

    def _class(self, modes: list[str], line: str) -> None:
        actions = self.state.policies[modes[0].split()[1]][modes[1].split()[1]]
        no, body = line.startswith("no "), line.removeprefix("no ")
        words = body.split()
        kind = " ".join(words[:2]) if words[1] == "flow" else words[0]
        if no:
            refuse_unless(actions.get(kind) == body, "no such action", line)
            del actions[kind]
            return
        if words[:2] == ["police", "aggregate"]:
            refuse_unless(words[2] in self.state.policers, "no such policer", line)
        elif words[0] == "police":
            form = MICROFLOW if kind == "police flow" else AGGREGATE
            refuse_unless(self._meters(form, body.removeprefix(f"{kind} ")), "not a policer", line)
        else:
            refuse_unless(body == "trust dscp", "not an action", line)
        actions[kind] = body

    def _entry(self, entries: list[str], kind: str, line: str) -> None:
        no, body = line.startswith("no "), line.removeprefix("no ")
        if kind.startswith("ip"):
            refuse_unless(body.startswith("remark ") or ENTRY.fullmatch(body) or body == "deny ip any any", "?", line)
            refuse_unless(len(body) <= 107, "a remark has 100 letters", line)
        elif body.startswith("match access-group name "):
            refuse_unless(body.split()[-1] in self.state.acls, "no such list", line)
        else:
            refuse_unless(re.fullmatch(r"match ip (dscp|precedence)( \d+){1,8}", body), "not a match", line)
        if no:
            refuse_unless(body in entries, "no such entry", line)
            entries.remove(body)
        else:
            refuse_unless(body not in entries, "there twice", line)
            entries.append(body)

    def _port(self, port: Port, line: str) -> None:
        no, words = line.startswith("no "), line.removeprefix("no ").split()
        if words[:3] == ["mls", "qos", "trust"]:
            refuse_unless(no or words[3:] in (["dscp"], ["cos"]), "not a trust", line)
            port.trust = "" if no else words[3]
        elif words[:2] == ["service-policy", "input"]:
            refuse_unless(port.policy == (words[2] if no else ""), "another policy, or none, is there", line)
            refuse_unless(self.state.policies.get(words[2]), "no such policy-map, or it is empty", line)
            port.policy = "" if no else words[2]
        elif words[1] == "cos-map":
            self._cos(port, no, words, line)
        else:
            name = next((one for one in port.settings if " ".join(words[1:]).startswith(one)), "")
            refuse_unless(words[0] == "wrr-queue" and name, "the port has no such setting", line)
            values = words[1 + len(name.split()) :]
            most = 255 if name == "bandwidth" else 100
            fits = len(values) == 2 and all(1 <= int(one) <= most for one in values)
            refuse_unless(not values if no else fits, "not in range", line)
            port.settings[name] = SETTINGS[port.kind][name] if no else " ".join(values)
            if name == "queue-limit":
                low, high = (int(one) for one in port.settings[name].split())
                refuse_unless(low + high * (2 if port.kind == "1p2q2t" else 1) <= 100, "more than the buffers", line)

    def _cos(self, port: Port, no: bool, words: list[str], line: str) -> None:
        priority = words[0] == "priority-queue"
        refuse_unless(not priority or port.kind == "1p2q2t", "no priority queue", line)
        place = "priority" if priority else f"{words[2]} {words[3]}"
        refuse_unless(place in ("priority", "1 1", "1 2", "2 1", "2 2"), "no such threshold", line)
        if no:
            standard = default_cos(port.kind)
            port.cos |= {cos: standard[cos] for cos in port.cos if place in (port.cos[cos], standard[cos])}
            return
        values = [int(one) for one in words[3 if priority else 4 :]]
        refuse_unless(values and all(0 <= one <= 7 for one in values), "no CoS", line)
        port.cos |= dict.fromkeys(values, place)

    def treatment(self, port: str, packet: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        """The class, and what is done with a packet (protocol, source, its port, destination, its port, DSCP) at `port`."""
        for name, actions in self.state.policies.get(self.state.ports[port].policy, {}).items():
            if self._matches(name, packet):
                return name, tuple(sorted(actions.values()))
        return "", ()

    def _matches(self, name: str, packet: tuple[str, ...]) -> bool:
        (match,) = self.state.classes[name]
        words = match.split()
        if words[1] == "ip":
            value = int(packet[5]) // (8 if words[2] == "precedence" else 1)
            return str(value) in words[3:]
        entries = (ENTRY.fullmatch(one) for one in self.state.acls[words[-1]] if one.startswith("permit "))
        return any(
            all(want is None or want == has for want, has in zip(permit.groups()[1:], packet, strict=False))
            for permit in entries
            if permit
        )

    def text(self) -> str:
        """`show running-config`: what is as by default is left out, ports have their names."""
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        state = self.state
        yield from ("Building configuration...", "!", "version 12.1", "hostname switch", "!")
        yield from (f"mls qos aggregate-policer {name} {what}" for name, what in state.policers.items())
        for key, value in sorted(state.maps.items(), reverse=True):
            if value != map_default(key):
                kind, dscp = key.rsplit(" ", 1)
                yield f"mls qos map {kind}  {dscp} to {value}"
        yield from (["mls qos"] if state.on else [])
        for name, matches in state.classes.items():
            yield from (f"class-map match-all {name}", *(f"  {match}" for match in matches))
        for name, classes in state.policies.items():
            yield f"policy-map {name}"
            for one, actions in classes.items():
                yield from (f"  class {one}", *(f"    {action}" for action in actions.values()))
        yield "!"
        for name, port in state.ports.items():
            yield from self._interface(name, port)
        yield from state.others
        for name, entries in state.acls.items():
            yield from (f"ip access-list extended {name}", *(f" {_with_names(entry)}" for entry in entries))
        yield "end"

    def _interface(self, name: str, port: Port) -> Iterator[str]:
        yield f"interface {name}"
        yield from (f" {line}" for line in port.others)
        for setting, values in port.settings.items():
            if values != SETTINGS[port.kind][setting]:
                yield f" wrr-queue {setting} {values}"
        standard = default_cos(port.kind)
        for place in ("1 1", "1 2", "2 1", "2 2", "priority"):
            here = [cos for cos in sorted(port.cos) if port.cos[cos] == place]
            if here and here != [cos for cos in sorted(standard) if standard[cos] == place]:
                start = "priority-queue cos-map 1" if place == "priority" else f"wrr-queue cos-map {place}"
                yield f" {start} {' '.join(str(cos) for cos in here)}"
        if port.trust:
            yield f" mls qos trust {port.trust}"
        if port.policy:
            yield f" service-policy input {port.policy}"
        yield "!"


def _with_names(entry: str) -> str:
    words = entry.split()
    for place in range(1, len(words)):
        if words[0] == "permit" and words[place - 1] == "eq":
            words[place] = PORT_NAMES.get((words[1], words[place]), words[place])
    return " ".join(words)


def meaning(state: State) -> State:
    """The state without what order does not tell: entries of a list, maps as by default, classes where none overlaps."""
    plain = deepcopy(state)
    plain.maps = {key: value for key, value in state.maps.items() if value != map_default(key)}
    plain.acls = {name: sorted(entries) for name, entries in state.acls.items()}
    plain.policies = {name: dict(sorted(classes.items())) for name, classes in state.policies.items()}
    return plain
