"""The running configuration of a router: takes lines in configuration mode as IOS does, and prints itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from slotcar.base.texts import lines_of, words_of
from slotcar_lab.ios import tree
from slotcar_lab.ios.grammar.table import Grammar, ParsedLine, Refusal
from slotcar_lab.ios.references import refusal, removal_refusal
from slotcar_lab.ios.tree import Node

#: Lines that `show running-config` prints and that no configuration holds.
_HEADINGS = re.compile(r"Building configuration|Current configuration|Using \d+ out of|Load for five|Time source")


class Kind(Enum):
    """What became of a line; IOS has a wording of its own for each refusal."""

    TAKEN = "taken"
    INVALID = "invalid"
    INCOMPLETE = "incomplete"
    AMBIGUOUS = "ambiguous"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Answer:
    """What IOS says to a line: nothing, a message, or the index of the word that it cannot take."""

    kind: Kind = Kind.TAKEN
    message: str = ""
    word: int = 0

    @property
    def taken(self) -> bool:
        return self.kind is Kind.TAKEN


TAKEN = Answer()


@dataclass(slots=True)
class Cursor:
    """Where one session, or one file that is copied in, stands: the sections from the top down."""

    path: list[Node]
    banner: list[str] = field(default_factory=list)
    delimiter: str = ""


@dataclass(slots=True)
class Configuration:
    """`sequences`: the print shows the numbers of named ACLs' entries, as IOS XE 16 does and IOS does not."""

    grammar: Grammar
    top: Node = field(default_factory=tree.root)
    #: Hardware: an interface of another name is refused. Empty while the start-up configuration is read.
    hardware: frozenset[str] = frozenset()
    sequences: bool = False

    def cursor(self) -> Cursor:
        return Cursor([self.top])

    def text(self) -> str:
        """Canonical, from `version` to `end`; a text that is loaded prints itself again."""
        return "".join(f"{line}\n" for line in (*tree.lines(self.top, self.grammar, sequences=self.sequences), "end"))

    def copy(self) -> Configuration:
        return Configuration(self.grammar, self.top.copy(), self.hardware, self.sequences)

    @property
    def hostname(self) -> str:
        node = self.top.child("hostname")
        return node.text.split()[1] if node else "Router"

    def holds(self, line: str) -> bool:
        """Whether a line stands at the top."""
        return any(child.text == line for child in self.top.children)

    def load(self, lines: Iterable[str]) -> list[tuple[str, Answer]]:
        """Read a configuration as at start-up, where nothing is in use yet; gives the lines that were refused."""
        cursor, refused = self.cursor(), []
        for line in lines:
            if line.strip() == "end":
                break
            answer = self.apply(cursor, line, starting=True)
            if not answer.taken:
                refused.append((line, answer))
        return refused

    def apply(self, cursor: Cursor, line: str, *, starting: bool = False) -> Answer:
        """Take one line; a refused line changes nothing.

        Args:
            starting: take what only a finished configuration would fit, and every interface.
        """
        if cursor.delimiter:
            return self._banner_line(cursor, line)
        words = words_of(line)
        if not words or words[0].startswith("!") or _HEADINGS.match(line):
            return TAKEN
        if words == ["exit"]:
            cursor.path = cursor.path[:-1] or cursor.path
            return TAKEN
        parsed = self.grammar.resolve([node.mode for node in reversed(cursor.path)], words)
        if isinstance(parsed, Refusal):
            kind = Kind.AMBIGUOUS if parsed.ambiguous else Kind.INCOMPLETE if parsed.word < 0 else Kind.INVALID
            return Answer(kind, word=parsed.word)
        path = list(cursor.path)
        while path[-1].mode != parsed.mode:
            path.pop()
        if parsed.entry.rule.special == "banner" and words[0] == "banner":
            cursor.path = path
            return self._banner(cursor, line)
        answer = self._remove(parsed, path) if parsed.negative else self._add(parsed, path, starting)
        if answer.taken:
            cursor.path = path
        return answer

    def _add(self, parsed: ParsedLine, path: list[Node], starting: bool) -> Answer:
        section, rule = path[-1], parsed.entry.rule
        if answer := self._special_refusal(parsed, section, starting):
            return answer
        node = tree.node_of(parsed, self.grammar)
        if rule.special == "class-map":
            node.text = f"class-map match-all {parsed.captures['name']}"
        if rule.special == "sequence":
            return _add_entry(node, section)
        if rule.special == "dscp-map":
            return _map_dscp(node, section)
        existing = section.child(node.key)
        same = existing is not None and (existing.text == node.text or bool(existing.mode and node.mode))
        if not same and not starting and (why := refusal(parsed, path)):
            return Answer(Kind.REFUSED, why)
        if parsed.text in rule.defaults:
            section.children = [child for child in section.children if child is not existing]
            return TAKEN
        if existing is None or not same:
            _put(node, section, existing)
            existing = node
            self._complete(node, path)
        if existing.mode:
            path.append(existing)
        elif rule.special == "leave":
            path.pop()
        return TAKEN

    def _special_refusal(self, parsed: ParsedLine, section: Node, starting: bool) -> Answer | None:
        special = parsed.entry.rule.special
        if special == "interface" and not starting and not self._may_be(parsed.captures["name"]):
            return Answer(Kind.INVALID, word=1)
        if special == "physical" and "." in section.captures.get("name", ""):
            return Answer(Kind.REFUSED, "% Fair queueing is not supported on subinterfaces")
        if special == "header":
            existing = section.child(parsed.key)
            if existing and existing.text != parsed.text:
                name = parsed.captures["name"]
                return Answer(Kind.REFUSED, f"% Class-map {name} exists with another match type")
        return None

    def _complete(self, node: Node, path: list[Node]) -> None:
        """A new interface has no address, and says so."""
        if node.rule.special == "interface":
            parsed = self.grammar.find("interface", ("no", "ip", "address"))
            assert isinstance(parsed, ParsedLine)
            self._remove(parsed, [*path, node])

    def _may_be(self, name: str) -> bool:
        kind = name.rstrip("0123456789./:")
        return kind in self.grammar.logical or name.partition(".")[0] in self.hardware

    def _remove(self, parsed: ParsedLine, path: list[Node]) -> Answer:
        section, rule = path[-1], parsed.entry.rule
        if rule.special == "interface" and parsed.captures["name"] in self.hardware:
            return Answer(Kind.REFUSED, "% Removal of physical interfaces is not permitted")
        removed = _meant(parsed, section)
        for node in removed:
            if why := removal_refusal(node, path):
                return Answer(Kind.REFUSED, why)
        section.children = [child for child in section.children if child not in removed]
        if rule.keeps_no and (rule.key or not removed):
            node = tree.node_of(parsed, self.grammar)
            node.text, node.mode = f"no {rule.key or parsed.text}", ""
            node.key = parsed.key if rule.key else node.text
            section.children = [*(child for child in section.children if child.text != node.text), node]
        return TAKEN

    def _banner(self, cursor: Cursor, line: str) -> Answer:
        if len(line.split()) < 3:
            return Answer(Kind.INCOMPLETE)
        _, kind, rest = line.strip().split(maxsplit=2)
        cursor.delimiter = "^C" if rest.startswith("^C") else rest[0]
        cursor.banner = [f"banner {kind} ^C"]
        return self._banner_line(cursor, rest.removeprefix(cursor.delimiter), first=True)

    def _banner_line(self, cursor: Cursor, line: str, *, first: bool = False) -> Answer:
        text, end, _ = line.partition(cursor.delimiter)
        if first:
            cursor.banner[0] += text
        else:
            cursor.banner.append(text)
        if end:
            cursor.delimiter = ""
            self._add_banner("\n".join(cursor.banner) + "^C")
        return TAKEN

    def _add_banner(self, text: str) -> None:
        parsed = self.grammar.find(self.top.mode, lines_of(text)[0].split())
        assert isinstance(parsed, ParsedLine)
        node = tree.node_of(parsed, self.grammar)
        node.text, node.key = text, " ".join(text.split()[:2])
        self.top.children = [child for child in self.top.children if child.key != node.key]
        self.top.children.append(node)


