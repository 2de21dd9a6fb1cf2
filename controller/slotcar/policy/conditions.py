"""A condition of a policy in words. What has no words here stays as Cedar writes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from slotcar.base.units import format_bytes, format_duration, format_rate
from slotcar.policy.probes import condition_text
from slotcar.policy.sharing import hours_text
from slotcar.policy.vocabulary import FACTS, NOUNS, PRESENT, TYPES, WITHIN, AttributePath

Form = Mapping[str, Any]
_COMPARED = {
    "<=": ("is at most", "is above"),
    "<": ("is below", "is at least"),
    ">": ("is above", "is at most"),
    ">=": ("is at least", "is below"),
    "==": ("is", "is not"),
    "!=": ("is not", "is"),
}
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_UNITS: Mapping[str, Callable[[int], str]] = {
    "bps": format_rate,
    "bits": lambda bits: format_bytes(bits // 8) if bits % 8 == 0 else f"{bits} bit",
    "s": lambda seconds: format_duration(timedelta(seconds=seconds)),
    "us": lambda microseconds: format_duration(timedelta(microseconds=microseconds)),
}


def condition_words(form: Form, *, holds: bool = True) -> str:
    """That a condition holds, or with `holds=False` that it does not.

    >>> rate = {".": {"left": {"Var": "context"}, "attr": "rate_bps"}}
    >>> condition_words({"<=": {"left": rate, "right": {"Value": 100_000_000}}})
    'its rate is at most 100 Mbit/s'
    >>> condition_words({"<=": {"left": rate, "right": {"Value": 100_000_000}}}, holds=False)
    'its rate is above 100 Mbit/s'
    """
    ((operator, parts),) = form.items()
    words = _WORDS.get(operator, _nothing)(operator, parts, holds)
    return words or (condition_text(form) if holds else f"not {condition_text(form)}")


def joined_by(operator: str, form: Form) -> Iterator[Form]:
    """The conditions that `&&` or `||` joins."""
    if operator in form:
        yield from joined_by(operator, form[operator]["left"])
        yield from joined_by(operator, form[operator]["right"])
    else:
        yield form


def without_guards(conditions: Sequence[Form]) -> list[Form]:
    """Without those that ask whether something is there of which another one speaks: it could not hold otherwise."""
    paths = {path for one in conditions if "has" not in one for path in _paths_in(one)}
    return [one for one in conditions if "has" not in one or not _is_read(_path_of_presence(one), paths)]


def _is_read(path: AttributePath | None, paths: set[AttributePath]) -> bool:
    return path is not None and any(one[: len(path)] == path for one in paths)


def _path_of_presence(form: Form) -> AttributePath | None:
    return path_of({".": form["has"]})


def path_of(form: Form) -> AttributePath | None:
    """The way to an attribute; None of what is none."""
    if "Var" in form:
        return (str(form["Var"]),)
    if "." not in form:
        return None
    before = path_of(form["."]["left"])
    return None if before is None else (*before, str(form["."]["attr"]))


def _paths_in(form: Any) -> Iterator[AttributePath]:
    if isinstance(form, Mapping):
        path = path_of(form)
        if path is not None:
            yield path
        for one in form.values():
            yield from _paths_in(one)
    elif isinstance(form, list):
        for one in form:
            yield from _paths_in(one)


def _nothing(_operator: str, _parts: Any, _holds: bool) -> str:
    return ""


def _fact(operator: str, parts: Any, holds: bool) -> str:
    path = path_of({operator: parts})
    return _either(FACTS.get(path or ()), holds)


def _presence(_operator: str, parts: Any, holds: bool) -> str:
    path = path_of({".": parts})
    return _either(PRESENT.get(path or ()), holds)


def _either(words: tuple[str, str] | None, holds: bool) -> str:
    return words[not holds] if words else ""


def _negation(_operator: str, parts: Any, holds: bool) -> str:
    return condition_words(parts["arg"], holds=not holds)


def _joined(operator: str, parts: Any, holds: bool) -> str:
    ones = list(joined_by(operator, {operator: parts}))
    every = (operator == "&&") == holds
    ones = without_guards(ones) if operator == "&&" else ones
    words = [condition_words(one, holds=holds) for one in ones]
    if not every:
        return f"either {' or '.join(words)}" if len(words) > 1 else words[0]
    return " and ".join(words)


def _compared(operator: str, parts: Any, holds: bool) -> str:
    left, right = parts["left"], parts["right"]
    if operator in ("==", "!=") and path_of(left) == ("context", "attested", "community") and _entity(right):
        says = "has approved it" if (operator == "==") == holds else "has not approved it"
        return f"the server of the community {_entity(right)} {says}"
    unit = next((one for one in (_unit(path_of(left)), _unit(path_of(right))) if one), "")
    nouns = [_noun(one, unit) for one in (left, right)]
    return f"{nouns[0]} {_COMPARED[operator][not holds]} {nouns[1]}" if all(nouns) else ""


def _within(_operator: str, parts: Any, holds: bool) -> str:
    who, right = _noun(parts["left"]), parts["right"]
    value = right.get("Value")
    kind = str(value.get("__entity", {}).get("type", "")) if isinstance(value, Mapping) else ""
    if who and kind in WITHIN:
        subject = "it" if path_of(parts["left"]) == ("resource",) else who
        return f"{subject} {WITHIN[kind][not holds].format(_entity(right))}"
    group = _noun(right)
    return f"{who} {'is' if holds else 'is not'} in {group}" if who and group else ""


def _is_type(_operator: str, parts: Any, holds: bool) -> str:
    who, kind = _noun(parts["left"]), TYPES.get(str(parts["entity_type"]))
    return f"{who} {'is' if holds else 'is not'} {kind}" if who and kind and "in" not in parts else ""


def _contained(operator: str, parts: Any, holds: bool) -> str:
    left, right = parts["left"], parts["right"]
    path = path_of(left) if operator == "containsAny" else path_of(right)
    listed, among = (right, left) if operator == "containsAny" else (left, right)
    if operator == "containsAll" and path_of(left) is not None:
        path, listed, among = path_of(right), left, right
    of, what = _noun(among), _listed(listed, path)
    if operator == "contains":
        if path_of(left) == ("context", "labels") and isinstance(right.get("Value"), str):
            return f"it has {'the' if holds else 'not the'} label {right['Value']}"
        member, group = _noun(right), _noun(left) or _listed(left, path_of(right))
        return f"{member} is {'' if holds else 'not '}among {group}" if member and group else ""
    if not of or not what:
        return ""
    if operator == "containsAny":
        return f"one of {of} is among {what}" if holds else f"none of {of} is among {what}"
    return f"all of {of} are within {what}" if holds else f"not all of {of} are within {what}"


def _empty(_operator: str, parts: Any, holds: bool) -> str:
    noun = _noun(parts["arg"])
    return f"there are none of {noun}" if noun and holds else f"there are some of {noun}" if noun else ""


def _chosen(_operator: str, parts: Any, holds: bool) -> str:
    then, otherwise = (condition_words(parts[part], holds=holds) for part in ("then", "else"))
    return f"if {condition_words(parts['if'])}: {then}; else: {otherwise}"


def _truth(_operator: str, parts: Any, holds: bool) -> str:
    return ("always" if parts == holds else "never") if isinstance(parts, bool) else ""


_WORDS: Mapping[str, Callable[[str, Any, bool], str]] = {
    ".": _fact,
    "has": _presence,
    "!": _negation,
    "&&": _joined,
    "||": _joined,
    **dict.fromkeys(_COMPARED, _compared),
    "in": _within,
    "is": _is_type,
    **dict.fromkeys(("contains", "containsAll", "containsAny"), _contained),
    "isEmpty": _empty,
    "if-then-else": _chosen,
    "Value": _truth,
}


def _noun(form: Form, unit: str = "") -> str:
    """What a value is called; empty where it has no name."""
    if "Value" in form:
        return _value(form["Value"], unit)
    path = path_of(form)
    if path is not None:
        return NOUNS.get(path, "")
    for operator in "+-*":
        if operator in form:
            ends = [_noun(form[operator][part], unit) for part in ("left", "right")]
            return f"({ends[0]} {operator} {ends[1]})" if all(ends) else ""
    return _listed(form, None)


def _value(value: Any, unit: str) -> str:
    if isinstance(value, Mapping):
        entity = value.get("__entity", {})
        return str(entity.get("id", ""))
    if isinstance(value, int) and not isinstance(value, bool):
        return _UNITS[unit](value) if unit in _UNITS and value > 0 else str(value)
    return json.dumps(value) if isinstance(value, str) else ""


def _entity(form: Form) -> str:
    value = form.get("Value")
    return _value(value, "") if isinstance(value, Mapping) else ""


def _unit(path: AttributePath | None) -> str:
    """By the end of an attribute's name."""
    return path[-1].rpartition("_")[2] if path is not None and "_" in path[-1] else ""


def _listed(form: Form, of: AttributePath | None) -> str:
    """A set, hours and days as people write them."""
    if path_of(form) is not None:
        return NOUNS.get(path_of(form) or (), "")
    if "Set" not in form:
        return ""
    values = [one.get("Value") for one in form["Set"]]
    if of == ("context", "hours") and all(isinstance(one, int) for one in values):
        return hours_text(values) or "all hours"
    if of == ("context", "weekdays") and all(isinstance(one, int) and 1 <= one <= 7 for one in values):
        return ", ".join(_DAYS[day - 1] for day in sorted(values))
    words = [_value(one, "") for one in values]
    return ", ".join(words) if all(words) else ""
