"""`Policies`: the policies in force, parsed once, and asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
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
        self._open: dict[Hashable, bool] = {}

    def __reduce__(self) -> tuple[Callable[[tuple[Source, ...]], Policies], tuple[tuple[Source, ...]]]:
        """A plan is made in another process, where Cedar's handles are made again."""
        return policies_of, (self._own,)

    def decide(self, question: Question) -> Verdict:
        """Whether it is permitted, by which policies, and else why not."""
        return self._decided(question, json.dumps(question.entities))

    def decide_once(self, key: Hashable, question: Callable[[], Question]) -> Verdict:
        """As `decide`, of a question that `key` says whole; the answer is kept."""
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            kept = self._kept[key] = self.decide(question())
        return kept

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

    @cached_property
    def asks_totals(self) -> bool:
        """Whether a policy speaks of what others have."""
        return any(_mentions(rule.form, "totals") for rule in self.rules)

    @staticmethod
    def _is_open(rules: Sequence[PolicyRule]) -> bool:
        return all(rule.permits for rule in rules) and any(rule.is_unconditional for rule in rules)

    def _decided(self, question: Question, entities: str) -> Verdict:
        try:
            known = Entities.from_json_str(entities, schema())
        except ValueError as error:
            return Verdict(allowed=False, errors=(str(error),))
        answer = is_authorized(question.request, self._slices.about(question), known, schema())
        if errors := answer.diagnostics.errors:
            return Verdict(allowed=False, errors=tuple(errors))
        order = self._order
        rules = tuple(
            sorted((self._by_name[name] for name in answer.diagnostics.reasons), key=lambda one: order[one.name])
        )
        if answer.decision is Decision.Allow:
            return Verdict(allowed=True, by=rules)
        return Verdict(allowed=False, by=rules, nearest=() if rules else self._nearest(question, known))

    def _nearest(self, question: Question, known: Entities) -> tuple[NearPermit, ...]:
        probes, prepared = self._probes
        answer = is_authorized(question.request, prepared, known, schema()).diagnostics
        return nearest_of(probes, set(answer.reasons), answer.errors)

    @cached_property
    def _probes(self) -> tuple[tuple[ConditionProbe, ...], PolicySet]:
        probes = probes_of(self.rules)
        return probes, probe_set(probes)


def _mentions(form: Any, attribute: str) -> bool:
    if isinstance(form, Mapping):
        return form.get("attr") == attribute or any(_mentions(one, attribute) for one in form.values())
    return isinstance(form, list) and any(_mentions(one, attribute) for one in form)


@cache
def policies_of(sources: tuple[Source, ...]) -> Policies:
    """As `Policies`, made once for the same sources."""
    return Policies(sources)


def shipped_policies() -> Policies:
    """Those that ship alone."""
    return policies_of(())
