"""What IOS refuses although each word is right: objects that are not there or are in use, lines that exclude others."""

from __future__ import annotations

from collections.abc import Iterator

from slotcar_lab.ios.grammar.checking import below
from slotcar_lab.ios.grammar.table import ParsedLine
from slotcar_lab.ios.tree import Node


def refusal(parsed: ParsedLine, path: list[Node]) -> str:
    """Why the last section of a path cannot take a line; empty where it can."""
    return next(filter(None, _refusals(parsed, path)), "")


def _refusals(parsed: ParsedLine, path: list[Node]) -> Iterator[str]:
    section, rule = path[-1], parsed.entry.rule
    if too_small := below(parsed):
        yield f"% Invalid value: {too_small}"
    if rule.needs and not _is_made(parsed.fill(rule.needs), path[0]):
        yield parsed.fill(rule.missing)
    if rule.after and section.text != "class class-default" and not any(_has(section, key) for key in rule.after):
        yield f"% Configure {' or '.join(key for key in rule.after if key != 'class-default')} first"
    for key in rule.excludes:
        if section.child(key):
            yield f"% {key.capitalize()} is configured: remove it before {parsed.text.split()[0]}"
    if rule.once and any(peer.child(parsed.key) for peer in path[-2].children if peer is not section):
        yield rule.once
    if rule.sum_key and _sum(parsed, path) > rule.sum_limit:
        yield rule.too_much


def removal_refusal(node: Node, path: list[Node]) -> str:
    """Why a line cannot go; empty where it can."""
    if node.rule.used and in_use(node.fill(node.rule.makes), path[0]):
        return node.fill(node.rule.used)
    section = path[-1]
    for other in section.children:
        wants = other.rule.after
        if node.key in wants and other.key != node.key and section.text != "class class-default":
            same_group = bool(node.rule.group) and other.rule.group == node.rule.group
            if not same_group and not any(_has(section, key) for key in wants if key != node.key):
                return f"% Remove {other.text} first"
    return ""


def in_use(thing: str, top: Node) -> bool:
    return any(node.rule.needs and node.fill(node.rule.needs) == thing for node in top.walk())


def _has(section: Node, key: str) -> bool:
    node = section.child(key)
    return node is not None and not node.text.startswith("no ")


def _is_made(thing: str, top: Node) -> bool:
    return any(node.rule.makes and node.fill(node.rule.makes) == thing for node in top.children)


def _sum(parsed: ParsedLine, path: list[Node]) -> int:
    """The sum with the line in: over a policy's classes, or over an interface's queues with those as by default."""
    rule, section = parsed.entry.rule, path[-1]
    sections = path[-2].children if rule.mode == "policy-map-class" else [section]
    values = {(id(section), parsed.key): int(parsed.captures.get(rule.sum_of, 0))}
    for line in rule.defaults:
        *key, _, value = line.split()
        values.setdefault((id(section), " ".join(key)), int(value))
    for peer in sections:
        for node in _summed(peer, rule.sum_key):
            if not (peer is section and node.key == parsed.key):
                values[id(peer), node.key] = int(node.captures.get(rule.sum_of, 0))
    return sum(values.values())


def _summed(section: Node, sum_key: str) -> Iterator[Node]:
    yield from (node for node in section.children if node.rule.sum_key == sum_key)
