"""Lines end at newlines, in everything that a device or a person wrote."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from slotcar.base.texts import lines_of, words_of

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("controller/slotcar", "plugins", "lab/slotcar_lab/ios")
#: What `str.splitlines` cuts at, beside newlines.
UNICODE_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


def test_lines_end_at_newlines_and_nowhere_else() -> None:
    assert lines_of("") == []
    assert lines_of("a\nb\r\n\nc") == ["a", "b", "", "c"]
    assert lines_of("a\n") == ["a"]
    assert lines_of(f"a{UNICODE_ENDS}b\rc\n") == [f"a{UNICODE_ENDS}b\rc"]


def test_words_are_kept_apart_by_blanks_and_tabs_and_nothing_else() -> None:
    assert words_of(" a\tb  c\x85d\xa0e\u2028 ") == ["a", "b", "c\x85d\xa0e\u2028"]


def _calls(source: str) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute) and node.attr == "splitlines"
    ]


def test_nothing_is_split_where_unicode_ends_lines() -> None:
    files = [file for room in ROOMS for file in (ROOT / room).rglob("*.py")]
    assert len(files) > 300, "files were looked for where they are not"
    assert {str(file.relative_to(ROOT)): lines for file in files if (lines := _calls(file.read_text()))} == {}


@pytest.mark.parametrize("source", ["text.splitlines()", "[*map(str.splitlines, texts)]"])
def test_the_check_sees_it(source: str) -> None:
    assert _calls(source) == [1]
