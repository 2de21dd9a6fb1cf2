"""What each reservation file is told, word for word, or read as: one folder a case.

A case reads `input.yml`, or what its `paths` names, one a line. `good-…` has `expected.json`, the others `expected.txt`.
After a wanted change: `UPDATE_GOLDEN=1 .venv/bin/pytest tests/golden/test_reservation.py`, then read the diff.
"""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from slotcar.base.located_yaml import load, read_text
from slotcar.base.problems import InvalidInput
from slotcar.reservation import json_schema, load_files
from slotcar.reservation.model import Reservation

NOW = datetime(2027, 1, 1, 12, 0, tzinfo=UTC)
FOLDER = Path(__file__).parent / "reservation"
CASES = sorted(path for path in FOLDER.iterdir() if path.is_dir())
GOOD = [case for case in CASES if case.name.startswith("good-")]
BAD = [case for case in CASES if case not in GOOD]
VALIDATOR = Draft202012Validator(json_schema())
#: Of one file that is a mapping: what a JSON Schema cannot know, or (a quantity's unit) leaves to the loader's words.
MEANING = {line for line in (FOLDER / "beyond-the-schema.txt").read_text(encoding="utf-8").splitlines() if line}


def paths(case: Path) -> list[Path]:
    named = case / "paths"
    return [Path(line) for line in named.read_text().splitlines()] if named.exists() else [Path("input.yml")]


def expect(file: Path, printed: str) -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(printed, encoding="utf-8")
    assert printed == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("case", BAD, ids=lambda path: path.name)
def test_a_wrong_file_is_refused_in_words(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)
    with pytest.raises(InvalidInput) as refusal:
        load_files(paths(case), NOW)
    expect(case / "expected.txt", f"{refusal.value}\n")


@pytest.mark.parametrize("case", GOOD, ids=lambda path: path.name)
def test_a_good_file_is_read_as(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(case)
    loaded = load_files(paths(case), NOW)
    documents = [reservation.to_document() for reservation in loaded]
    expect(case / "expected.json", json.dumps(documents, indent=2, ensure_ascii=False) + "\n")
    assert tuple(Reservation.from_document(document) for document in documents) == loaded


def mapping(case: Path) -> dict[str, Any] | None:
    """A case's one file as the schema sees it; None where the case is about something else."""
    if (case / "paths").exists():
        return None
    try:
        document = load(read_text(case / "input.yml"), "input.yml")
    except InvalidInput:
        return None
    return None if document.problems else document.data


@pytest.mark.parametrize("case", [case for case in BAD if mapping(case) is not None], ids=lambda path: path.name)
def test_the_schema_refuses_what_is_wrong_in_form(case: Path) -> None:
    assert VALIDATOR.is_valid(mapping(case)) == (case.name in MEANING)


@pytest.mark.parametrize(
    "file",
    sorted(file for case in GOOD for file in case.rglob("*.[yYj]*") if file.name != "expected.json"),
    ids=lambda path: str(path.relative_to(FOLDER)),
)
def test_the_schema_accepts_what_is_good(file: Path) -> None:
    if not any(part.startswith(".") for part in file.relative_to(FOLDER).parts):
        VALIDATOR.validate(load(read_text(file), str(file)).data)


def test_there_are_cases() -> None:
    assert len(BAD) > 100
    assert len(GOOD) > 8
    assert {case.name for case in BAD} > MEANING
