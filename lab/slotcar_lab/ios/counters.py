"""Counters of policers and queues, set by a test, and IOS's print of them. They are their object's: one that is taken away
or configured otherwise counts from zero again.

Layouts from "Quality of Service Solutions Command Reference": `show interfaces rate-limit`, `show policy-map interface`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from slotcar_lab.ios.tree import Node

#: Interface, direction, and a class's name or a `rate-limit` line's text behind its direction.
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Counters:
    """Of one `rate-limit` line, or of one class of a policy on an interface."""

    conformed_packets: int = 0
    conformed_bytes: int = 0
    exceeded_packets: int = 0
    exceeded_bytes: int = 0
    violated_packets: int = 0
    violated_bytes: int = 0
    conformed_bps: int = 0
    exceeded_bps: int = 0
    dropped_packets: int = 0
    dropped_bytes: int = 0

    @property
    def packets(self) -> int:
        return self.conformed_packets + self.exceeded_packets + self.violated_packets

    @property
    def octets(self) -> int:
        return self.conformed_bytes + self.exceeded_bytes + self.violated_bytes


_NONE = Counters()


@dataclass(slots=True)
class Counted:
    """What a router has counted: of each object that counts its text, since when, and its counters."""

    _objects: dict[Key, tuple[str, float, Counters]] = field(default_factory=dict)

    def set(self, key: Key, counters: Counters, top: Node) -> None:
        """
        Raises:
            KeyError: nothing of this name counts there.
        """
        self.follow(top)
        text, since_s, _ = self._objects[key]
        self._objects[key] = (text, since_s, counters)

    def clear(self, top: Node) -> None:
        """`clear counters`."""
        self._objects.clear()
        self.follow(top)

    def follow(self, top: Node) -> None:
        """What is configured otherwise, or anew, begins at zero; what is gone is forgotten."""
        now_s, texts = time.monotonic(), dict(_counting(top))
        kept = {key: one for key, one in self._objects.items() if texts.get(key) == one[0]}
        self._objects = {key: kept.get(key, (text, now_s, _NONE)) for key, text in texts.items()}

    def of(self, key: Key) -> Counters:
        return self._objects[key][2] if key in self._objects else _NONE

    def age(self, key: Key) -> str:
        """How long ago the counters began, as `00:01:00`."""
        since_s = self._objects[key][1] if key in self._objects else time.monotonic()
        seconds = int(time.monotonic() - since_s)
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _counting(top: Node) -> Iterator[tuple[Key, str]]:
    for port in top.printed():
        if port.rule.special != "interface":
            continue
        name = port.captures.get("name", "")
        for node in port.printed():
            if node.text.startswith("rate-limit "):
                _, direction, rest = node.text.split(maxsplit=2)
                yield (name, direction, rest), rest
            elif node.text.startswith("service-policy "):
                captures = node.captures
                yield from _counting_classes(top, captures["policy"], name, captures["direction"])


def _counting_classes(top: Node, policy: str, name: str, direction: str) -> Iterator[tuple[Key, str]]:
    policy_map = top.child(f"policy-map {policy}")
    for section in policy_map.printed() if policy_map else ():
        if section.text.startswith("class "):
            text = "\n".join([section.text, *(node.text for node in section.printed())])
            yield (name, direction, section.text.split()[1]), text
            if nested := section.child("service-policy"):
                yield from _counting_classes(top, nested.captures["policy"], name, direction)


def rate_limits(top: Node, counters: Counted, only: str = "") -> Iterator[str]:
    """Lines of `show interfaces rate-limit`; a line's counters are found by its text without `rate-limit DIRECTION`."""
    for port in top.printed():
        name = port.captures.get("name", "")
        if port.rule.special != "interface" or (only and name != only):
            continue
        lines = [node for node in port.printed() if node.text.startswith("rate-limit ")]
        if lines:
            yield name
        for direction in ("input", "output"):
            these = [node for node in lines if node.text.split()[1] == direction]
            if these:
                yield f"  {direction.capitalize()}"
            for node in these:
                rest = node.text.split(maxsplit=2)[2]
                key = (name, direction, rest)
                yield from _rate_limit(node, counters.of(key), counters.age(key))


