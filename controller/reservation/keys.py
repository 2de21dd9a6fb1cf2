"""The keys of one mapping that people wrote: each is read by itself, so that every mistake is found in one pass."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, TypeVar

from controller.units import UnitError

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)
#: `complain(key, message, value, hint)` notes a problem at a key of the mapping.
Complain = Callable[[str, str, str, str], None]


@dataclass(slots=True)
class Keys:
    """Every mistake goes to `complain`, and none stops the others from being found; `failed` has the wrong keys."""

    data: Mapping[str, Any]
    complain: Complain
    now: datetime
    failed: set[str] = field(default_factory=set)

    def wrong(self, key: str, message: str, value: object = "", hint: str = "") -> None:
        self.failed.add(key)
        self.complain(key, message, shown(value), hint)

    def required(self, key: str, hint: str) -> Any:
        value = self.data.get(key)
        if value is None:
            self.wrong(key, "is missing", "", hint)
        return value

    def text(self, key: str, pattern: re.Pattern[str], rule: str) -> str | None:
        value = self.required(key, rule)
        if value is not None and not (isinstance(value, str) and pattern.fullmatch(value)):
            hint = "quote it, so that it is text" if isinstance(value, int | float) else rule
            self.wrong(key, f"is no {key}", value, hint)
        return value if isinstance(value, str) else None

    def enum(self, key: str, kind: type[E], default: E | None) -> E | None:
        choices = [str(one) for one in kind]
        hint = f"say one of {', '.join(choices)}"
        value = self.data.get(key) if default is not None else self.required(key, hint)
        if value is None:
            return default
        if value in choices:
            return kind(value)
        close = get_close_matches(str(value).lower(), choices, n=1, cutoff=0.7)
        self.wrong(key, f"is no {key}", value, f"did you mean `{close[0]}`? {hint}" if close else hint)
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


def with_unit(parse: Callable[[Any], T], unit: str) -> Callable[[Any], T]:
    """A bare number has no unit, and a wrong guess is a wrong router configuration."""

    def parse_text(value: Any) -> T:
        if not isinstance(value, str):
            bare = isinstance(value, int | float) and not isinstance(value, bool)
            hint = f"did you mean `{shown(value)} {unit}`?" if bare else f"say a text such as `36 {unit}`"
            raise UnitError("has no unit" if bare else "is no quantity", value, hint)
        return parse(value)

    return parse_text


def shown(value: object) -> str:
    """A value as it may have been written, on one line, not too long."""
    if value is None or value == "":
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = " ".join(text.split())
    return text if len(text) <= 60 else f"{text[:57]}..."
