"""What IOS makes of a command's output after `|`: include, exclude, begin, section, each in as few letters as one likes."""

from __future__ import annotations

import re
from collections.abc import Iterator

_VERBS = ("append", "begin", "count", "exclude", "format", "include", "redirect", "section", "tee")


def with_ends(output: str) -> list[str]:
    """The lines with their newlines; nothing else ends a line."""
    return re.findall(r"[^\n]*\n|[^\n]+", output)


def filtered(output: str, pipe: str) -> str | None:
    """The output through one filter; None where the filter is none or says not what for."""
    verb, _, pattern = pipe.strip().partition(" ")
    meant = [each for each in _VERBS if verb and each.startswith(verb.lower())]
    if len(meant) != 1 or not pattern.strip():
        return None
    expression = re.compile(_expression(pattern.strip()))
    lines = with_ends(output)
    if meant[0] == "include":
        return "".join(line for line in lines if expression.search(line.rstrip("\n")))
    if meant[0] == "exclude":
        return "".join(line for line in lines if not expression.search(line.rstrip("\n")))
    if meant[0] == "begin":
        first = next((at for at, line in enumerate(lines) if expression.search(line)), len(lines))
        return "".join(lines[first:])
    return "".join(_sections(lines, expression)) if meant[0] == "section" else None


def _expression(pattern: str) -> str:
    """The regular expression; what is none is meant as it stands."""
    pattern = pattern.removeprefix("include ").removeprefix("exclude ").strip('"')
    try:
        re.compile(pattern)
    except re.error:
        return re.escape(pattern)
    return pattern


def _sections(lines: list[str], expression: re.Pattern[str]) -> Iterator[str]:
    """Each section of which a line matches the expression, from that line on."""
    depth = -1
    for line in lines:
        indent = len(line) - len(line.lstrip(" "))
        if depth >= 0 and indent <= depth:
            depth = -1
        if depth < 0 and expression.search(line):
            depth = indent
        if depth >= 0 and line.strip() != "!":
            yield line
