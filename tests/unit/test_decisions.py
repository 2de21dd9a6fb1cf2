"""The records of decisions in docs/adr have one form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "adr"
RECORDS = sorted(FOLDER.glob("*.md"))


def test_they_are_numbered_without_a_gap() -> None:
    assert [int(path.name[:4]) for path in RECORDS] == list(range(1, len(RECORDS) + 1))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_begins_with_its_number_and_its_status(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.match(rf"# ADR {int(path.name[:4])}: \S.*\n\nStatus: (accepted|replaced|withdrawn)\b", text)
