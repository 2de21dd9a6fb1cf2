"""What pydantic says of wrong data, in words for who wrote it: key, message, value and hint of each error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from slotcar.base.units import UnitError

#: The keys around a value, and its own.
Key = tuple[str, ...]
#: Pydantic's last word in the place of an error of a mapping's key, and not of its value.
KEY_ITSELF = "[key]"
#: More names than this in one sentence hide what it says.
NAMES_SHOWN = 3
#: How the types of pydantic's errors about a value's kind begin.
_KINDS = {
    "bool_": "truth value",
    "int_": "whole number",
    "string_type": "text",
    "dict_type": "mapping",
    "model_type": "mapping",
    "tuple_type": "list",
    "list_type": "list",
    "datetime_": "time",
}
_FORMS = {
    "string_pattern_mismatch": "is not of the right form",
    "string_too_short": "is too short",
    "string_too_long": "is too long",
}


@dataclass(frozen=True, slots=True)
class Words:
    """What a room says of some keys.

    Attributes:
        missing: what would be right, by key that is missing; the field's description where there is nothing.
        choices: what may be said, by key. nouns: and what that is called.
    """

    missing: Mapping[str, str] = field(default_factory=dict)
    choices: Mapping[str, type[Enum]] = field(default_factory=dict)
    nouns: Mapping[type[Enum], str] = field(default_factory=dict)


def explained(
    error: ValidationError, model: type[BaseModel], data: Mapping[str, Any], words: Words | None = None
) -> Iterator[tuple[Key, str, object, str]]:
    """What is wrong with `data`: key, message, value and hint of each error."""
    by_key: dict[Key, list[dict[str, Any]]] = {}
    for detail in error.errors(include_url=False):
        by_key.setdefault(_PlaceOfError.of(detail["loc"], model, data).key, []).append(dict(detail))
    for key, details in by_key.items():
        yield key, *_words_of(details, model, data, words or Words())


def nearest(name: str, names: Sequence[str]) -> str:
    """A hint: the nearest known name, among near ones the one that begins so; or what there is."""
    close = get_close_matches(name, names, cutoff=0.6)
    if close:
        best = next((one for one in close if one.startswith(name)), close[0])
        return f"did you mean `{best}`?"
    return f"there is {listed(names, 2 * NAMES_SHOWN)}" if names else "there is none"


def listed(names: Sequence[str], most: int = NAMES_SHOWN) -> str:
    unique = sorted(set(names))
    rest = len(unique) - most
    return ", ".join(unique) if rest <= 0 else f"{', '.join(unique[:most])} and {rest} more"


def limit_of(detail: Mapping[str, Any]) -> str:
    """What would be right of a text that is too long, too short or of another form."""
    limits = detail.get("ctx", {})
    for key, words in (("max_length", "at most"), ("min_length", "at least")):
        if key in limits:
            return f"{words} {limits[key]} character{'' if limits[key] == 1 else 's'}"
    return f"it matches `{limits['pattern']}`" if "pattern" in limits else ""


def sentence_of(detail: Mapping[str, Any]) -> str:
    """Pydantic's own, as the rest of a line."""
    message = str(detail["msg"])
    return message[0].lower() + message[1:]


def _words_of(
    details: Sequence[Mapping[str, Any]], model: type[BaseModel], data: Mapping[str, Any], words: Words
) -> tuple[str, object, str]:
    """Message, value and hint of what pydantic says of one key.

    It says more than one thing where a value may be of several kinds and is of none.
    """
    detail = details[0]
    kind, value, last = detail["type"], detail["input"], str(detail["loc"][-1]) if detail["loc"] else ""
    kinds = [noun for one in details for begin, noun in _KINDS.items() if one["type"].startswith(begin)]
    if kind in ("missing", "extra_forbidden"):
        around = _PlaceOfError.of(detail["loc"][:-1], model, data)
        fields = around.model.model_fields
        if kind == "missing":
            described = fields.get(last)
            return "is missing", "", words.missing.get(last) or (described and described.description) or ""
        names = [name for name in fields if name not in around.data] or list(fields)
        return "is no key that is known here", "", nearest(last, names)
    choices = words.choices.get(last)
    if kind == "enum" and choices is not None:
        return f"is no {words.nouns[choices]}", value, f"say one of {', '.join(str(choice) for choice in choices)}"
    if kinds:
        return f"is no {' or '.join(dict.fromkeys(kinds))}", value, ""
    return _own_words(detail)


def _own_words(detail: Mapping[str, Any]) -> tuple[str, object, str]:
    """Of an error that one of our validators raised, or that needs hardly other words than pydantic's."""
    value, context = detail["input"], detail.get("ctx", {})
    cause = context.get("error")
    if isinstance(cause, UnitError):
        return cause.message, cause.value, cause.hint
    if cause is not None:
        return str(cause), value, ""
    if "expected" in context:
        return "is not known here", value, f"say {context['expected']}"
    if detail["type"] in _FORMS:
        return _FORMS[detail["type"]], value, limit_of(detail)
    return sentence_of(detail), value, ""


@dataclass(frozen=True, slots=True)
class _PlaceOfError:
    """Where an error is: its key, the innermost model around it, and what was given for that."""

    key: Key
    model: type[BaseModel]
    data: Mapping[str, Any]

    @classmethod
    def of(cls, loc: Sequence[str | int], model: type[BaseModel], data: Mapping[str, Any]) -> _PlaceOfError:
        """Descends from the outermost model; the arm of a union and the mark of a key are no keys."""
        key: list[str] = []
        annotation, value = model, data  # type: Any, Any
        for part in loc:
            arms = _arms(annotation)
            if len(arms) > 1:
                annotation = next((arm for arm in arms if getattr(arm, "__name__", "") == part), None)
            elif part != KEY_ITSELF:
                key.append(str(part))
                annotation, value = _below(arms[0], part), _part_of(value, part)
            if _is_model(only := _arms(annotation)[0]) and isinstance(value, Mapping):
                model, data = only, value
        return cls(tuple(key), model, data)


def _arms(annotation: Any) -> tuple[Any, ...]:
    """The types that a value may be of, beside none at all."""
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation = get_args(annotation)[0]
        elif origin in (Union, UnionType):
            arms = tuple(arm for arm in get_args(annotation) if arm is not type(None))
            if len(arms) != 1:
                return arms
            annotation = arms[0]
        else:
            return (annotation,)


def _below(annotation: Any, part: str | int) -> Any:
    """The type of a part of a value: of a model's field, or of the elements of a list or a mapping."""
    if _is_model(annotation):
        fields: Mapping[str, FieldInfo] = annotation.model_fields
        return fields[str(part)].annotation if part in fields else None
    elements = [one for one in get_args(annotation) if one is not Ellipsis]
    return elements[-1] if elements else None


def _part_of(value: Any, part: str | int) -> Any:
    if isinstance(value, Mapping):
        return value.get(part)
    is_element = isinstance(value, list | tuple) and isinstance(part, int) and part < len(value)
    return value[part] if is_element else None


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
