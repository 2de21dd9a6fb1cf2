"""What code, tests and documents cite of docs/design.md is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = re.compile(r"rules? (\d+(?:(?:, | and |, and )\d+)*)")
#: In code `docs/design.md rule 9`; in a document a link, `[rule 9](../design.md#rules)`.
IN_CODE = re.compile(rf"docs/design\.md {NUMBERS.pattern}")
IN_LINKS = re.compile(rf"\[{NUMBERS.pattern}\]\([./]*design\.md#rules\)")
#: Code has `issue: Json` for a parameter of a forge's.
ISSUE = re.compile(r"\bissue:(?! Json)|\bissue #?\d+", re.IGNORECASE)


#: Those of the repository: `make sbom` and `make site` leave others' Python in `dist`.
BUILT = (".", "var", "build", "dist", "site")
FOLDERS = [path for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(BUILT)]
KINDS = (".j2", ".json", ".md", ".py", ".sh", ".toml", ".yml")


def files() -> list[Path]:
    inside = [path for folder in FOLDERS for path in folder.rglob("*")]
    return [path for path in (*inside, *ROOT.glob("*.*")) if path.suffix in KINDS and path != Path(__file__)]


def rules() -> list[int]:
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8").partition("## Rules")[2]
    return [int(number) for number in re.findall(r"^(\d+)\. \*\*", text, re.MULTILINE)]


def cited(text: str) -> set[int]:
    return {
        int(number)
        for pattern in (IN_CODE, IN_LINKS)
        for numbers in pattern.findall(text)
        for number in re.findall(r"\d+", numbers)
    }


def test_rules_are_numbered_without_a_gap() -> None:
    assert rules() == list(range(1, len(rules()) + 1))


def test_every_rule_that_is_cited_is_there_and_many_are_cited() -> None:
    by_file = {path: cited(path.read_text(encoding="utf-8", errors="ignore")) for path in files()}
    unknown = {str(path): numbers - set(rules()) for path, numbers in by_file.items() if numbers - set(rules())}
    assert unknown == {}
    assert len(set().union(*by_file.values())) >= 12


def test_a_citation_says_which_rule() -> None:
    """A page of many rules is no source; and what is not in the repository is none either."""
    for path in files():
        if path.suffix == ".py":
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"\bDESIGN\b", text), f"{path}: cite docs/design.md and a rule"
            mentions = len(re.findall(r"docs/design\.md", text))
            assert mentions == len(IN_CODE.findall(text)), f"{path}: cite a rule of docs/design.md"


def test_no_issue_is_cited() -> None:
    """What was asked for once is not in the repository. A decision may cite the issues of a library that it weighs."""
    citing = [
        str(path.relative_to(ROOT))
        for path in files()
        if path.parent.name != "adr" and ISSUE.search(path.read_text(encoding="utf-8", errors="ignore"))
    ]
    assert citing == []


@pytest.mark.parametrize(
    ("text", "cites"),
    [
        ("holds last 15 minutes (issue: 15 minutes)", True),
        ("see issue 12", True),
        ("Issue #12 asks for it", True),
        ("it opens an issue, once", False),
    ],
)
def test_a_cited_issue_is_recognised(text: str, cites: bool) -> None:
    assert bool(ISSUE.search(text)) is cites


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("(docs/design.md rule 9)", {9}),
        ("docs/design.md rules 2, 3 and 5", {2, 3, 5}),
        ("see [rule 12](../design.md#rules)", {12}),
        ("The test removes rules 1 and 2", set()),
    ],
)
def test_citations_are_recognised(text: str, numbers: set[int]) -> None:
    assert cited(text) == numbers
