"""YAML read safely, with the line of every key, so that an error can say where.

Scalars follow YAML 1.2's core schema, not YAML 1.1: `22:00`, `no`, `010` and dates stay the text that was written. Keys
are always text. Duplicate keys, tags, merge keys and runaway aliases are problems, not surprises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from slotcar.files import read_regular_file
from slotcar.problems import InvalidInput, Problem

MAX_CHARACTERS = 20_000_000
MAX_DEPTH = 40
#: Nodes that aliases may add to what is written out (a "billion laughs" adds 10^9).
MAX_ALIASED_NODES = 10_000

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})\.[0-9]{1,18}")
_CONSTANTS: dict[str, bool | None] = {"": None, "~": None}
_CONSTANTS |= dict.fromkeys(("null", "Null", "NULL"))
_CONSTANTS |= dict.fromkeys(("true", "True", "TRUE"), True)
_CONSTANTS |= dict.fromkeys(("false", "False", "FALSE"), False)
_YAML_TAG = "tag:yaml.org,2002:"
_HALVES = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says.

    Attributes:
        data: mappings, lists, text, int, float, bool, None; None also for an empty file.
        lines: the line of each dotted key (`reservations[2].rate`), from 1; a list's item has the line where it begins.
        problems: what is wrong beyond the syntax (duplicate keys, tags, aliases); the data leaves it out.
    """

    file: str
    data: Any
    lines: Mapping[str, int]
    problems: tuple[Problem, ...] = ()

    def line(self, key: str) -> int:
        """The line of a key, or of the nearest thing around it that the file has; 0 where there is none."""
        while key and key not in self.lines:
            key = re.sub(r"(?:\.|\[)?[^.\[]*$", "", key)
        return self.lines.get(key, 0)


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        InvalidInput: it is missing, unreadable, no file, too large or not UTF-8.
    """
    try:
        raw = read_regular_file(path, 4 * MAX_CHARACTERS)  # UTF-8 has at most four bytes for a character
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise InvalidInput([Problem(str(path), 0, "", f"cannot be read: {reason}")]) from error
    return text_of(raw, str(path))


def text_of(raw: bytes, file: str) -> str:
    """The text of what a file holds.

    Raises:
        InvalidInput: it is not UTF-8.
    """
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        hint = "save the file as UTF-8"
        bad = f"byte 0x{raw[error.start]:02x}"
        raise InvalidInput([Problem(file, line, "", "is not UTF-8 text", bad, hint)]) from error


def load(text: str, file: str) -> Document:
    """The one document of a YAML or JSON text.

    Raises:
        InvalidInput: the text is no YAML, or nested or large beyond reason.
    """
    if len(text) > MAX_CHARACTERS:
        hint = f"at most {MAX_CHARACTERS} characters; split it"
        raise InvalidInput([Problem(file, 0, "", "is too large", f"{len(text)} characters", hint)])
    builder = _Builder(file, strict=True)
    try:
        root = builder.document(_events(text))
    except yaml.YAMLError as error:
        raise InvalidInput([_syntax_problem(error, text, file)]) from error
    return builder.finish(root)


def line_of(path: Path, key: str) -> int:
    """The line of a dotted key in a YAML file of any kind (an inventory with vault tags, say), 0 where unknown."""
    try:
        status = path.stat()
    except OSError:
        return 0
    return _lenient(path, status.st_mtime_ns, status.st_size).line(key)


@lru_cache(maxsize=256)
def _lenient(path: Path, _modified_ns: int, _size: int) -> Document:
    builder = _Builder(str(path), strict=False)
    try:
        return builder.finish(builder.document(_events(read_text(path))))
    except (yaml.YAMLError, InvalidInput):
        return Document(str(path), None, {})


def _events(text: str) -> Iterator[Any]:
    """Parser events; libyaml's where it can, and PyYAML's own for its clearer words where there is an error."""
    try:
        yield from list(yaml.parse(text, Loader=_LOADER))
    except (yaml.YAMLError, UnicodeEncodeError) as first:
        # JSON escapes a character beyond U+FFFF as two halves, which YAML has not.
        whole = _HALVES.sub(lambda match: json.loads(f'"{match[0]}"'), text)
        if whole != text:
            yield from _events(whole)
            return
        try:
            yield from list(yaml.parse(text, Loader=yaml.SafeLoader))
        except (ValueError, OverflowError):  # PyYAML's own, of an escape such as `\UFFFFFFFF`
            raise first from None


_SYNTAX_HINTS = {
    "\\t": "indent with spaces, not tabs",
    "mapping values": "quote a value that holds a colon and a space, and check the indentation",
    "block end": "check the indentation, and quote a value that begins with `[`, `{`, `*`, `&`, `!` or `@`",
    "cannot start any token": "quote a value that begins with `@`, `%` or a backquote",
    "end of stream": "here or above it begins something that does not end: a quote, a `[` or a `{`",
    "a second document": "remove the `---` between them, or make them two files",
}


def _syntax_problem(error: yaml.YAMLError, text: str, file: str) -> Problem:
    words = str(getattr(error, "problem", None) or str(error).splitlines()[0])
    mark, position = getattr(error, "problem_mark", None), getattr(error, "position", None)
    if "end of stream" in words or "<stream end>" in words:
        mark, words = getattr(error, "context_mark", None) or mark, "the end of stream comes too early"
    at = text.count("\n", 0, position) + 1 if isinstance(position, int) else 0
    line = at if mark is None else mark.line + 1
    hint = next((hint for part, hint in _SYNTAX_HINTS.items() if part in words), "")
    return Problem(file, line, "", f"is not YAML: {words}", "", hint)


@dataclass(slots=True)
class _Node:
    """A scalar's value, a list's nodes, or a mapping's keys with their lines and nodes."""

    line: int
    value: Any = None
    items: list[_Node] | None = None
    pairs: dict[str, tuple[int, _Node]] | None = None


