"""`Policies`: the policies in force, parsed once, and asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from cedarpy import Decision, Entities, PolicySet, is_authorized

from slotcar.policy.probes import ConditionProbe, nearest_of, probe_set, probes_of
from slotcar.policy.questions import Question
from slotcar.policy.reading import PolicyRule, read_rules, schema, shipped_sources
from slotcar.policy.slicing import PolicySlices
from slotcar.policy.statements import Source
from slotcar.policy.verdict import NearPermit, Verdict

#: Answers that are kept; a site has fewer callers, verbs and owners by far.
MOST_KEPT = 10_000
#: Entities that are kept as Cedar has read them: of the requests that are decided at about the same time.
MOST_ENTITIES = 1_000
#: First halves that are kept; so many volumes by a deadline are seldom to come.
MOST_HALVES = 4_000
TOTALS = "totals"


@dataclass(frozen=True, slots=True)
class FirstHalf:
    """What the policies answer to a question that read nothing of it that is not known yet.

    Attributes:
        question: with anything in the place of what is not known. permitted_by: the permits that apply.
        known: its entities as Cedar has read them.
        refused: one forbids it, or could not be evaluated: whatever the rest is, it is refused.
        waiting: the policies that read the rest; None where none of them may be about it.
    """

    question: Question
    known: Entities | None
    refused: bool
    permitted_by: tuple[str, ...] = ()
    waiting: PolicySet | None = None

    @property
    def is_certain(self) -> bool:
        """Whether it is allowed whatever the rest is, and the reasons would not be others."""
        return bool(self.permitted_by) and not self.refused and self.waiting is None


class Policies:
    """The policies of a site together with those that ship: a file of the site takes the place of the shipped one of its
    name. Nothing is parsed for a question but the entities of the question itself.

    Raises:
        InvalidInput: with every error of every policy.
    """

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        own = tuple(sources)
        names = {one.file.rpartition("/")[2] for one in own}
        self.sources = (*own, *(one for one in shipped_sources() if one.file not in names))
        self.rules = read_rules(self.sources)
        self._own = own
        self._by_name = {rule.name: rule for rule in self.rules}
        self._order = {rule.name: number for number, rule in enumerate(self.rules)}
        self._slices = PolicySlices.of(self.rules)
        self._kept: dict[Hashable, Verdict] = {}
        self._entities: dict[str, Entities] = {}
        self._halves: dict[Hashable, FirstHalf] = {}
        self._open: dict[Hashable, bool] = {}
        self._reading: dict[frozenset[str], frozenset[str]] = {}

    def _that_read(self, attributes: frozenset[str]) -> frozenset[str]:
        """The names of the policies that read one of these of the context. Only what decides asks it."""
        if attributes not in self._reading:
            reading = (rule.name for rule in self.rules if any(_may_read(rule.form, one) for one in attributes))
            self._reading[attributes] = frozenset(reading)
        return self._reading[attributes]

    def __reduce__(self) -> tuple[Callable[[tuple[Source, ...]], Policies], tuple[tuple[Source, ...]]]:
        """A plan is made in another process, where Cedar's handles are made again."""
        return policies_of, (self._own,)

    def decide(self, question: Question) -> Verdict:
        """Whether it is permitted, by which policies, and else why not."""
        try:
            known = self._known(question)
        except ValueError as error:
            return Verdict(allowed=False, errors=(str(error),))
        answer = _answer(question, known, self._slices.set_of(self._slices.names_about(question)))
        if answer.errors:
            return Verdict(allowed=False, errors=answer.errors)
        by = self._rules_of(answer.names)
        if answer.allowed:
            return Verdict(allowed=True, by=by)
        return Verdict(allowed=False, by=by, nearest=() if by else self._nearest(question, known))

    def permits(self, question: Question) -> bool:
        """As `decide`, of a question with entities that are in order, without a word of why."""
        policies = self._slices.set_of(self._slices.names_about(question))
        answer = _answer(question, self._known(question), policies)
        return answer.allowed and not answer.errors

    def first_half(self, question: Question, unknown: frozenset[str]) -> FirstHalf:
        """The first half of `decide`, of a question of which this is not known yet, by the attributes' names."""
        names, reading = self._slices.names_about(question), self._that_read(unknown)
        waiting = tuple(name for name in names if name in reading)
        others = tuple(name for name in names if name not in reading)
        try:
            known = self._known(question)
        except ValueError:
            return FirstHalf(question, None, refused=True)
        answer = _answer(question, known, self._slices.set_of(others)) if others else _NOTHING
        permitted_by = answer.names if answer.allowed else ()
        rest = self._slices.set_of(waiting) if waiting else None
        return FirstHalf(question, known, answer.refuses, permitted_by, rest)

    def first_half_once(self, question: Question, unknown: frozenset[str]) -> FirstHalf:
        """As `first_half`; the answer is kept for all questions that differ in nothing but what is not known."""
        known = {key: value for key, value in question.context.items() if key not in unknown}
        about = question.principal, question.action, question.resource
        key = (*about, json.dumps(question.entities), json.dumps(known, sort_keys=True), unknown)
        kept = self._halves.get(key)
        if kept is None:
            if len(self._halves) >= MOST_HALVES:
                self._halves.clear()
            kept = self._halves[key] = self.first_half(question, unknown)
        return kept

    def of_entities(self, half: FirstHalf, question: Question) -> FirstHalf:
        """The half of the same question, of whose entities an attribute that was not known is known now."""
        if half.known is None:
            return half
        try:
            return replace(half, question=question, known=self._known(question))
        except ValueError:
            return FirstHalf(question, None, refused=True)

    def second_half(self, half: FirstHalf, rest: Mapping[str, Any]) -> Verdict:
        """The second half of `decide`: the same verdict as the whole question has. Only what is allowed is answered by
        halves; a refusal needs all policies for its reasons. `rest`: what was not known, by the attributes' names."""
        question = half.question.with_context(**rest)
        if half.known is not None and not half.refused:
            answer = _NOTHING if half.waiting is None else _answer(question, half.known, half.waiting)
            if not answer.refuses and (half.permitted_by or answer.allowed):
                return Verdict(allowed=True, by=self._rules_of({*half.permitted_by, *answer.names}))
        return self.decide(question)

    def decide_once(self, key: Hashable, question: Callable[[], Question]) -> Verdict:
        """As `decide`, of a question that `key` says whole; the answer is kept."""
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            kept = self._kept[key] = self.decide(question())
        return kept

    @property
    def ship_alone(self) -> bool:
        """Whether the site has none of its own."""
        return not self._own

    def has_own(self, action: str) -> bool:
        """Whether a policy of the site's own may decide the action."""
        files = {one.file for one in self._own}
        return any(rule.is_about(action) and rule.statement.file in files for rule in self.rules)

    def is_open(self, action: str, kind: str) -> bool:
        """Whether all principals of a kind are permitted the action whatever its context is: nothing needs to be asked."""
        key = ("open", action, kind)
        if key not in self._open:
            rules = [one for one in self.rules if one.is_about(action) and one.may_be_about(kind)]
            self._open[key] = self._is_open(rules)
        return self._open[key]

    @property
    def asks_totals(self) -> bool:
        """Whether a policy speaks of what others have."""
        return bool(self._that_read(frozenset({TOTALS})))

    @staticmethod
    def _is_open(rules: Sequence[PolicyRule]) -> bool:
        return all(rule.permits for rule in rules) and any(rule.is_unconditional for rule in rules)

    def _known(self, question: Question) -> Entities:
        """Its entities as Cedar has read them; one request asks about the same ones several times.

        Raises:
            ValueError: they are not as the schema has them.
        """
        text = json.dumps(question.entities)
        known = self._entities.get(text)
        if known is None:
            if len(self._entities) >= MOST_ENTITIES:
                self._entities.clear()
            known = self._entities[text] = Entities.from_json_str(text, schema())
        return known

    def _rules_of(self, names: Iterable[str]) -> tuple[PolicyRule, ...]:
        """In the order in which they were read."""
        order = self._order
        return tuple(sorted((self._by_name[name] for name in names), key=lambda rule: order[rule.name]))

    def _nearest(self, question: Question, known: Entities) -> tuple[NearPermit, ...]:
        probes, prepared = self._probes
        answer = is_authorized(question.request, prepared, known, schema()).diagnostics
        return nearest_of(probes, set(answer.reasons), answer.errors)

    @cached_property
    def _probes(self) -> tuple[tuple[ConditionProbe, ...], PolicySet]:
        probes = probes_of(self.rules)
        return probes, probe_set(probes)


