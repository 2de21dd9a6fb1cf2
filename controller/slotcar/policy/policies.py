"""`Policies`: the policies in force, parsed once, and asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache, cached_property

from cedarpy import Decision, Entities, PolicySet, is_authorized

from slotcar.policy.probes import ConditionProbe, nearest_of, policy_set_text, probe_set, probes_of
from slotcar.policy.questions import Question
from slotcar.policy.reading import read_rules, schema, shipped_sources
from slotcar.policy.statements import Source
from slotcar.policy.verdict import NearPermit, Verdict

#: Answers that are kept of questions without a context; a site has fewer callers times owners.
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
        self._set = PolicySet.from_json_str(policy_set_text({rule.name: rule.form for rule in self.rules}))
        self._kept: dict[tuple[str, str], Verdict] = {}

    def __reduce__(self) -> tuple[Callable[[tuple[Source, ...]], Policies], tuple[tuple[Source, ...]]]:
        """A plan is made in another process, where Cedar's handles are made again."""
        return policies_of, (self._own,)

    def decide(self, question: Question) -> Verdict:
        """Whether it is permitted, by which policies, and else why not."""
        entities = json.dumps(question.entities)
        if question.context:
            return self._decided(question, entities)
        key = (repr((question.principal, question.action, question.resource)), entities)
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            kept = self._kept[key] = self._decided(question, entities)
        return kept

    def _decided(self, question: Question, entities: str) -> Verdict:
        try:
            known = Entities.from_json_str(entities, schema())
        except ValueError as error:
            return Verdict(allowed=False, errors=(str(error),))
        answer = is_authorized(question.request, self._set, known, schema())
        if errors := answer.diagnostics.errors:
            return Verdict(allowed=False, errors=tuple(errors))
        rules = tuple(rule for rule in self.rules if rule.name in set(answer.diagnostics.reasons))
        if answer.decision is Decision.Allow:
            return Verdict(allowed=True, by=rules)
        return Verdict(allowed=False, by=rules, nearest=() if rules else self._nearest(question, known))

    def _nearest(self, question: Question, known: Entities) -> tuple[NearPermit, ...]:
        probes, prepared = self._probes
        holding = set(is_authorized(question.request, prepared, known, schema()).diagnostics.reasons)
        return nearest_of(probes, holding)

    @cached_property
    def _probes(self) -> tuple[tuple[ConditionProbe, ...], PolicySet]:
        probes = probes_of(self.rules)
        return probes, probe_set(probes)


@cache
def policies_of(sources: tuple[Source, ...]) -> Policies:
    """As `Policies`, made once for the same sources."""
    return Policies(sources)


def shipped_policies() -> Policies:
    """Those that ship alone."""
    return policies_of(())
