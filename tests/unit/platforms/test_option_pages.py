"""The pages of the platforms list the options that their facts have, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slotcar.base.registry import FOLDERS, facts_of

PAGES = Path(__file__).parents[3] / "docs" / "reference" / "platforms"
#: Refused all the same, and its page says why.
REFUSED = {"cisco-iosxe-netconf": {"colour_aware"}}


def options_of_page(platform: str) -> set[str]:
    """The keys of a page's table of options; where it has none, those that its sentence about options names."""
    text = (PAGES / f"{platform}.md").read_text(encoding="utf-8")
    section = re.search(r"^## Options$(.*?)(?=^## )", text, re.MULTILINE | re.DOTALL)
    if section is None:
        sentence = re.search(r"^Options are (.*?) of \[", text, re.MULTILINE | re.DOTALL)
        assert sentence, f"{platform}.md says nothing of its options"
        return set(re.findall(r"`([a-z_]+)`", sentence[1]))
    cells = re.findall(r"^\| ([^|]+) \|", section[1], re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([a-z_]+)(?::[A-Z]+)?`", cell)}


@pytest.mark.parametrize("platform", FOLDERS)
def test_a_page_lists_the_options_that_its_platform_has(platform: str) -> None:
    facts = facts_of(platform)
    no_choice = {"marking"} if len(facts.markings) == 1 else set()
    expected = set(facts.options.model_fields) - no_choice - REFUSED.get(platform, set())
    assert options_of_page(platform) == expected
