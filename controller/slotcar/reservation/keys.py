"""The keys of one mapping that people wrote: each is read by itself, so that every mistake is found in one pass."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from slotcar.base.model_errors import limit_of, sentence_of
from slotcar.base.problems import shortened
from slotcar.base.units import UnitError, likely_quantity
from slotcar.reservation.model import Hint

T = TypeVar("T")
#: `complain(key, message, value, hint)` notes a problem at a key of the mapping.
Complain = Callable[[str, str, str, str], None]


class Mistakes(ValueError):
    """What is wrong with a value that has several parts: where below its key, message, value and hint of each."""

    def __init__(self, *wrong: tuple[str, str, object, str]) -> None:
        self.wrong = wrong
        super().__init__("; ".join(f"{below}: {message}" for below, message, _, _ in wrong))


@dataclass(slots=True)
class Keys:
    """Every mistake goes to `complain`, and none stops the others from being found; `failed` has the wrong keys."""

    data: Mapping[str, Any]
    complain: Complain
    now: datetime
    failed: set[str] = field(default_factory=set)

    def wrong(self, key: str, message: str, value: object = "", hint: str = "") -> None:
        self.failed.add(key)
        self.complain(key, message, value_text(value), hint)

    def required(self, key: str, hint: str) -> Any:
        value = self.data.get(key)
        if value is None:
            self.wrong(key, "is missing", "", hint)
        return value

    def field(self, key: str, field: FieldInfo) -> Any:
        """What a field of a model reads from the key: its default where there is none, None where it is wrong."""
        value = self.data.get(key)
        if value is None:
            if field.is_required():
                self.wrong(key, "is missing", "", _hint(field))
                return None
            return field.get_default(call_default_factory=True, validated_data={})
        try:
            return _adapter(field).validate_python(value)
        except ValidationError as error:
            for detail in error.errors(include_url=False):
                for below, message, wrong, hint in _explained(dict(detail), key, field):
                    self.wrong(f"{key}{below}", message, wrong, hint)
        except UnicodeError:  # half a character, which pydantic cannot compare with an enumeration's texts
            self.wrong(key, f"is no {key}", value, _hint(field))
        return None

    def unit(self, key: str, parse: Callable[[Any], T], default: T | None = None) -> T | None:
        value = self.data.get(key)
        if value is None:
            return default
        try:
            return parse(value)
        except UnitError as error:
            self.wrong(key, error.message, error.value if isinstance(value, str) else value, error.hint)
            return None


def _explained(detail: dict[str, Any], key: str, field: FieldInfo) -> Iterator[tuple[str, str, object, str]]:
    """One error of pydantic's in words: where below the key, message, value, hint."""
    value, cause, hint = detail["input"], detail.get("ctx", {}).get("error"), _hint(field)
    below = "".join(f".{part}" for part in detail["loc"])
    if isinstance(cause, Mistakes):
        yield from cause.wrong
    elif isinstance(cause, UnitError):
        yield below, cause.message, cause.value if isinstance(value, str) else value, cause.hint
    elif choices := _choices(field):
        close = get_close_matches(str(value).lower(), choices, n=1, cutoff=0.7)
        yield below, f"is no {key}", value, f"did you mean `{close[0]}`? {hint}" if close else hint
    elif detail["type"] == "string_type" and isinstance(value, int | float):
        yield below, f"is no {key}", value, "quote it, so that it is text"
    else:
        yield below, f"is no {key}", value, hint or _limit(detail)


def _limit(detail: dict[str, Any]) -> str:
    """What would be right of a field that says nothing of its own."""
    if detail["type"].startswith("string_"):
        return limit_of(detail) or "say one line of text"
    return sentence_of(detail)


def _choices(field: FieldInfo) -> list[str]:
    kind = field.annotation
    return [str(one) for one in kind] if isinstance(kind, type) and issubclass(kind, StrEnum) else []


def _hint(field: FieldInfo) -> str:
    """What would be right: as the field says, or one of its choices."""
    hint = next((one.text for one in field.metadata if isinstance(one, Hint)), "")
    choices = _choices(field)
    return hint or (f"say one of {', '.join(choices)}" if choices else "")


_ADAPTERS: dict[int, TypeAdapter[Any]] = {}


def _adapter(field: FieldInfo) -> TypeAdapter[Any]:
    """Fields are made once, with their classes."""
    if id(field) not in _ADAPTERS:
        _ADAPTERS[id(field)] = TypeAdapter(Annotated[field.annotation, field])  # type: ignore[arg-type]
    return _ADAPTERS[id(field)]


def with_unit(parse: Callable[[Any], T], unit: str) -> Callable[[Any], T]:
    """A bare number has no unit, and a wrong guess is a wrong router configuration."""

    def parse_text(value: Any) -> T:
        if not isinstance(value, str):
            bare = isinstance(value, int | float) and not isinstance(value, bool)
            hint = (
                f"did you mean `{likely_quantity(value_text(value), unit)}`?"
                if bare
                else f"say a text such as `36 {unit}`"
            )
            raise UnitError("has no unit" if bare else "is no quantity", value, hint)
        return parse(value)

    return parse_text


def value_text(value: object) -> str:
    """A value as it may have been written, on one line, not too long."""
    if value is None or value == "":
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    return shortened(text, 60)
