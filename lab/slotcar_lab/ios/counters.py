"""Counters of policers and queues, set by a test, and IOS's print of them.

Layouts from "Quality of Service Solutions Command Reference": `show interfaces rate-limit`, `show policy-map interface`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from slotcar_lab.ios.tree import Node

Table = Mapping[tuple[str, str, str], "Counters"]


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


def rate_limits(top: Node, counters: Table, only: str = "") -> Iterator[str]:
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
                yield from _rate_limit(node, counters.get((name, direction, rest), _NONE))


def _rate_limit(node: Node, count: Counters) -> Iterator[str]:
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
    yield f"      last cleared 00:01:00 ago, conformed {count.conformed_bps} bps, exceeded {count.exceeded_bps} bps"


def policies(top: Node, counters: Table, only: str = "", way: str = "") -> Iterator[str]:
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
            yield from _classes(
                top, policy, "    ", lambda word, n=name, d=direction: counters.get((n, d, word), _NONE)
            )


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
