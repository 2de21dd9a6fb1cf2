"""Scopes of a token: of the verbs that its role and the policies permit it, these alone. They give nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from difflib import get_close_matches
from functools import cache

from slotcar.policy.reading import rights
from slotcar_client.wire.verbs import VERBS

#: What every token may: it tells a program its own name and scopes.
ALWAYS = frozenset({"whoami"})
#: Operations that are no type of the wire, and the families that they stand in.
_OTHERS = {"plan": "plans", "event_stream": "views"}
#: Under these rights stands what reads.
_READING = frozenset({"see", "ask", "overview", "plan"})


@cache
def verbs_of_scopes() -> Mapping[str, frozenset[str]]:
    """By scope the operations that it lets pass: of a verb that one, of a right those that need it, of `FAMILY:read` and
    `FAMILY:write` those of the family that read, and that change something."""
    right_of = {**rights(), "plan": "plan"}
    family_of = {**{name: verb.family for name, verb in VERBS.items()}, **_OTHERS}
    scopes: dict[str, set[str]] = {}
    for verb, family in family_of.items():
        right = right_of[verb]
        way = "read" if right in _READING else "write"
        for scope in (verb, right, f"{family}:{way}"):
            scopes.setdefault(scope, set()).add(verb)
    return {scope: frozenset(verbs) for scope, verbs in sorted(scopes.items())}


def lets_pass(scopes: Collection[str], operation: str) -> bool:
    """Whether a token of these scopes may be used for an operation, as far as they say; one without scopes for all. What is
    no scope, or is one no more, lets nothing pass."""
    if not scopes or operation in ALWAYS:
        return True
    return any(operation in verbs_of_scopes().get(scope, ()) for scope in scopes)


def wrong_scopes(scopes: Iterable[str]) -> dict[str, str]:
    """What is no scope, each with a hint at what may be meant."""
    known = list(verbs_of_scopes())
    return {one: _hint(one, known) for one in scopes if one not in verbs_of_scopes()}


def _hint(scope: str, known: Collection[str]) -> str:
    near = get_close_matches(scope, known, n=3, cutoff=0.5)
    usual = "say a verb, a right, or FAMILY:read or FAMILY:write, such as reservations:read"
    return f"perhaps {', or '.join(near)}" if near else usual
