"""Errors that a person reads: each names the file, the line, the key, the bad value and what would be right."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from slotcar_client.wire import LINE_PATTERN as LINE_PATTERN

#: Stands for a character that cannot be shown.
_REPLACED = "\ufffd"
#: Of what came in, an answer tells so many characters.
MOST_QUOTED = 100
_LONG_WORD = re.compile(rf"\S{{{MOST_QUOTED + 1},}}")


def is_line(text: str, longest: int) -> bool:
    """Whether it is one line of at most so many characters that the ledger can keep and a terminal can show."""
    return len(text) <= longest and text.isprintable()


def printable(text: str) -> str:
    """The text with every character replaced that would end its line or steer a terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _REPLACED for c in text)


def in_one_line(text: str) -> str:
    """A message of several lines as one, in which their sentences stay apart.

    >>> in_one_line("100 Mbit/s do not fit:\\n  eth1: 10 Mbit/s free\\n  eth2: none")
    '100 Mbit/s do not fit: eth1: 10 Mbit/s free; eth2: none'
    """
    lines = [" ".join(line.split()) for line in text.split("\n") if line.strip()]
    return "; ".join(lines).replace(":; ", ": ")


def shortened(text: str, most: int = MOST_QUOTED) -> str:
    """What is told of a text that came in: all of it, or how it begins."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def with_short_words(sentence: str) -> str:
    """A sentence about what came in: a name, a path or an address in it, which no blank divides, is shortened."""
    return _LONG_WORD.sub(lambda word: shortened(word[0]), sentence)


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One thing wrong in an input, placed as exactly as the input allows.

    `file` is a path or a source's name; `line` counts from 1 and is 0 where there is none; `key` is a dotted path.
    """

    file: str
    line: int
    key: str
    message: str
    value: str = ""
    hint: str = ""

    def __post_init__(self) -> None:
        """What was read may hold line breaks, terminal codes or half characters; what is told is a line of text."""
        for name in ("key", "value"):
            object.__setattr__(self, name, shortened(getattr(self, name)))
        for name in ("message", "hint"):
            object.__setattr__(self, name, with_short_words(getattr(self, name)))
        for name in ("file", "key", "message", "value", "hint"):
            object.__setattr__(self, name, printable(getattr(self, name)))

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        subject = f"{self.key}: " if self.key else ""
        value = f" (got {self.value})" if self.value else ""
        hint = f"; {self.hint}" if self.hint else ""
        return f"{place}: {subject}{self.message}{value}{hint}"


class SlotcarError(Exception):
    """Base of every error whose message is meant for the person who caused it or must act on it."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Such errors come out of worker processes, whatever their constructors take."""
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(kind: type[SlotcarError], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> SlotcarError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error


class InvalidInput(SlotcarError):
    """One or more inputs are wrong; all of them are listed, and nothing was applied."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("\n".join(str(problem) for problem in self.problems))
