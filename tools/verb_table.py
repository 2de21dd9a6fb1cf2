"""Prints docs/reference/verbs.md: what each verb needs, out of its type, the shipped policies' schema and the book's rules.

Usage: `python tools/verb_table.py`. `make generate` writes it; a test compares it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from slotcar.book.rules.verb_rules import PseudoState, RuleState, rule_of
from slotcar.policy.reading import rights
from slotcar_client.wire.states import State
from slotcar_client.wire.verbs import VERBS, Verb

INTRODUCTION = """\
# Verbs

What each verb of the [API](api.md) needs. Its right is decided by [policies](../adr/0080-policies-are-cedar.md). Its states
are those of which the reservation must have one, of a group the group; `change-waits` is that of a committed one of which a
change waits for approval. Without any, it is done to no reservation that is there, or to all alike. More may be asked of
it, such as that a reservation has a volume of which something remains. Where holds end first, a hold that ran out is over
for it, whether or not somebody swept it away.

![The states of a reservation, and which verb leads from which to which](../pictures/states.svg)

In a state's box are the verbs that leave a reservation in it; what leads from the frame may be done in all states in it.

The page and the picture are written by `make generate`, out of `slotcar_client.wire.verbs`, `slotcar.cedarschema` and
`slotcar.book.rules.verb_rules`.\
"""
_ORDER: tuple[RuleState, ...] = (State.HELD, State.AWAITING_APPROVAL, State.COMMITTED, PseudoState.CHANGE_WAITS)


def page() -> Iterator[str]:
    yield INTRODUCTION
    for family, verbs in groupby(VERBS.values(), key=lambda verb: verb.family):
        yield f"\n## {family.capitalize()}\n\n| verb | request | right | states | holds end first |\n|---|---|---|---|---|"
        yield from (_row(verb) for verb in verbs)


def _row(verb: type[Verb[Any]]) -> str:
    rule = rule_of(verb)
    states = ", ".join(f"`{state.value}`" for state in _ORDER if state in (rule.states or ()))
    right, holds = rights()[verb.operation], "yes" if rule.minds_holds else ""
    return f"| `{verb.operation}` | `{verb.method} {verb.address}` | {right} | {states} | {holds} |"


if __name__ == "__main__":
    sys.stdout.write("\n".join(page()) + "\n")
