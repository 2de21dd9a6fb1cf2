"""The records of decisions in docs/adr have one form."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "adr"
RECORDS = sorted(FOLDER.glob("*.md"))


#: Later numbers are given out beforehand, and some of what they are for may take longer.
WHOLE = 72


def test_each_has_a_number_of_its_own() -> None:
    numbers = [int(path.name[:4]) for path in RECORDS]
    assert numbers[:WHOLE] == list(range(1, WHOLE + 1))
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_begins_with_its_number_and_its_status(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.match(rf"# ADR {int(path.name[:4])}: \S.*\n\nStatus: (accepted|replaced|withdrawn)\b", text)
