"""Leaves out of a question the policies that cannot be about it: those whose principal or resource is, or is in, something
that this principal or resource is not in. Cedar evaluates a policy's scope first, so nothing is decided otherwise by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cedarpy import PolicySet

from slotcar.policy.probes import policy_set_text
from slotcar.policy.questions import Question, Uid
from slotcar.policy.reading import PolicyRule

#: Parsed parts of a policy set that are kept; a site has fewer kinds of question by far.
MOST_KEPT = 1_000


@dataclass(slots=True)
class PolicySlices:
    """A policy set by parts: each is parsed when it is first needed, and kept."""

    _by_resource: Mapping[Uid | None, Sequence[tuple[Uid | None, PolicyRule]]]
    _kept: dict[tuple[str, ...], PolicySet]

    @classmethod
    def of(cls, rules: Iterable[PolicyRule]) -> PolicySlices:
        by_resource: dict[Uid | None, list[tuple[Uid | None, PolicyRule]]] = {}
        for rule in rules:
            principal, resource = (_entity_of(rule.form[part]) for part in ("principal", "resource"))
            by_resource.setdefault(resource, []).append((principal, rule))
        return cls(by_resource, {})

    def about(self, question: Question) -> PolicySet:
        """The policies that may be about it."""
        parents = _parents_of(question)
        principals = _closure(question.principal, parents)
        names = tuple(
            rule.name
            for resource in (None, *sorted(_closure(question.resource, parents)))
            for principal, rule in self._by_resource.get(resource, ())
            if principal is None or principal in principals
        )
        if names not in self._kept:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            forms = {rule.name: rule.form for listed in self._by_resource.values() for _, rule in listed}
            self._kept[names] = PolicySet.from_json_str(policy_set_text({name: forms[name] for name in names}))
        return self._kept[names]


def _entity_of(scope: Mapping[str, object]) -> Uid | None:
    """The entity that somebody has to be, or to be in; None where there is none."""
    within = scope.get("in")
    entity = within.get("entity") if isinstance(within, Mapping) else scope.get("entity")
    return (str(entity["type"]), str(entity["id"])) if isinstance(entity, Mapping) else None


def _parents_of(question: Question) -> Mapping[Uid, Sequence[Uid]]:
    return {
        (one["uid"]["type"], one["uid"]["id"]): [(parent["type"], parent["id"]) for parent in one["parents"]]
        for one in question.entities
    }


def _closure(first: Uid, parents: Mapping[Uid, Sequence[Uid]]) -> set[Uid]:
    """What it is in, itself included."""
    above, waiting = {first}, [first]
    while waiting:
        for parent in parents.get(waiting.pop(), ()):
            if parent not in above:
                above.add(parent)
                waiting.append(parent)
    return above
