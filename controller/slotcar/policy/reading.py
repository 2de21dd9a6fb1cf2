"""Reads policies: each is parsed by itself and checked against the schema, and every error names file and line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from cedarpy import Schema, policies_to_json_str, validate_policies

from slotcar.base.problems import InvalidInput, Problem
from slotcar.policy.hints import hint_of, without_echoes
from slotcar.policy.statements import Source, Statement, statements_of

SHIPPED = Path(__file__).parent / "shipped"
#: Names in braces that `@otherwise` and `@refusal` may have.
PLACEHOLDERS = ("who", "what", "role", "owner", "of")
#: What annotations mean something here. A policy may have others, which are for its readers.
SENTENCES = ("otherwise", "refusal")
_ANNOTATIONS = ("id", "quota", "share", *SENTENCES)
_IN_QUOTES = re.compile(r"`([^`]*)`")


@dataclass(frozen=True, slots=True)
class PolicyRule:
    """One policy that was read.

    Attributes:
        name: its `@id`, by which people are told of it.
        form: as Cedar writes a policy in JSON. entities: what it names, as type and name.
    """

    name: str
    statement: Statement
    form: Mapping[str, Any]
    entities: Set[tuple[str, str]]

    @property
    def ships(self) -> bool:
        """Whether it is Slotcar's own, and no site's."""
        return any(one.file == self.statement.file for one in shipped_sources())

    @property
    def permits(self) -> bool:
        return bool(self.form["effect"] == "permit")

    @property
    def annotations(self) -> Mapping[str, str]:
        annotations: Mapping[str, str] = self.form.get("annotations", {})
        return annotations

    def is_about(self, action: str) -> bool:
        """Whether it names the action, or all."""
        scope = self.form["action"]
        named = scope.get("entities") or ([scope["entity"]] if "entity" in scope else None)
        return named is None or any(one["id"] == action for one in named)

    def may_be_about(self, kind: str) -> bool:
        """Whether a principal of the kind may be one that it is about."""
        scope = self.form["principal"]
        return bool(scope["op"] != "is" or scope["entity_type"] == kind)

    @property
    def is_unconditional(self) -> bool:
        """Whether it holds for everybody and everything."""
        scopes = (self.form["principal"], self.form["resource"])
        return all(one["op"] == "All" for one in scopes) and not self.form["conditions"]


@cache
def schema_text() -> str:
    return (SHIPPED / "slotcar.cedarschema").read_text(encoding="utf-8")


@cache
def schema() -> Schema:
    """Of all policies and questions; parsed once."""
    return Schema.from_str(schema_text())


@cache
def rights() -> Mapping[str, str]:
    """By verb, the right that it needs, as the schema has it."""
    return {
        verb.strip(' "'): right
        for verbs, right in re.findall(r"^action ([^;]*?)\s+in \[(\w+)\]", schema_text(), re.MULTILINE)
        for verb in " ".join(verbs.split()).split(", ")
    }


@cache
def shipped_sources() -> tuple[Source, ...]:
    """The policies that ship, a file for each family of rules."""
    return tuple(Source(path.name, path.read_text(encoding="utf-8")) for path in sorted(SHIPPED.glob("*.cedar")))


def read_rules(sources: Iterable[Source]) -> tuple[PolicyRule, ...]:
    """
    Raises:
        InvalidInput: with every error of every source.
    """
    problems: list[Problem] = []
    rules: list[PolicyRule] = []
    for statement in (one for source in sources for one in statements_of(source)):
        rule, errors = _read(statement)
        problems += errors
        rules += [rule] if rule else []
    problems += _repeated(rules)
    if problems:
        raise InvalidInput(problems)
    return tuple(rules)


def _read(statement: Statement) -> tuple[PolicyRule | None, Sequence[Problem]]:
    try:
        parsed = json.loads(policies_to_json_str(statement.text))
    except ValueError as error:
        return None, [_problem(statement, str(error), "this is no policy")]
    if parsed["templates"] or len(parsed["staticPolicies"]) != 1:
        return None, [
            Problem(statement.file, statement.line, "", "a policy names no ?principal and no ?resource here")
        ]
    (form,) = parsed["staticPolicies"].values()
    annotations = form.get("annotations", {})
    name = annotations.get("id") or ""
    errors = (
        [] if name else [Problem(statement.file, statement.line, "", "a policy needs a name", "", 'say @id("NAME")')]
    )
    checked = validate_policies(statement.text, schema())
    errors += [_problem(statement, words, name) for words in without_echoes([one.error for one in checked.errors])]
    errors += [
        Problem(statement.file, statement.line_of(key), name, f"@{key} is not known", "", f"perhaps @{near[0]}")
        for key in annotations
        if key not in _ANNOTATIONS and (near := get_close_matches(key, _ANNOTATIONS, n=1, cutoff=0.75))
    ]
    errors += [
        Problem(statement.file, statement.line_of(key), name, f"@{key} names {{{word}}}", "", f"known are {_KNOWN}")
        for key in SENTENCES
        for word in re.findall(r"\{(\w*)\}", annotations.get(key) or "")
        if word not in PLACEHOLDERS
    ]
    return PolicyRule(name, statement, form, entities_in(form)), errors


_KNOWN = ", ".join(f"{{{one}}}" for one in PLACEHOLDERS)


def _problem(statement: Statement, words: str, name: str) -> Problem:
    """What Cedar says, at the line of the word that it names; its own number of the policy says nothing to anybody."""
    words = re.sub(r"^for policy `policy\d+`, ", "", words)
    named = [statement.line_of(word) for word in _IN_QUOTES.findall(words) if word]
    line = next((at for at in named if at != statement.line), statement.line)
    words = " ".join(words.split())
    return Problem(statement.file, line, name, words, "", hint_of(words, statement, schema_text()))


def entities_in(form: Any) -> set[tuple[str, str]]:
    """What a policy names, as type and name."""
    named, left = set(), [form]
    while left:
        one = left.pop()
        if isinstance(one, list):
            left.extend(one)
        elif isinstance(one, Mapping):
            kind, name = one.get("type"), one.get("id")
            if len(one) == 2 and isinstance(kind, str) and isinstance(name, str):
                named.add((kind, name))
            else:
                left.extend(one.values())
    return named


def _repeated(rules: Sequence[PolicyRule]) -> Iterable[Problem]:
    """At the site's own policy, where the other one ships: a site's sources come first."""
    first: dict[str, Statement] = {}
    for rule in rules:
        here = rule.statement
        before = first.setdefault(rule.name, here)
        if before is here or not rule.name:
            continue
        ships = "/" not in here.file
        at, other = (before, here) if ships and "/" in before.file else (here, before)
        hint = f"choose another, or name the file {here.file} to take the place of the one that ships" if ships else ""
        yield Problem(
            at.file, at.line, rule.name, f"the name is that of another at {other.file}:{other.line}", "", hint
        )
