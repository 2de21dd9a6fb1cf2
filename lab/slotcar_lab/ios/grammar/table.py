"""A platform's table: which lines its command line takes, in which mode, and what each does to the configuration."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, Field

from slotcar_lab.ios.grammar.pattern import Attempt, Match, Pattern, compile_pattern

FOLDER = Path(__file__).parent
PLATFORMS = tuple(sorted(path.stem for path in FOLDER.glob("cisco-*.yml")))
TOP = "global"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Mode(_Model):
    """`prompt` stands between the parentheses; `indent` blanks before the mode's lines are printed.
    A mode with `catch_all` keeps lines that nothing else knows."""

    prompt: str
    parent: str = TOP
    indent: int = 1
    catch_all: bool = False


class AtLeast(_Model):
    """`what` must be `of` divided by `divided_by` or more, as a burst of CAR must be the rate / 2000 (`rate-limit`)."""

    what: str
    of: str
    divided_by: int = 1


class Rule(_Model):
    """What one line does: `common.yml` tells each key. Texts in braces are filled with the line's parameters."""

    mode: str
    line: str
    source: str = ""
    #: What a later line with the same key replaces; the whole line where it says nothing.
    key: str = ""
    enters: str = ""
    place: int = 50
    #: Lines of one group keep the order in which they came, and are replaced together.
    ordered: str = ""
    #: Lines that the `no` form of any takes with it.
    group: str = ""
    no_takes_group: bool = False
    negated: tuple[str, ...] = ()
    #: An operator's line, which is kept as given and which Slotcar does not write.
    kept: bool = False
    #: The `no` form is a line of the configuration itself.
    keeps_no: bool = False
    sorted_by: str = ""
    #: Lines that say what holds anyway: IOS does not print them.
    defaults: tuple[str, ...] = ()
    at_least: tuple[AtLeast, ...] = ()
    #: Kind and name of the object that the line makes, or that it needs.
    makes: str = ""
    needs: str = ""
    missing: str = ""
    used: str = ""
    #: Keys of which one must be in the same section, and keys that must not.
    after: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    once: str = ""
    sum_key: str = ""
    sum_of: str = ""
    sum_limit: int = 0
    too_much: str = ""
    special: str = ""


class Table(_Model):
    """One YAML file."""

    title: str
    extends: tuple[str, ...] = ()
    modes: dict[str, Mode] = Field(default_factory=dict)
    parts: dict[str, str] = Field(default_factory=dict)
    interfaces: tuple[str, ...] = ()
    #: Interface types that a line can make; the others are hardware.
    logical: tuple[str, ...] = ()
    #: How IOS prints a word: its names by the words before it.
    names: dict[str, dict[str, str]] = Field(default_factory=dict)
    facts: dict[str, str] = Field(default_factory=dict)
    lines: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A rule with its patterns compiled."""

    rule: Rule
    pattern: Pattern
    negative: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """A line that a table holds: its canonical text without `no`, and its parameters."""

    entry: Entry
    mode: str
    text: str
    captures: Mapping[str, str]
    negative: bool = False
    #: The whole line, not only the short `no` form, was given.
    whole: bool = True

    @property
    def key(self) -> str:
        return self.fill(self.entry.rule.key) if self.entry.rule.key else self.text

    def fill(self, template: str) -> str:
        return template.format_map(_Absent(self.captures))


@dataclass(frozen=True, slots=True)
class Refusal:
    """No table's line: `word` is the index of the first word that cannot be, -1 where more words are wanted."""

    word: int
    expected: tuple[str, ...] = ()
    ambiguous: bool = False


