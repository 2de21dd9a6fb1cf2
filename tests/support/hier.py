"""hier_config as somebody else's opinion of IOS: its own driver, with the options that our lines need.

Slotcar plans its changes itself, because line order is meaning here and hier_config keeps none (`tests/property/
test_hier_config.py` pins where). What lines do to a tree it knows well: this is the oracle for that.
"""

from __future__ import annotations

from collections.abc import Iterable

from hier_config import HConfig, get_hconfig
from hier_config.models import IdempotentCommandsRule, MatchRule, OrderingRule
from hier_config.platforms.cisco_ios.driver import HConfigDriverCiscoIOS
from hier_config.platforms.driver_base import HConfigDriverRules

Nested = list[tuple[str, "Nested"]]
#: Settings that a line replaces: parents, then how the line begins. A regular expression's group tells which of several.
_REPLACED: tuple[tuple[tuple[str, ...], str], ...] = (
    (("policy-map ", "class "), r"^(police|priority|bandwidth|queue-limit|shape|set ip (?:dscp|precedence))\b"),
    (("policy-map ", "class "), r"^(random-detect (?:dscp|precedence) \S+)"),
    (("interface ",), r"^(service-policy (?:input|output))\b"),
    (("interface ",), r"^(tx-cos)\b"),
    (("cos-queue-group ",), r"^(precedence \S+ (?:queue|random-detect-label)|queue \S+|random-detect-label \S+)"),
)
#: What is there before what leads to it, and goes when nothing leads to it any more.
_ORDER = (
    ("ip access-list ", "access-list "), ("class-map ",), ("policy-map ",), ("cos-queue-group ",), ("slot-table-cos ",),
    ("rx-cos-slot ",), ("interface ",), ("no rx-cos-slot ",), ("no slot-table-cos ",), ("no cos-queue-group ",),
    ("no policy-map ",), ("no class-map ",), ("no ip access-list ", "no access-list "),
)  # fmt: skip


class Driver(HConfigDriverCiscoIOS):
    """Cisco IOS, and Slotcar's lines in it.

    Left out is what the stock driver does to lists after loading: it drops their remarks, by which Slotcar knows its own,
    and numbers their entries, which would never match the entry that a change names.
    """

    @staticmethod
    def _instantiate_rules() -> HConfigDriverRules:
        rules = HConfigDriverCiscoIOS._instantiate_rules()
        rules.post_load_callbacks.clear()
        rules.idempotent_commands.extend(
            IdempotentCommandsRule(
                match_rules=(*(MatchRule(startswith=parent) for parent in parents), MatchRule(re_search=line))
            )
            for parents, line in _REPLACED
        )
        rules.ordering.extend(
            OrderingRule(match_rules=(MatchRule(startswith=lines),), weight=weight - len(_ORDER))
            for weight, lines in enumerate(_ORDER)
        )
        return rules


DRIVER = Driver()


def tree_of(lines: Iterable[str]) -> HConfig:
    return get_hconfig(DRIVER, "\n".join(lines))


def nested(tree: HConfig) -> Nested:
    """The tree without the order of lines, of which hier_config's future makes nothing."""

    def of(node: object) -> Nested:
        return sorted((child.text, of(child)) for child in node.children)  # type: ignore[attr-defined]

    return of(tree)


def after(tree: HConfig, lines: Iterable[str]) -> HConfig:
    """What becomes of the tree when the lines are entered one by one, each in the mode that its indentation says."""
    path: list[str] = []
    for raw in lines:
        if raw.strip() == "exit":  # the next line's indentation says the same
            continue
        depth = len(raw) - len(raw.lstrip())
        path = [*path[:depth], raw.strip()]
        entered = HConfig(DRIVER)
        entered.add_children_deep(path)
        tree = tree.future(entered)
    return tree


def remediation(running: HConfig, wanted: HConfig) -> list[str]:
    """hier_config's own plan, in its own order."""
    delta = running.config_to_get_to(wanted)
    delta.set_order_weight()
    return [" " * (child.depth() - 1) + child.text for child in delta.all_children_sorted()]
