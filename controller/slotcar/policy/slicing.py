"""Leaves out of a question the policies that cannot be about it: those of other actions, and those whose principal or
resource is, or is in, something that this principal or resource is not in. Cedar evaluates a policy's scope first, so
nothing is decided otherwise by it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cedarpy import PolicySet

from slotcar.policy.probes import policy_set_text
from slotcar.policy.questions import Question, Uid
from slotcar.policy.reading import PolicyRule, rights

#: Parsed parts of a policy set that are kept; a site has fewer kinds of question by far.
MOST_KEPT = 1_000


#: Policies by the resource that they name, each with the principal that it names; None for those that name none.
ByResource = Mapping[Uid | None, Sequence[tuple[Uid | None, PolicyRule]]]


@dataclass(slots=True)
class PolicySlices:
    """A policy set by parts: each is parsed when it is first needed, and kept."""

    _rules: Mapping[str, PolicyRule]
    _about: dict[tuple[str, str], ByResource] = field(default_factory=dict)
    _kept: dict[tuple[str, ...], PolicySet] = field(default_factory=dict)

    @classmethod
    def of(cls, rules: Iterable[PolicyRule]) -> PolicySlices:
        return cls({rule.name: rule for rule in rules})

    def names_about(self, question: Question) -> tuple[str, ...]:
        """The policies that may be about it."""
        parents = _parents_of(question)
        principals = _closure(question.principal, parents)
        by_resource = self._by_resource(question.action, question.principal[0])
        return tuple(
            rule.name
            for resource in (None, *sorted(_closure(question.resource, parents)))
            for principal, rule in by_resource.get(resource, ())
            if principal is None or principal in principals
        )

    def set_of(self, names: tuple[str, ...]) -> PolicySet:
        if names not in self._kept:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            forms = {name: self._rules[name].form for name in names}
            self._kept[names] = PolicySet.from_json_str(policy_set_text(forms))
        return self._kept[names]

    def _by_resource(self, action: str, kind: str) -> ByResource:
        """The policies of an action, or of the right that it stands under, for principals of a kind."""
        if (action, kind) not in self._about:
            actions = {action, rights().get(action, action)}
            by_resource: dict[Uid | None, list[tuple[Uid | None, PolicyRule]]] = {}
            for rule in self._rules.values():
                if rule.may_be_about(kind) and any(rule.is_about(one) for one in actions):
                    principal, resource = (_entity_of(rule.form[part]) for part in ("principal", "resource"))
                    by_resource.setdefault(resource, []).append((principal, rule))
            self._about[action, kind] = by_resource
        return self._about[action, kind]


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
