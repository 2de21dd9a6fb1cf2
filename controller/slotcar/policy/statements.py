"""Divides a text of Cedar into its policies, each with the line at which it begins: Cedar itself names no line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from slotcar.base.texts import lines_of

#: Texts and comments, in which a semicolon ends nothing.
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|;', re.DOTALL)
_BLANK = re.compile(r"(?:\s|//[^\n]*)*")


@dataclass(frozen=True, slots=True)
class Source:
    """A text of policies, and the name of its file."""

    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One policy as it is written. `line` counts from 1."""

    file: str
    line: int
    text: str

    def line_of(self, word: str) -> int:
        """The line on which the word stands, where it stands on one line alone; else the first line."""
        lines = [
            at for at, text in enumerate(lines_of(self.text)) if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text)
        ]
        return self.line + (lines[0] if len(lines) == 1 else 0)


def statements_of(source: Source) -> Iterator[Statement]:
    """The policies of a text in their order; what follows the last semicolon is one too, unless it is blank."""
    start = 0
    for token in _TOKEN.finditer(source.text):
        if token[0] == ";":
            yield _statement(source, start, token.end())
            start = token.end()
    if _after_blank(source.text, start) < len(source.text):
        yield _statement(source, start, len(source.text))


def _statement(source: Source, start: int, end: int) -> Statement:
    first = _after_blank(source.text, start)
    return Statement(source.file, source.text.count("\n", 0, first) + 1, source.text[first:end])


def _after_blank(text: str, start: int) -> int:
    blank = _BLANK.match(text, start)
    return blank.end() if blank else start
