"""What README.md shows is true, and no document links to what is not there."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from slotcar.base.problems import InvalidInput
from slotcar.reservation import load_text

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NOW = datetime(2027, 1, 1, tzinfo=UTC)
EXAMPLE = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)[0]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_the_reservation_is_a_good_one() -> None:
    assert [one.name for one in load_text(EXAMPLE, "x", NOW)] == ["tonight-cms"]


def test_the_error_is_what_the_reservation_with_that_slip_is_told() -> None:
    printed = re.findall(r"```text\n(.*?)\n```", README, re.DOTALL)[0]
    with pytest.raises(InvalidInput) as refusal:
        load_text(EXAMPLE.replace("36 Mbit/s", "36 mb"), "reservations/tonight.yml", NOW)
    assert str(refusal.value) == printed


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text(encoding="utf-8")):
        if "://" not in link:
            assert (document.parent / link).exists(), f"{document.name} links to {link}"


def test_the_makes_that_are_named_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for document in DOCUMENTS:
        named = set(re.findall(r"\bmake ([a-z-]+)`", document.read_text(encoding="utf-8")))
        assert named <= targets, document
