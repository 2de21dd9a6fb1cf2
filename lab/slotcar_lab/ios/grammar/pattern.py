"""The language in which a grammar's tables write a command, and its matching against a line's words.

    police cir <cir:8000-10000000000> bc <bc:1000-512000000> [pir <pir:8000-10000000000>] conform-action $action

A word stands for itself, `<name:LOW-HIGH>` for an integer (`/STEP`: in steps), `<name:kind>` for a word of a kind
(`line/100`: all that is left, of 100 letters at most), `<name:a|b>` for one of these words (`<name:=a>` for one),
`{a|b}` for one of several, `[x]` for an optional part, `+` for one or more of what stands before it, `$name` for
another pattern. As a router does, a matcher takes a keyword's beginning for the keyword where it is allowed to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

_TOKEN = re.compile(r"<[^>]+>\+?|\$[a-z0-9-]+\+?|[\[\]|{]|}\+?|[^\s\[\]{}|<$]+")
_RANGE = re.compile(r"(\d+)-(\d+)(?:/(\d+))?")
_DOTTED = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")


@dataclass(frozen=True, slots=True)
class Match:
    """`words` are canonical: keywords spelt out. `exact` counts the keywords that were given in full."""

    at: int = 0
    words: tuple[str, ...] = ()
    captures: tuple[tuple[str, str], ...] = ()
    exact: int = 0
    keywords: int = 0

    def taking(self, *words: str, count: int = 1, name: str = "") -> Match:
        captures = (*self.captures, (name, " ".join(words))) if name else self.captures
        return Match(self.at + count, (*self.words, *words), captures, self.exact, self.keywords)

    def keyword(self, word: str, given: str) -> Match:
        exact = self.exact + (given.lower() == word.lower())
        return Match(self.at + 1, (*self.words, word), self.captures, exact, self.keywords + 1)


@dataclass(slots=True)
class Attempt:
    """One line that is matched, and how far any pattern came with it."""

    words: list[str]
    abbreviations: bool = True
    furthest: int = 0
    expected: list[str] = field(default_factory=list)

    def miss(self, at: int, expected: str) -> None:
        if at > self.furthest:
            self.furthest, self.expected = at, []
        if at == self.furthest and expected not in self.expected:
            self.expected.append(expected)

    @property
    def incomplete(self) -> bool:
        return self.furthest >= len(self.words)


Step = Callable[[Attempt, Match], Iterator[Match]]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern, ready to match."""

    text: str
    step: Step
    #: Keywords that a line can begin with; none where it begins with anything.
    first: frozenset[str]

    def match(self, attempt: Attempt) -> Match | None:
        """The best way in which the pattern holds the whole line: the one with most keywords in full."""
        best: Match | None = None
        for match in self.step(attempt, Match()):
            if match.at < len(attempt.words):
                attempt.miss(match.at, "<cr>")
            elif best is None or match.exact > best.exact:
                best = match
        return best


def compile_pattern(text: str, parts: Mapping[str, str], interfaces: tuple[str, ...] = ()) -> Pattern:
    """
    Args:
        parts: what each `$name` stands for.
        interfaces: the types of interfaces, such as `FastEthernet`.
    Raises:
        ValueError: the pattern is malformed.
    """
    tokens = _TOKEN.findall(_with_parts(text, parts))
    builder = _Builder(tokens, interfaces)
    step = builder.sequence()
    if builder.at < len(tokens):
        raise ValueError(f"unbalanced brackets in the pattern: {text}")
    return Pattern(text, step, frozenset(_first_words(_with_parts(text, parts))))


def _with_parts(text: str, parts: Mapping[str, str], depth: int = 0) -> str:
    if depth > 9:
        raise ValueError(f"a part of a pattern holds itself: {text}")

    def part(name: re.Match[str]) -> str:
        if name[1] not in parts:
            raise ValueError(f"no part ${name[1]} for the pattern: {text}")
        return f"{{{_with_parts(parts[name[1]], parts, depth + 1)}}}"

    return re.sub(r"\$([a-z0-9-]+)", part, text)


def _first_words(text: str) -> set[str]:
    tokens = _TOKEN.findall(text)
    if tokens and tokens[0] == "{":
        keywords: set[str] = set()
        depth, fresh = 0, True
        for token in tokens:
            depth += (token in "[{") - (token.rstrip("+") in "]}")
            if depth == 0:
                return keywords
            if fresh and token not in "[{":
                if token.startswith("<"):
                    return set()
                keywords.add(token.lower())
            fresh = token == "|" or (fresh and token == "{")
    return {tokens[0].lower()} if tokens and tokens[0][0] not in "<[{" else set()