def _add_entry(node: Node, section: Node) -> Answer:
    """An entry of a named ACL, at its number or ten after the last; a remark stands with the entry before it."""
    given = node.captures.get("sequence")
    node.text = node.key = node.text.split(maxsplit=1)[1] if given else node.text
    last = max((child.sequence for child in section.children), default=0)
    node.sequence = int(given) if given else last if node.text.startswith("remark ") and last else last + 10
    if any(child.text == node.text for child in section.children) and not node.text.startswith("remark "):
        return TAKEN
    if given and any(child.sequence == node.sequence and child.text != node.text for child in section.children):
        return Answer(Kind.REFUSED, "% Duplicate sequence number")
    section.children.append(node)
    return TAKEN


def _map_dscp(node: Node, section: Node) -> Answer:
    """Each code point of an `mls qos map` line by itself; what a map says by default is no line."""
    words = node.text.split()
    first = 4 if words[3] == "dscp-cos" else 5
    for dscp in words[first:-2]:
        name = " ".join([*words[:first], dscp])
        section.children = [child for child in section.children if child.key != name]
        if int(words[-1]) != (int(dscp) >> 3 if first == 4 else int(dscp)):
            text = f"{name} to {words[-1]}"
            section.children.append(
                Node(text, name, node.rule, dict(node.captures), order=(0, words[first - 1], int(dscp)))
            )
    return TAKEN


