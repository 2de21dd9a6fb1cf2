"""What a Catalyst 6500 prints of the policers of its PFC: bytes alone, by forwarding engine.

Layout: "Catalyst 6500 Series Cisco IOS Command Reference", `show policy-map interface`. A policer of `police flow` prints
no counters.
"""

from __future__ import annotations

from collections.abc import Iterator

from slotcar_lab.ios.counters import Counted, Counters
from slotcar_lab.ios.tree import Node

#: The slot of the supervisor engine.
SLOT = 1


def policies(top: Node, counters: Counted, only: str = "") -> Iterator[str]:
    """Lines of `show policy-map interface`."""
    for port in top.printed():
        name = port.captures.get("name", "")
        if port.rule.special != "interface" or (only and name != only):
            continue
        for node in (one for one in port.printed() if one.text.startswith("service-policy ")):
            direction, policy = node.captures["direction"], node.captures["policy"]
            yield from (f" {name} ", "", f"  Service-policy {direction}: {policy}")
            yield from _classes(top, policy, name, direction, counters)


def _classes(top: Node, policy: str, name: str, direction: str, counters: Counted) -> Iterator[str]:
    policy_map = top.child(f"policy-map {policy}")
    for section in policy_map.printed() if policy_map else ():
        if not section.text.startswith("class "):
            continue
        word = section.text.split()[1]
        class_map = top.child(f"class-map {word}")
        kind = class_map.text.split()[1] if class_map else "match-any"
        yield from ("", f"    class-map: {word} ({kind})")
        for match in class_map.printed() if class_map else ():
            yield f"      Match: {match.text.removeprefix('match ')} "
        police = section.child("police")
        if police is not None and "rate" in police.captures:
            yield from _police(police, counters.of((name, direction, word)))


def _police(police: Node, count: Counters) -> Iterator[str]:
    given = police.captures
    beyond = count.exceeded_bytes + count.violated_bytes
    yield "      police :"
    limits = f"{given['burst']} limit {given.get('excess') or given['burst']} extended limit"
    yield f"        {given['rate']} bps {limits}"
    yield f"      Earl in slot {SLOT} :"
    yield f"        {count.conformed_bytes + beyond} bytes"
    yield "        5 minute offered rate 0 bps"
    yield f"        aggregate-forwarded {count.conformed_bytes} bytes action: {_action(police.text, 'conform')}"
    yield f"        exceeded {beyond} bytes action: {_action(police.text, 'exceed')}"
    yield "        aggregate-forward 0 bps exceed 0 bps"


def _action(text: str, when: str) -> str:
    _, _, rest = text.partition(f" {when}-action ")
    return rest.split()[0] if rest else "drop"
