"""Which conditions of which permits hold. Cedar tells only the policies that applied, so each condition is made a policy of
its own, and all of them are asked at once."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cedarpy import PolicySet, policies_from_json_str

from slotcar.policy.reading import PolicyRule
from slotcar.policy.verdict import NearPermit

_ALL: Mapping[str, Any] = {"op": "All"}
_HAS_DELEGATION: Mapping[str, Any] = {"has": {"left": {"Var": "context"}, "attr": "delegation"}}
#: Nobody becomes somebody else: a permit for others is farther away than one whose condition fails.
WEIGHTS = {"principal": 2}


@dataclass(frozen=True, slots=True)
class ConditionProbe:
    """One condition of a permit. `part`: `principal`, `action`, `resource`, or `when`."""

    rule: PolicyRule
    number: int
    part: str
    form: Mapping[str, Any]

    @property
    def key(self) -> str:
        return f"{self.rule.name}/{self.number}"

    @property
    def is_of_another_kind(self) -> bool:
        """Whether only a principal of another type meets it, where this one does not, or only one to whom something was
        delegated."""
        if [one["body"] for one in self.form["conditions"]] == [_HAS_DELEGATION]:
            return True
        scope = self.form["principal"]
        return self.part == "principal" and bool(scope["op"] == "is") and "in" not in scope

    @property
    def text(self) -> str:
        """The condition as Cedar writes it."""
        if self.part == "when":
            return _conditions_text(self.form)
        parts = _scope_and_conditions(self.form)[0].partition("(")[2].removesuffix(")").split(",")
        return next(part.strip() for part in parts if part.strip().startswith(self.part))


def condition_text(body: Mapping[str, Any]) -> str:
    """A condition as Cedar writes it."""
    return _conditions_text(_permit(conditions=[{"kind": "when", "body": body}]))


def _conditions_text(form: Mapping[str, Any]) -> str:
    _, written, is_unless = _scope_and_conditions(form)
    return _without_idle_brackets(f"!({written})" if is_unless else written)


def _scope_and_conditions(form: Mapping[str, Any]) -> tuple[str, str, bool]:
    """As Cedar writes them, and whether it is `unless`."""
    written = policies_from_json_str(policy_set_text({"probe": form})).strip().rstrip(";")
    is_unless = " unless {" in written and " when {" not in written
    scope, _, condition = written.partition(") unless {" if is_unless else ") when {")
    return scope, condition.strip().removesuffix("}").strip(), is_unless


def policy_set_text(forms: Mapping[str, Mapping[str, Any]]) -> str:
    """Policies by name, in Cedar's form of JSON."""
    return json.dumps({"staticPolicies": forms, "templates": {}, "templateLinks": []})


def probes_of(rules: Sequence[PolicyRule], *, of_forbids: bool = False) -> tuple[ConditionProbe, ...]:
    """The conditions of all permits among the rules; with `of_forbids`, those of all."""
    return tuple(
        ConditionProbe(rule, number, part, form)
        for rule in rules
        if rule.permits or of_forbids
        for number, (part, form) in enumerate(_conditions_of(rule.form))
    )


def probe_set(probes: Sequence[ConditionProbe]) -> PolicySet:
    return PolicySet.from_json_str(policy_set_text({one.key: one.form for one in probes}))


def nearest_of(
    probes: Sequence[ConditionProbe], holding: Collection[str], errors: Sequence[str]
) -> tuple[NearPermit, ...]:
    """The permits of this action with the fewest conditions that fail, those that name the action first.

    Args:
        holding: the keys of the conditions that hold.
        errors: what went wrong in evaluating others, each with its key: they speak of what is not there, which another
            condition asks.
    """
    by_rule: dict[str, list[ConditionProbe]] = {}
    for one in probes:
        by_rule.setdefault(one.rule.name, []).append(one)
    ranked: list[tuple[int, bool, list[ConditionProbe]]] = []
    for ones in by_rule.values():
        failed = [one for one in ones if one.key not in holding]
        failed = [one for one in failed if not any(f"`{one.key}`" in error for error in errors)] or failed
        if any(one.part == "action" or one.is_of_another_kind for one in failed):
            continue
        names_action = any(one.part == "action" for one in ones)
        ranked.append((sum(WEIGHTS.get(one.part, 1) for one in failed), not names_action, failed))
    least = min((weight for weight, _, _ in ranked), default=0)
    near = sorted((one for one in ranked if one[0] == least), key=lambda one: one[1])
    return tuple(NearPermit(failed[0].rule, tuple(one.text for one in failed)) for _, _, failed in near if failed)


def _conditions_of(form: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for part in ("principal", "action", "resource"):
        if form[part]["op"] != "All":
            yield part, _permit(**{part: form[part]})
    for condition in form["conditions"]:
        if condition["kind"] == "when":
            for body in _joined(condition["body"]):
                yield "when", _permit(conditions=[{"kind": "when", "body": body}])
        else:
            yield "when", _permit(conditions=[condition])


def _joined(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The conditions that `&&` joins."""
    if "&&" in body:
        yield from _joined(body["&&"]["left"])
        yield from _joined(body["&&"]["right"])
    else:
        yield body


def _permit(**given: Any) -> Mapping[str, Any]:
    return {"effect": "permit", "principal": _ALL, "action": _ALL, "resource": _ALL, "conditions": [], **given}


def _without_idle_brackets(text: str) -> str:
    """Without the brackets that Cedar writes around every name."""
    while (plainer := re.sub(r'(?<!\w)\(([\w.:"-]+)\)', r"\1", text)) != text:
        text = plainer
    return text
