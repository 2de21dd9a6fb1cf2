"""A policy in words: who may do what, or may not, of what, and on which conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slotcar.policy.conditions import condition_words, joined_by, without_guards
from slotcar.policy.reading import PolicyRule, entities_in
from slotcar.policy.vocabulary import ACTIONS, PRINCIPALS, TYPES, WITHIN


@dataclass(frozen=True, slots=True)
class PolicyWords:
    """`sentence`: who may what, or may not. `conditions`: all of them have to hold for that."""

    sentence: str
    conditions: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = " and ".join(self.conditions)
        return f"{self.sentence}, where {where}." if where else f"{self.sentence}."


def words_of(rule: PolicyRule) -> PolicyWords:
    """
    >>> from slotcar.policy.policies import shipped_policies
    >>> print(words_of(next(rule for rule in shipped_policies().rules if rule.name == "shares-of-rate")))
    No owner may use what was shared out, where what those who share it have together at one instant is above the share \
and what those who share it have together at one instant is above what they had before.
    """
    form = rule.form
    whole = [one["body"] for one in form["conditions"] if one["kind"] == "when"]
    when = [part for body in whole for part in joined_by("&&", body)]
    never = [one["body"] for one in form["conditions"] if one["kind"] == "unless"]
    unless = [part for body in never for part in joined_by("||", body)]
    conditions = [condition_words(one) for one in without_guards(when)]
    conditions += [condition_words(one, holds=False) for one in unless]
    where = _resource_words(form["resource"])
    conditions = list(dict.fromkeys([where, *conditions] if where else conditions))
    if _is_about_owners(rule):
        conditions = [one.replace("who asks", "the owner") for one in conditions]
    return PolicyWords(
        f"{_who_may(rule)} {_action_words(form['action'], 'and' if rule.permits else 'or')}", tuple(conditions)
    )


def _who_may(rule: PolicyRule) -> str:
    """Such as `Members of the group duty may`."""
    scope = rule.form["principal"]
    if scope["op"] == "All":
        everybody, nobody = ("Every owner", "No owner") if _is_about_owners(rule) else ("Everybody", "Nobody")
        return f"{everybody} may" if rule.permits else f"{nobody} may"
    return f"{_principal_words(scope)} {'may' if rule.permits else 'may not'}"


def _is_about_owners(rule: PolicyRule) -> bool:
    scope = rule.form["action"]
    return scope["op"] != "All" and _named(scope) <= _OF_OWNERS


#: Actions that are asked about an owner, whoever asks for it.
_OF_OWNERS = {"use_endpoint", "claim_host", "bind_processes", "have", "use_share", "go_ahead"}


def _principal_words(scope: Mapping[str, Any]) -> str:
    if scope["op"] == "is":
        kind = TYPES.get(scope["entity_type"], scope["entity_type"]).capitalize()
        within = scope.get("in")
        return f"{kind} that {WITHIN[_kind(within)][0].format(_name(within))}" if within else kind
    kind, name = _kind(scope), _name(scope)
    if scope["op"] == "==" and kind in ("Person", "Program"):
        return name
    words = PRINCIPALS.get(kind, f"{kind} {{}}")
    return f"{words[:1].upper()}{words[1:]}".format(name.capitalize() if kind == "Role" else name)


def _resource_words(scope: Mapping[str, Any]) -> str:
    match scope["op"]:
        case "==":
            return f"it is the {_kind(scope).lower()} {_name(scope)}"
        case "in":
            return f"it {WITHIN.get(_kind(scope), ('is in {}', ''))[0].format(_name(scope))}"
        case "is":
            within = f" and {_resource_words({'op': 'in', **scope['in']})}" if "in" in scope else ""
            return f"it is a {scope['entity_type'].lower()}{within}"
    return ""


def _action_words(scope: Mapping[str, Any], last: str) -> str:
    if scope["op"] == "All":
        return "do everything" if last == "and" else "do anything"
    return _joined([_verb_words(name) for name in sorted(_named(scope))], ", ", last)


def _verb_words(name: str) -> str:
    if name in ACTIONS:
        return ACTIONS[name]
    what = name.removeprefix("group_")
    return f"{what} groups" if what != name else name.replace("_", " ")


def _named(scope: Mapping[str, Any]) -> set[str]:
    return {name for kind, name in entities_in(scope) if kind == "Action"}


def _kind(scope: Mapping[str, Any]) -> str:
    return str(scope["entity"]["type"])


def _name(scope: Mapping[str, Any]) -> str:
    return str(scope["entity"]["id"])


def _joined(parts: Sequence[str], comma: str, last: str) -> str:
    return f"{comma.join(parts[:-1])} {last} {parts[-1]}" if len(parts) > 1 else "".join(parts)
