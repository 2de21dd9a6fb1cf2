"""The commands of EXEC mode, by their patterns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from slotcar_lab.ios.configuration import Answer, Kind
from slotcar_lab.ios.grammar import load
from slotcar_lab.ios.grammar.pattern import Attempt, Match, Pattern, compile_pattern
from slotcar_lab.ios.terminal import Terminal

#: From the session and the pattern's captures to what is printed.
Run = Callable[[Terminal, dict[str, str]], Awaitable[str | None]]

#: Interfaces have the same names on every platform.
_INTERFACES = load("cisco-car").interfaces


@dataclass(frozen=True, slots=True)
class Command:
    """`level` is the least privilege that may run it."""

    pattern: Pattern
    run: Run
    level: int


COMMANDS: list[Command] = []


def command(*patterns: str, level: int = 15) -> Callable[[Run], Run]:
    def register(run: Run) -> Run:
        COMMANDS.extend(Command(compile_pattern(text, {}, _INTERFACES), run, level) for text in patterns)
        return run

    return register


def match_all(attempt: Attempt, level: int) -> list[tuple[Command, Match]]:
    """Every command that a line can be."""
    matches = []
    for each in COMMANDS:
        if each.level <= level and (match := each.pattern.match(attempt)):
            matches.append((each, match))
    return matches


def find(words: list[str], level: int) -> tuple[Command, Match] | Answer:
    """The command that a line is, with most keywords in full, or why it is none."""
    attempt = Attempt(words)
    matches = match_all(attempt, level)
    if not matches:
        return Answer(Kind.INCOMPLETE) if attempt.incomplete else Answer(Kind.INVALID, word=attempt.furthest)
    best = max(matches, key=lambda one: one[1].exact)
    rivals = [match for _, match in matches if match.exact == best[1].exact]
    if any(match.words != best[1].words for match in rivals) and best[1].exact < best[1].keywords:
        return Answer(Kind.AMBIGUOUS)
    return best
