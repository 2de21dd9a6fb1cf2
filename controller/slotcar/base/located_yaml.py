"""YAML and JSON read safely: nothing is nested deeper than `MAX_DEPTH`; YAML with the line of every key, for errors.

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

from slotcar.base.files import read_regular_file
from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.texts import lines_of

MAX_CHARACTERS = 20_000_000
MAX_DEPTH = 40
#: Of inventories, whose groups may be nested, and whose aliases are mostly of variables.
MAX_FOREIGN_DEPTH = 100
MAX_FOREIGN_NODES = 1_000_000
GROWS = "grows too large through its aliases"
TOO_DEEP = f"is nested deeper than {MAX_DEPTH} levels"
#: Of a dotted key: each node has one, so a long name over many nodes would be written out as often.
MAX_KEY_CHARACTERS = 400
#: libyaml compares each tag directive with all before it.
MAX_TAG_DIRECTIVES = 100
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
    if text.count("\n%TAG") > MAX_TAG_DIRECTIVES:
        hint = "tags are not used here: leave them out"
        raise InvalidInput([Problem(file, 0, "", f"has more than {MAX_TAG_DIRECTIVES} tag directives", "", hint)])
    try:
        return _document(text, file, strict=True)
    except yaml.YAMLError as error:
        raise InvalidInput([_syntax_problem(error, text, file)]) from error


def parse_json(text: str | bytes) -> Any:
    """What a JSON text says, where nobody asks for lines.

    Raises:
        ValueError: it is no JSON, or is nested deeper than `MAX_DEPTH`; the message says which.
    """
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except ValueError:
        raise ValueError("is not JSON") from None
    if is_too_deep(data):
        raise ValueError(TOO_DEEP)
    return data


def is_too_deep(data: Any) -> bool:
    """Whether lists and mappings, of which none holds itself, are nested deeper than `MAX_DEPTH`."""
    level = [data]
    for _ in range(MAX_DEPTH + 1):
        inner = (one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list))
        level = [child for children in inner for child in children if isinstance(child, dict | list)]
        if not level:
            return False
    return True


def require_bounded(path: Path) -> None:
    """Looks at a YAML file that another program will read, such as Ansible one of an inventory. Whether it is YAML at all
    is that program's to say.

    Raises:
        InvalidInput: it is nested deeper than `MAX_FOREIGN_DEPTH`, or aliases make it more than `MAX_FOREIGN_NODES` larger.
    """
    try:
        text = read_text(path)
    except InvalidInput:
        return
    nodes, added, sizes = 0, 0, dict[str, int]()
    open_nodes: list[tuple[str | None, int]] = []  # the anchor, and how many nodes there were before
    try:
        for event in _events(text):
            line = event.start_mark.line + 1
            if isinstance(event, yaml.CollectionStartEvent):
                open_nodes.append((event.anchor, nodes + added))
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, before = open_nodes.pop()
                if anchor is not None:
                    sizes[anchor] = nodes + added - before
            elif isinstance(event, yaml.AliasEvent):
                added += sizes.get(str(event.anchor), 0)
            nodes += isinstance(event, yaml.NodeEvent)
            if len(open_nodes) > MAX_FOREIGN_DEPTH:
                message = f"is nested deeper than {MAX_FOREIGN_DEPTH} levels"
                raise InvalidInput([Problem(str(path), line, "", message)])
            if added > MAX_FOREIGN_NODES:
                raise InvalidInput([Problem(str(path), line, "", GROWS, "", "write it out")])
    except (yaml.YAMLError, UnicodeEncodeError):
        return


def line_of(path: Path, key: str) -> int:
    """The line of a dotted key in a YAML file of any kind (an inventory with vault tags, say), 0 where unknown."""
    try:
        status = path.stat()
    except OSError:
        return 0
    return _lenient(path, status.st_mtime_ns, status.st_size).line(key)


@lru_cache(maxsize=256)
def _lenient(path: Path, _modified_ns: int, _size: int) -> Document:
    try:
        return _document(read_text(path), str(path), strict=False)
    except (yaml.YAMLError, InvalidInput):
        return Document(str(path), None, {})


def _document(text: str, file: str, *, strict: bool) -> Document:
    """The document, built while libyaml gives one event after another: what is nested too deep is refused before the
    parser has come to its end, which takes it the square of the depth."""
    try:
        try:
            return _Builder(file, strict).document(_events(text))
        except yaml.YAMLError:
            # JSON escapes a character beyond U+FFFF as two halves, which YAML has not.
            whole = _HALVES.sub(lambda match: json.loads(f'"{match[0]}"'), text)
            if whole == text:
                raise
            return _Builder(file, strict).document(_events(whole))
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        hint = "write the character itself"
        raise InvalidInput([Problem(file, line, "", "is not YAML: holds half a character", "", hint)]) from error


def _events(text: str) -> Iterator[Any]:
    return yaml.parse(text, Loader=yaml.CSafeLoader)


_ENDS_EARLY = "the end of stream comes too early"
#: What to do, by a part of libyaml's words.
_SYNTAX_HINTS = {
    "'\\t'": "indent with spaces, not tabs",
    "a tab": "indent with spaces, not tabs",
    "mapping values": "quote a value that holds a colon and a space, and check the indentation",
    "expected key": "check the indentation, and quote a value that begins with `[`, `{`, `*`, `&`, `!` or `@`",
    "expected '-' indicator": "check the indentation",
    "expected ':'": "say `KEY: VALUE`, and check the indentation",
    "expected ','": "separate what stands in `[` `]` or `{` `}` with commas, and quote a value that holds one of these",
    "cannot start any token": "quote a value that begins with `@`, `%` or a backquote",
    _ENDS_EARLY: "here or above it begins something that does not end: a quote, a `[` or a `{`",
    "a second document": "remove the `---` between them, or make them two files",
}


def _syntax_problem(error: yaml.YAMLError, text: str, file: str) -> Problem:
    words = str(getattr(error, "problem", None) or lines_of(str(error))[0])
    mark, position = getattr(error, "problem_mark", None), getattr(error, "position", None)
    if mark is not None and mark.index < len(text) and words == "found character that cannot start any token":
        words = f"found character {text[mark.index]!r} that cannot start any token"
    elif mark is not None and not text[mark.index :].strip():
        mark, words = getattr(error, "context_mark", None) or mark, _ENDS_EARLY
    at = text.encode(errors="replace").count(b"\n", 0, position) + 1 if isinstance(position, int) else 0  # in bytes
    last = text.rstrip().count("\n") + 1  # libyaml sees another line after the last
    line = at if mark is None else min(mark.line + 1, last)
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

    def document(self, events: Iterator[Any]) -> Document:
        return self._finish(self._root(events))

    def _root(self, events: Iterator[Any]) -> _Node | None:
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

    def _finish(self, root: _Node | None) -> Document:
        lines: dict[str, int] = {}
        data = None if root is None else self._flatten(root, "", 0, lines)
        return Document(self.file, data, lines, tuple(self.problems))

    def _complain(self, line: int, key: str, message: str, value: str = "", hint: str = "") -> None:
        if self.strict:
            self.problems.append(Problem(self.file, line, key, message, value, hint))

    def _node(self, event: Any, events: Iterator[Any], key: str, depth: int) -> _Node:
        line = event.start_mark.line + 1
        if depth > MAX_DEPTH:
            raise InvalidInput([Problem(self.file, line, key, TOO_DEEP)])
        if len(key) > MAX_KEY_CHARACTERS:
            message = f"has a key longer than {MAX_KEY_CHARACTERS} characters, with the keys around it"
            raise InvalidInput([Problem(self.file, line, key, message)])
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
            hint = f"an anchor `&{event.anchor[:60]}` must be complete before it; quote a value that begins with `*`"
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
            problem = Problem(self.file, node.line, key, GROWS, "", "write it out")
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
