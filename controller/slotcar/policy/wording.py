"""A policy in words: whom it permits or forbids what, of what, and on which conditions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slotcar.policy.probes import probes_of
from slotcar.policy.reading import PolicyRule


def words_of(rule: PolicyRule) -> str:
    """One sentence; conditions are as Cedar writes them.

    >>> from slotcar.policy.policies import shipped_policies
    >>> words_of(shipped_policies().rules[0])
    'Permits everybody: go_ahead.'
    """
    form = rule.form
    effect = "Permits" if rule.permits else "Forbids"
    who = _scope_words(form["principal"]) or "everybody"
    what = _scope_words(form["resource"])
    conditions = [one.text for one in probes_of([rule], of_forbids=True) if one.part == "when"]
    where = f", where {' and '.join(conditions)}" if conditions else ""
    return f"{effect} {who}: {_action_words(form['action'])}{f' of {what}' if what else ''}{where}."


def _scope_words(scope: Mapping[str, Any]) -> str:
    match scope["op"]:
        case "==":
            return _entity_words(scope["entity"])
        case "in":
            return f"what is in {_entity_words(scope['entity'])}"
        case "is":
            within = f" in {_entity_words(scope['in']['entity'])}" if "in" in scope else ""
            return f"every {scope['entity_type']}{within}"
    return ""


def _action_words(scope: Mapping[str, Any]) -> str:
    if scope["op"] == "All":
        return "everything"
    entities = scope.get("entities") or [scope["entity"]]
    return ", ".join(one["id"] for one in entities)


def _entity_words(entity: Mapping[str, str]) -> str:
    return f"{entity['type']} {entity['id']}"