def _rate_limit(node: Node, count: Counters, age: str) -> Iterator[str]:
    words = node.text.split()
    matches = "all traffic"
    if "access-group" in words:
        kind = "access-group rate-limit" if words[3] == "rate-limit" else "access-group"
        matches = f"{kind} {node.captures['list']}"
    elif "qos-group" in words:
        matches = f"qos-group {node.captures['group']}"
    rate, burst, excess = (node.captures[name] for name in ("rate", "burst", "excess"))
    conform, exceed = node.text.split(" conform-action ")[1].split(" exceed-action ")
    yield f"    matches: {matches}"
    yield f"      params:  {rate} bps, {burst} limit, {excess} extended limit"
    yield f"      conformed {count.conformed_packets} packets, {count.conformed_bytes} bytes; action: {conform}"
    yield f"      exceeded {count.exceeded_packets} packets, {count.exceeded_bytes} bytes; action: {exceed}"
    yield "      last packet: 0ms ago, current burst: 0 bytes"
    yield f"      last cleared {age} ago, conformed {count.conformed_bps} bps, exceeded {count.exceeded_bps} bps"


def policies(top: Node, counters: Counted, only: str = "", way: str = "") -> Iterator[str]:
    """Lines of `show policy-map interface`; a class's counters are found by its name."""
    for port in top.printed():
        name = port.captures.get("name", "")
        if port.rule.special != "interface" or (only and name != only):
            continue
        attached = [node for node in port.printed() if node.text.startswith(f"service-policy {way}")]
        if attached:
            yield f" {name} "
        for node in attached:
            direction, policy = node.captures["direction"], node.captures["policy"]
            yield from ("", f"  Service-policy {direction}: {policy}")
            yield from _classes(top, policy, "    ", lambda word, n=name, d=direction: counters.of((n, d, word)))


def _classes(top: Node, policy: str, margin: str, count_of: object) -> Iterator[str]:
    assert callable(count_of)
    policy_map = top.child(f"policy-map {policy}")
    for section in policy_map.printed() if policy_map else ():
        if not section.text.startswith("class "):
            continue
        name = section.text.split()[1]
        count: Counters = count_of(name)
        class_map = top.child(f"class-map {name}")
        kind = class_map.text.split()[1] if class_map else "match-any"
        yield from ("", f"{margin}Class-map: {name} ({kind})")
        yield f"{margin}  {count.packets} packets, {count.octets} bytes"
        yield f"{margin}  5 minute offered rate {count.conformed_bps + count.exceeded_bps} bps, drop rate 0 bps"
        for match in class_map.printed() if class_map else ():
            yield f"{margin}  Match: {match.text.removeprefix('match ')} "
        if class_map is None:
            yield f"{margin}  Match: any "
        yield from (f"{margin}  {line}" for line in _actions(section, count))
        if nested := section.child("service-policy"):
            yield from ("", f"{margin}  Service-policy : {nested.captures['policy']}")
            yield from _classes(top, nested.captures["policy"], f"{margin}    ", count_of)


def _actions(section: Node, count: Counters) -> Iterator[str]:
    if any(section.child(key) for key in ("bandwidth", "priority", "shape", "random-detect")):
        yield "Queueing"
        yield f"(queue depth/total drops/no-buffer drops) 0/{count.dropped_packets}/0"
        yield f"(pkts output/bytes output) {count.packets}/{count.octets}"
    for key in ("priority", "bandwidth", "shape", "queue-limit", "random-detect", "set tos"):
        if node := section.child(key):
            yield node.text
    if police := section.child("police"):
        yield from _police(police, count)


def _police(police: Node, count: Counters) -> Iterator[str]:
    given = police.captures
    cir, bc = given.get("cir") or given.get("rate", ""), given.get("bc") or given.get("burst") or 1500
    yield "police:"
    yield f"    cir {cir} bps, bc {bc} bytes"
    if "pir" in given:
        yield f"    pir {given['pir']} bps, be {given.get('be', '1500')} bytes"
    text = f"{police.text} {' '.join(child.text for child in police.printed())}".strip()
    for verb, packets, octets in (
        ("conform", count.conformed_packets, count.conformed_bytes),
        ("exceed", count.exceeded_packets, count.exceeded_bytes),
        ("violate", count.violated_packets, count.violated_bytes),
    ):
        if f" {verb}-action " in text:
            words = text.split(f" {verb}-action ")[1].split()
            action = " ".join(words[:2] if len(words) > 1 and words[0].startswith("set-") else words[:1])
            past = verb + ("d" if verb.endswith("e") else "ed")
            yield f"  {past} {packets} packets, {octets} bytes; actions:"
            yield f"    {action} "
    yield f"  conformed {count.conformed_bps} bps, exceed {count.exceeded_bps} bps"