@dataclass(frozen=True, slots=True)
class CedarAnswer:
    """Cedar's. `names`: of the policies that decided: of the permits where it is allowed, else of those that forbid it."""

    allowed: bool
    names: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def refuses(self) -> bool:
        """Whether no other permit would change it. Cedar allows what it could not evaluate a `forbid` of."""
        return bool(self.errors) or (bool(self.names) and not self.allowed)


#: Of no policies.
_NOTHING = CedarAnswer(allowed=False)


def _answer(question: Question, known: Entities, policies: PolicySet) -> CedarAnswer:
    answer = is_authorized(question.request, policies, known, schema())
    reasons, errors = answer.diagnostics.reasons, answer.diagnostics.errors
    return CedarAnswer(answer.decision is Decision.Allow, tuple(reasons), tuple(errors))


def _may_read(form: Any, attribute: str) -> bool:
    """Whether a policy reads an attribute of that name, or the context as a whole, of which the attribute is a part.

    >>> context = {"Var": "context"}
    >>> _may_read({"has": {"left": context, "attr": "labels"}}, "totals")
    False
    >>> _may_read({"==": {"left": context, "right": {"Record": {}}}}, "totals")
    True
    """
    if isinstance(form, Mapping):
        if form.get("attr") == attribute or form.get("Var") == "context":
            return True
        names_attribute = isinstance(form.get("attr"), str)
        parts = [part for key, part in form.items() if not (names_attribute and key == "left" and part == _CONTEXT)]
        return any(_may_read(one, attribute) for one in parts)
    return isinstance(form, list) and any(_may_read(one, attribute) for one in form)


_CONTEXT = {"Var": "context"}


@cache
def policies_of(sources: tuple[Source, ...]) -> Policies:
    """As `Policies`, made once for the same sources."""
    return Policies(sources)


def shipped_policies() -> Policies:
    """Those that ship alone."""
    return policies_of(())