class _Builder:
    """Recursive descent over a pattern's tokens."""

    def __init__(self, tokens: list[str], interfaces: tuple[str, ...]) -> None:
        self.tokens = tokens
        self.interfaces = interfaces
        self.at = 0

    def sequence(self) -> Step:
        steps: list[Step] = []
        while self.at < len(self.tokens) and self.tokens[self.at].rstrip("+") not in ("]", "}", "|"):
            steps.append(self.one())
        return _in_sequence(steps)

    def one(self) -> Step:
        token = self.tokens[self.at]
        self.at += 1
        if token in ("[", "{"):
            closing = "]" if token == "[" else "}"
            options = [self.sequence()]
            while self.at < len(self.tokens) and self.tokens[self.at] == "|":
                self.at += 1
                options.append(self.sequence())
            if self.at >= len(self.tokens) or self.tokens[self.at].rstrip("+") != closing:
                raise ValueError(f"no {closing} in the pattern: {' '.join(self.tokens)}")
            many = self.tokens[self.at].endswith("+")
            self.at += 1
            step = _one_of(options)
            return _optional(step) if token == "[" else _repeated(step) if many else step
        if token.startswith("<"):
            step = self.parameter(token.rstrip("+")[1:-1])
            return _repeated(step) if token.endswith("+") else step
        return _keyword(token)

    def parameter(self, text: str) -> Step:
        name, _, kind = text.partition(":")
        if limits := _RANGE.fullmatch(kind):
            return _number(name, int(limits[1]), int(limits[2]), int(limits[3] or 1))
        if kind.partition("/")[0] == "line":
            return _rest(name, int(kind.partition("/")[2] or 0))
        if kind == "interface":
            return _interface(name, self.interfaces)
        if "|" in kind or kind.startswith("="):
            return _choice(name, kind.removeprefix("=").split("|"))
        if kind in _KINDS:
            return _word(name, kind)
        raise ValueError(f"no kind of parameter: <{text}>")


_KINDS: dict[str, Callable[[str], bool]] = {
    "word": lambda word: True,
    "name": lambda word: not word.isdecimal(),
    "address": lambda word: bool(_DOTTED.fullmatch(word)) and all(int(part) < 256 for part in word.split(".")),
    "file": lambda word: True,
}


def _in_sequence(steps: list[Step]) -> Step:
    def run(attempt: Attempt, match: Match, done: int = 0) -> Iterator[Match]:
        if done == len(steps):
            yield match
            return
        for after in steps[done](attempt, match):
            yield from run(attempt, after, done + 1)

    return run


def _one_of(options: list[Step]) -> Step:
    def run(attempt: Attempt, match: Match) -> Iterator[Match]:
        for option in options:
            yield from option(attempt, match)

    return run


def _optional(step: Step) -> Step:
    def run(attempt: Attempt, match: Match) -> Iterator[Match]:
        yield from step(attempt, match)
        yield match

    return run


def _repeated(step: Step) -> Step:
    def run(attempt: Attempt, match: Match) -> Iterator[Match]:
        for after in step(attempt, match):
            yield from run(attempt, after)
            yield after

    return run


def _keyword(word: str) -> Step:
    lower = word.lower()

    def run(attempt: Attempt, match: Match) -> Iterator[Match]:
        given = attempt.words[match.at].lower() if match.at < len(attempt.words) else ""
        if given == lower or (given and attempt.abbreviations and lower.startswith(given)):
            yield match.keyword(word, given)
        else:
            attempt.miss(match.at, word)

    return run


def _choice(name: str, words: list[str]) -> Step:
    def run(attempt: Attempt, match: Match) -> Iterator[Match]:
        for word in words:
            for after in _keyword(word)(attempt, match):
                yield replace(after, captures=(*after.captures, (name, word)))

    return run


def _number(name: str, low: int, high: int, step: int) -> Step:
    expected = f"<{low}-{high}>" if step == 1 else f"<{low}-{high}> in steps of {step}"

    def run(attempt: Attempt, match: Match) -> Iterator[Match]:
        given = attempt.words[match.at] if match.at < len(attempt.words) else ""
        if given.isascii() and given.isdecimal() and low <= int(given) <= high and int(given) % step == 0:
            yield match.taking(str(int(given)), name=name)
        else:
            attempt.miss(match.at, expected)

    return run


def _word(name: str, kind: str) -> Step:
    holds = _KINDS[kind]

    def run(attempt: Attempt, match: Match) -> Iterator[Match]:
        if match.at < len(attempt.words) and holds(attempt.words[match.at]):
            yield match.taking(attempt.words[match.at], name=name)
        else:
            attempt.miss(match.at, f"<{kind}>")

    return run


def _rest(name: str, longest: int) -> Step:
    def run(attempt: Attempt, match: Match) -> Iterator[Match]:
        rest = attempt.words[match.at :]
        if rest and (not longest or len(" ".join(rest)) <= longest):
            yield match.taking(*rest, count=len(rest), name=name)
        else:
            attempt.miss(match.at, "LINE")

    return run


def _interface(name: str, types: tuple[str, ...]) -> Step:
    """`FastEthernet4/0/0`, `fa4/0/0` and `FastEthernet 4/0/0` are one interface."""

    def run(attempt: Attempt, match: Match) -> Iterator[Match]:
        given = attempt.words[match.at] if match.at < len(attempt.words) else ""
        interface = re.fullmatch(r"([A-Za-z-]+)([\d./:]*)", given)
        number, count = (interface[2], 1) if interface else ("", 0)
        if interface and not number and match.at + 1 < len(attempt.words):
            number, count = attempt.words[match.at + 1], 2
        if interface and re.fullmatch(r"\d[\d./:]*", number):
            full = [kind for kind in types if kind.lower() == interface[1].lower()]
            short = [kind for kind in types if kind.lower().startswith(interface[1].lower())]
            if full or (short and attempt.abbreviations):
                yield match.taking((full or short)[0] + number, count=count, name=name)
                return
        attempt.miss(match.at, "<interface>")

    return run