class _Absent(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return ""


@dataclass(slots=True)
class Grammar:
    """A platform's table, with those that it extends, ready to match lines."""

    platform: str
    modes: dict[str, Mode] = field(default_factory=dict)
    names: dict[str, dict[str, str]] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)
    logical: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    entries: dict[str, list[Entry]] = field(default_factory=dict)

    def find(self, mode: str, words: Iterable[str], *, abbreviations: bool = True) -> ParsedLine | Refusal:
        """The line of one mode's table, the mode's parents left aside.

        Where several patterns hold the line, the one with most keywords in full is meant.
        """
        words = list(words)
        negative = bool(words) and words[0] == "no"
        attempt = Attempt(words[1:] if negative else words, abbreviations)
        best: list[tuple[Match, Entry, bool]] = []
        for entry in self._candidates(mode, attempt.words, abbreviations):
            for number, pattern in enumerate((entry.pattern, *(entry.negative if negative else ()))):
                match = pattern.match(attempt)
                if match and (not best or match.exact > best[0][0].exact):
                    best = [(match, entry, number == 0)]
                elif match and match.exact == best[0][0].exact:
                    best.append((match, entry, number == 0))
        if not best:
            return Refusal(-1 if attempt.incomplete else attempt.furthest + negative, tuple(attempt.expected))
        # One line in two tables is the first's; two lines of which the words are the beginning are ambiguous.
        match, entry, whole = best[0]
        if any(other.words != match.words for other, _, _ in best) and match.exact < match.keywords:
            return Refusal(0, ambiguous=True)
        text = " ".join(self._named(match.words))
        return ParsedLine(entry, mode, text, dict(match.captures), negative, whole)

    def resolve(
        self, modes: Iterable[str], words: Iterable[str], *, abbreviations: bool = True
    ) -> ParsedLine | Refusal:
        """The line in the first of several modes, innermost first, that holds it.

        A line that the current mode does not know ends it and is the parent's; only what no mode knows is left to
        the current mode's `catch_all`.
        """
        words = list(words)
        modes = list(modes)
        refusals = []
        for mode in modes:
            parsed = self.find(mode, words, abbreviations=abbreviations)
            if isinstance(parsed, ParsedLine):
                return parsed
            refusals.append(parsed)
        if self.modes[modes[0]].catch_all:
            return self._caught(modes[0], words)
        return next(
            (refusal for refusal in refusals if refusal.word < 0 or refusal.ambiguous),
            max(refusals, key=lambda refusal: refusal.word),
        )

    def _caught(self, mode: str, words: list[str]) -> ParsedLine:
        negative = words[0] == "no"
        text = " ".join(words[1:] if negative else words)
        return ParsedLine(_CAUGHT, mode, text, {}, negative)

    def _candidates(self, mode: str, words: list[str], abbreviations: bool) -> Iterable[Entry]:
        given = words[0].lower() if words else ""
        entries = self.entries.get(mode, [])
        # A keyword in full is never the beginning of another: `ip` is not `ipv6`.
        exact = [entry for entry in entries if not entry.pattern.first or given in entry.pattern.first]
        if not abbreviations or any(entry.pattern.first for entry in exact):
            return exact
        return [*exact, *(e for e in entries if any(word.startswith(given) for word in e.pattern.first))]

    def _named(self, words: tuple[str, ...]) -> Iterable[str]:
        """Words as IOS prints them: port 80 of TCP as `www`."""
        for at, word in enumerate(words):
            for before, names in self.names.items():
                if word in names and _stands_before(before, words, at):
                    yield names[word]
                    break
            else:
                yield word


def _stands_before(before: str, words: tuple[str, ...], at: int) -> bool:
    """`tcp eq`: `eq` stands right before and `tcp` earlier; `match dscp *`: anywhere after both."""
    *earlier, last = before.split()
    if last == "*":
        return all(word in words[:at] for word in earlier)
    return at > 0 and words[at - 1] == last and all(word in words[: at - 1] for word in earlier)


_CAUGHT = Entry(
    Rule(mode="", line="<rest:line>", kept=True, keeps_no=True),
    compile_pattern("<rest:line>", {}),
    (),
)


@functools.cache
def load(platform: str) -> Grammar:
    """
    Raises:
        ValueError: no such platform, or a table that is malformed.
    """
    if platform not in PLATFORMS:
        raise ValueError(f"no grammar for {platform!r}: there are {', '.join(PLATFORMS)}")
    grammar = Grammar(platform)
    parts: dict[str, str] = {}
    lines: list[Rule] = []
    for table in _with_bases(platform):
        grammar.modes.update(table.modes)
        grammar.names.update(table.names)
        grammar.facts.update(table.facts)
        grammar.logical += table.logical
        grammar.interfaces += table.interfaces
        parts.update(table.parts)
        # The nearer table first: where two hold a line, it is the nearer one's.
        lines = [*table.lines, *lines]
    for rule in lines:
        grammar.entries.setdefault(rule.mode, []).append(_compiled(rule, parts, grammar.interfaces))
    return grammar


def _compiled(rule: Rule, parts: Mapping[str, str], interfaces: tuple[str, ...]) -> Entry:
    patterns = [compile_pattern(text, parts, interfaces) for text in (rule.line, *rule.negated)]
    return Entry(rule, patterns[0], tuple(patterns[1:]))


_SAFE = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _with_bases(name: str) -> list[Table]:
    loaded: Any = yaml.load((FOLDER / f"{name}.yml").read_text(), Loader=_SAFE)  # noqa: S506 - a safe loader
    table = Table.model_validate(loaded)
    bases = [base for name in table.extends for base in _with_bases(name)]
    return [*bases, table]
