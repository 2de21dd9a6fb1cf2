"""The conditions of a search for words of owners and names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, false, func, literal_column, or_

from slotcar.store import schema

_entry = schema.entry.c
# The expression of the index `entry_words`, by the letter. PostgreSQL's own text search and not trigrams, which its
# contributed modules bring: the embedded server has none.
_TEXT = "owner || ' ' || name"
_WORDS: ColumnElement[Any] = literal_column(f"to_tsvector('simple', translate({_TEXT}, '-_./:@', '      '))")
_LOWER: ColumnElement[str] = literal_column(f"lower({_TEXT})")
_NO_WORD = re.compile(r"[^\w]|_")
_HANDLE = re.compile("r-[0-9a-z]{16}")


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the words of a search: their condition by the index, and that of the other words asked of each row."""

    by_index: ColumnElement[bool]
    rest_by_row: ColumnElement[bool]


def is_handle(text: str) -> bool:
    """Whether the text may be a handle, and is looked for as one, too."""
    return _HANDLE.fullmatch(text) is not None


def by_index(text: str) -> ColumnElement[bool]:
    """The condition of a search, by the index `entry_words`. All words are whole ones, but the last may be unfinished."""
    words = _words(text)
    return _or_handle(text, _has(words[:-1], words[-1:])) if words else false()


def by_row(text: str) -> ColumnElement[bool]:
    """The same condition, asked of each row: of an `IS TRUE` the planner does not use the index."""
    words = _words(text)
    return _or_handle(text, _has_by_row(words[:-1], words[-1:])) if words else false()


def parts(text: str) -> Sequence[Part]:
    """The whole words, and the last one that may be unfinished; none where the text has fewer than two words, or may be a
    handle."""
    words = _words(text)
    if len(words) < 2 or is_handle(text):
        return ()
    whole, last = words[:-1], words[-1:]
    return Part(_has(whole, ()), _has_by_row((), last)), Part(_has((), last), _has_by_row(whole, ()))


def _has_by_row(whole: Sequence[str], beginnings: Sequence[str]) -> ColumnElement[bool]:
    """A row that does not even contain the letters is not split into words."""
    contained = [func.strpos(_LOWER, word) > 0 for word in (*whole, *beginnings)]
    return and_(*contained, _has(whole, beginnings).is_(True))


def _or_handle(text: str, named: ColumnElement[bool]) -> ColumnElement[bool]:
    return or_(_entry.handle == text, named) if is_handle(text) else named


def _words(text: str) -> list[str]:
    return _NO_WORD.sub(" ", text.lower()).split()


def _has(whole: Sequence[str], beginnings: Sequence[str]) -> ColumnElement[bool]:
    query = " & ".join([*(f"'{word}'" for word in whole), *(f"'{word}':*" for word in beginnings)])
    return _WORDS.bool_op("@@")(func.to_tsquery(literal_column("'simple'"), query))
