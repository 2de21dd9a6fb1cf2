"""Texts of verbs, read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import RFC_3339, Window, iso
from slotcar.base.units import UnitError

T = TypeVar("T")


def parsed(key: str, parse: Callable[[str], T], text: str | None) -> T | None:
    """
    Raises:
        InvalidInput: the text is wrong; it names the key.
    """
    return None if text is None else parsed_text(key, parse, text)


def parsed_text(key: str, parse: Callable[[str], T], text: str) -> T:
    """As `parsed`, of a text that is there."""
    try:
        return parse(text)
    except UnitError as error:
        raise InvalidInput([Problem("request", 0, key, error.message, error.value, error.hint)]) from error


def instant_of(key: str, text: str | None) -> datetime | None:
    """
    Raises:
        InvalidInput: it is no time with a zone.
    """
    if text is None:
        return None
    if not RFC_3339.fullmatch(text):
        hint = "such as 2027-03-01T22:00:00Z"
        raise InvalidInput([Problem("request", 0, key, "is not a time with its zone", text, hint)])
    return datetime.fromisoformat(text)


def window_of(since: datetime, until: datetime) -> Window:
    """
    Raises:
        InvalidInput: it does not end after it starts.
    """
    if until <= since:
        raise InvalidInput([Problem("query", 0, "until", "is not after `from`", iso(until), f"from is {iso(since)}")])
    return Window(since, until)


def label_of(text: str | None) -> tuple[str, str] | None:
    """The key and the value of `KEY=VALUE`; the value is empty where there is the key alone."""
    key, _, value = (text or "").partition("=")
    return (key, value) if text else None