@dataclass(slots=True)
class _Builder:
    """Builds nodes from events (no recursion beyond `MAX_DEPTH`), then plain data with a line for each dotted key."""

    file: str
    strict: bool
    problems: list[Problem] = field(default_factory=list)
    anchors: dict[str, _Node] = field(default_factory=dict)
    nodes: int = 0
    visited: int = 0

    def document(self, events: Iterator[Any]) -> _Node | None:
        root: _Node | None = None
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    if self.strict:
                        mark: Any = event.start_mark
                        raise yaml.composer.ComposerError(None, None, "a second document begins", mark)
                    break
                root = self._node(next(events), events, "", 0)
        return root

    def finish(self, root: _Node | None) -> Document:
        lines: dict[str, int] = {}
        data = None if root is None else self._flatten(root, "", 0, lines)
        return Document(self.file, data, lines, tuple(self.problems))

    def _complain(self, line: int, key: str, message: str, value: str = "", hint: str = "") -> None:
        if self.strict:
            self.problems.append(Problem(self.file, line, key, message, value, hint))

    def _node(self, event: Any, events: Iterator[Any], key: str, depth: int) -> _Node:
        line = event.start_mark.line + 1
        if depth > MAX_DEPTH:
            raise InvalidInput([Problem(self.file, line, key[:60], f"is nested deeper than {MAX_DEPTH} levels")])
        self.nodes += 1
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, key, line)
        if event.tag is not None and event.tag not in ("!", f"{_YAML_TAG}str"):
            self._complain(
                line, key, "has a tag", event.tag.replace(_YAML_TAG, "!!", 1), "tags are not used here: leave it out"
            )
        if isinstance(event, yaml.SequenceStartEvent):
            node = _Node(line, items=[])
            self._sequence(node, events, key, depth)
        elif isinstance(event, yaml.MappingStartEvent):
            node = _Node(line, pairs={})
            self._mapping(node, events, key, depth)
        else:
            self._no_halves(event, key, line)
            node = _Node(line, value=_scalar(event))
        if event.anchor is not None:
            # Only now, when it is complete: an alias inside its own anchor is unknown, so that no loop can form.
            self.anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, key: str, line: int) -> _Node:
        node = self.anchors.get(event.anchor)
        if node is None:
            hint = f"an anchor `&{event.anchor}` must be complete before it; quote a value that begins with `*`"
            self._complain(line, key, "is an alias of nothing", f"*{event.anchor}", hint)
            return _Node(line)
        return node

    def _sequence(self, node: _Node, events: Iterator[Any], key: str, depth: int) -> None:
        assert node.items is not None
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                return
            node.items.append(self._node(event, events, f"{key}[{len(node.items)}]", depth + 1))

    def _mapping(self, node: _Node, events: Iterator[Any], key: str, depth: int) -> None:
        assert node.pairs is not None
        for event in events:
            if isinstance(event, yaml.MappingEndEvent):
                return
            line = event.start_mark.line + 1
            name = self._name(event, events, key, depth)
            inner = key if name is None else _join(key, name)
            value = self._node(next(events), events, inner, depth + 1)
            if name is not None and name in node.pairs:
                hint = f"it stands on line {node.pairs[name][0]} already: keep one of the two"
                self._complain(line, inner, "is given twice", "", hint)
            elif name == "<<" and self.strict:
                self._complain(line, inner, "is a merge key", "", "merge keys are not used here: write the keys out")
            elif name is not None:
                node.pairs[name] = (line, value)

    def _no_halves(self, event: Any, key: str, line: int) -> None:
        """PyYAML's own parser reads an escape such as `\\ud83d` alone, which no text can be written with."""
        mended = event.value.encode(errors="replace").decode()
        if mended != event.value:
            event.value = mended
            self._complain(line, key, "holds half a character", "", "write the character itself")

    def _name(self, event: Any, events: Iterator[Any], key: str, depth: int) -> str | None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.ScalarEvent):
            self._no_halves(event, key, line)
            return str(event.value)
        self._node(event, events, key, depth + 1)
        hint = "quote a text that begins with `[`, `{` or `*`"
        self._complain(line, key, "has a key that is no plain text", "", hint)
        return None

    def _flatten(self, node: _Node, key: str, depth: int, lines: dict[str, int]) -> Any:
        self.visited += 1
        if depth > 2 * MAX_DEPTH or self.visited > self.nodes + MAX_ALIASED_NODES:
            problem = Problem(
                self.file, node.line, key[:60], "grows too large through its aliases", "", "write it out"
            )
            raise InvalidInput([problem])
        lines.setdefault(key, node.line)
        if node.items is not None:
            return [self._flatten(item, f"{key}[{index}]", depth + 1, lines) for index, item in enumerate(node.items)]
        if node.pairs is None:
            return node.value
        data = {}
        for name, (line, value) in node.pairs.items():
            inner = _join(key, name)
            lines[inner] = line
            data[name] = self._flatten(value, inner, depth + 1, lines)
        return data


def _join(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _scalar(event: Any) -> Any:
    text = str(event.value)
    if not event.implicit[0] or event.tag is not None:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text
