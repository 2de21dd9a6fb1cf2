"""Whether a platform's table holds every line of a text, without a router."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from slotcar.base.texts import lines_of
from slotcar_lab.ios.grammar.table import TOP, ParsedLine, Refusal, Rule, load


@dataclass(frozen=True, slots=True)
class Problem:
    """`number` is the line's, from 1; `column` that of the word that cannot be, from 1."""

    number: int
    line: str
    column: int
    why: str

    def __str__(self) -> str:
        return f"line {self.number}, column {self.column}: {self.why}: {self.line.strip()}"


def check(platform: str, text: str, *, operators: bool = False) -> list[Problem]:
    """What of a text in configuration mode the platform's table does not hold.

    Keywords must be spelt out: an abbreviated line never equals what the router prints.

    Args:
        platform: such as `cisco-car`.
        operators: also take the lines of an operator, which Slotcar does not write.
    Raises:
        ValueError: no such platform.
    """
    grammar = load(platform)
    modes = [TOP]
    problems = []
    for number, line in enumerate(lines_of(text), 1):
        words = line.split()
        if not words or words[0].startswith("!") or words == ["end"]:
            modes = [TOP] if words == ["end"] else modes
            continue
        if words == ["exit"]:
            modes = modes[1:] or [TOP]
            continue
        parsed = grammar.resolve(modes, words, abbreviations=False)
        why, word = _refusal(parsed, operators, len(words))
        if why:
            problems.append(Problem(number, line, column_of(line, word), why))
        if isinstance(parsed, ParsedLine):
            modes = modes[modes.index(parsed.mode) :]
            if parsed.entry.rule.enters and not parsed.negative:
                modes = [parsed.entry.rule.enters, *modes]
    return problems


def refused(platform: str, modes: Iterable[str], lines: Iterable[str]) -> list[str]:
    """Those of a section's lines that the table of its modes, innermost first, does not hold."""
    grammar = load(platform)
    inside = list(modes)
    return [
        line
        for line in lines
        if _refusal(grammar.resolve(inside, line.split(), abbreviations=False), False, len(line.split()))[0]
    ]


def _refusal(parsed: ParsedLine | Refusal, operators: bool, count: int) -> tuple[str, int]:
    """Why a line is refused and the index of the word; an empty reason where it is not."""
    if isinstance(parsed, Refusal):
        if parsed.word < 0:
            return f"incomplete; here {_listed(parsed.expected)} may stand", count
        here = f"; here {_listed(parsed.expected)} may stand" if parsed.expected else ""
        return f"not in the table of this mode or of those around it{here}", parsed.word
    if parsed.entry.rule.kept and not operators:
        return "a line of an operator's, which Slotcar does not write", 0
    too_small = below(parsed)
    return (too_small, 0) if too_small and not parsed.negative else ("", 0)


def below(parsed: ParsedLine) -> str:
    """What is too small beside another of the line's values; empty where all is well."""
    rule: Rule = parsed.entry.rule
    for least in rule.at_least:
        what, of = parsed.captures.get(least.what), parsed.captures.get(least.of)
        if what and of and int(what) * least.divided_by < int(of):
            share = f" / {least.divided_by}" if least.divided_by > 1 else ""
            return f"{least.what} {what} is less than {least.of} {of}{share}"
    return ""


def column_of(line: str, word: int) -> int:
    """The column, from 1, at which a word begins; the end of the line where it has fewer."""
    at = 0
    for index, given in enumerate(line.split()):
        at = line.index(given, at)
        if index == word:
            return at + 1
        at += len(given)
    return len(line) + 1


def _listed(expected: tuple[str, ...]) -> str:
    return " or ".join(expected[:8]) + (" or more" if len(expected) > 8 else "")