def _meant(parsed: ParsedLine, section: Node) -> list[Node]:
    """The lines that a `no` form takes away."""
    rule = parsed.entry.rule
    if rule.no_takes_group:
        group = parsed.fill(rule.group)
        return [child for child in section.children if child.rule.group and child.fill(child.rule.group) == group]
    if rule.special == "sequence" and parsed.captures.get("sequence"):
        return [child for child in section.children if str(child.sequence) == parsed.captures["sequence"]]
    if rule.key:
        named = [child for child in section.children if child.key == parsed.key]
        # `no service-policy input OTHER` does not take away the policy that is there.
        return [child for child in named if not (rule.needs and parsed.whole and child.text != parsed.text)]
    begins = f"{parsed.text} "
    return [
        child
        for child in section.children
        if parsed.text in (child.text, child.key) or (child.rule.kept and child.text.startswith(begins))
    ]


def _put(node: Node, section: Node, existing: Node | None) -> None:
    """Put a line in the place of the one that it replaces, or after all others."""
    _forget_negations(node, section)
    if node.rule.special == "cos-map":
        _move_cos(node, section)
    if existing is not None and existing in section.children:
        section.children[section.children.index(existing)] = node
    else:
        section.children.append(node)


def _forget_negations(node: Node, section: Node) -> None:
    """`ip address …` takes the place of `no ip address`."""
    section.children = [
        child
        for child in section.children
        if not (child.text.startswith("no ") and f"{node.text} ".startswith(f"{child.text[3:]} "))
    ]


def _move_cos(node: Node, section: Node) -> None:
    """A class of service is in one queue at a time: mapping it takes it out of the others ("wrr-queue cos-map")."""
    here = set(node.text.split()[_cos_at(node) :])
    for other in list(section.children):
        if other.rule.special == "cos-map" and other.key != node.key:
            words = other.text.split()
            at = _cos_at(other)
            other.text = " ".join([*words[:at], *(cos for cos in words[at:] if cos not in here)])
            if len(other.text.split()) == at:
                section.children.remove(other)


def _cos_at(node: Node) -> int:
    return 3 if node.text.startswith("priority-queue") else 4
