"""What to say instead, where Cedar says what is wrong with a policy."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from difflib import get_close_matches

from slotcar.policy.statements import Statement

_HEAD = re.compile(r"^[ \t]*(?:permit|forbid)\s*\(", re.MULTILINE)
_COMMENT = re.compile(r"//[^\n]*")
_ECHO = "unable to find an applicable action"


def without_echoes(errors: Sequence[str]) -> tuple[str, ...]:
    """Of a name that is unknown Cedar says twice that it is: that nothing applies says nothing more."""
    named = tuple(one for one in errors if _ECHO not in one)
    return named if any("unrecognized" in one for one in named) else tuple(errors)


def hint_of(words: str, statement: Statement, schema: str) -> str:
    """What would be right, as far as the schema says; empty where it does not.

    >>> hint_of("unrecognized entity type `Groups`", Statement("own.cedar", 1, ""), "entity Role, Group, Community;")
    'perhaps Group'
    """
    if missing := re.search(r"optional attribute `(\w+)`", words):
        base = re.search(rf"([\w.]+)\.{missing[1]}\b", statement.text)
        return f"put `{base[1] if base else 'context'} has {missing[1]} &&` before it"
    for pattern, known in _UNKNOWN:
        if unknown := re.search(pattern, words):
            return _nearest(unknown[1], known(_COMMENT.sub("", schema)))
    if "expected Long but saw String" in words:
        return "rates are numbers of bit/s and times of seconds, without quotes"
    heads = list(_HEAD.finditer(statement.text))
    if "unexpected token" in words and len(heads) > 1:
        first = statement.line + statement.text.count("\n", 0, heads[0].start())
        return f"perhaps a `;` is missing at the end of the policy of line {first}"
    return ""


def _attributes(schema: str) -> list[str]:
    return re.findall(r"(\w+)\??:", schema)


def _actions(schema: str) -> list[str]:
    return _declared("action", schema)


def _entities(schema: str) -> list[str]:
    return _declared("entity", schema)


def _declared(what: str, schema: str) -> list[str]:
    heads = re.findall(rf"^{what} ([^;{{]*?)(?:\s+in\b|\s+appliesTo\b|\s*[;{{])", schema, re.MULTILINE)
    return [name.strip(' "') for names in heads for name in " ".join(names.split()).split(", ")]


#: What Cedar calls unknown, and what is known in its place.
_UNKNOWN: tuple[tuple[str, Callable[[str], list[str]]], ...] = (
    (r"attribute `(\w+)` .*not found", _attributes),
    (r'unrecognized action `Action::"(\w+)"`', _actions),
    (r"unrecognized entity type `(\w+)`", _entities),
)


def _nearest(word: str, known: Collection[str]) -> str:
    begun = sorted({one for one in known if one.startswith(word)} - {word}, key=len)
    near = begun[:2] or get_close_matches(word, sorted({*known} - {word}), n=2, cutoff=0.6)
    return f"perhaps {' or '.join(near)}" if near else ""
