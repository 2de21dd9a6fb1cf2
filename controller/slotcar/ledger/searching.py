"""The conditions of a search for words of owners and names."""

from __future__ import annotations

import re
from typing import Any

from sqlalchemy import ColumnElement, and_, false, func, literal_column, or_

from slotcar.ledger import schema

_entry = schema.entry.c
# The expression of the index `entry_words`, by the letter. PostgreSQL's own text search and not trigrams, which its
# contributed modules bring: the embedded server has none.
_TEXT = "owner || ' ' || name"
_WORDS: ColumnElement[Any] = literal_column(f"to_tsvector('simple', translate({_TEXT}, '-_./:@', '      '))")
_LOWER: ColumnElement[str] = literal_column(f"lower({_TEXT})")
_NO_WORD = re.compile(r"[^\w]|_")
_HANDLE = re.compile("r-[0-9a-z]{16}")


def by_index(asked: str) -> ColumnElement[bool]:
    """The condition of a search, by the index `entry_words`; a text that may be a handle is looked for as one, too.

    All words are whole ones, but the last may be unfinished. The index skips from one whole word's rows to the next, but
    for the beginning of a word it gathers every row that has one such, be they a tenth of the ledger.
    """
    query = _query(asked)
    return _or_handle(asked, _has(query)) if query else false()


def by_row(asked: str) -> ColumnElement[bool]:
    """The same condition, asked of each row: of an `IS TRUE` the planner does not use the index.

    A row that does not even contain the letters is not split into words.
    """
    query = _query(asked)
    contained = [func.strpos(_LOWER, word) > 0 for word in _words(asked)]
    return _or_handle(asked, and_(*contained, _has(query).is_(True))) if query else false()


def _query(asked: str) -> str:
    """In the language of `to_tsquery`; empty where there is no word."""
    words = _words(asked)
    return " & ".join([*(f"'{word}'" for word in words[:-1]), *(f"'{word}':*" for word in words[-1:])])


def _or_handle(asked: str, named: ColumnElement[bool]) -> ColumnElement[bool]:
    return or_(_entry.handle == asked, named) if _HANDLE.fullmatch(asked) else named


def _words(asked: str) -> list[str]:
    return _NO_WORD.sub(" ", asked.lower()).split()


def _has(query: str) -> ColumnElement[bool]:
    return _WORDS.bool_op("@@")(func.to_tsquery(literal_column("'simple'"), query))
