"""Documents name everything that there is: the settings, the commands that ask, and each other."""

from __future__ import annotations

import re
from pathlib import Path

from slotcar.base.settings import PREFIX, Settings

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: Records of decisions, results, platforms, roles and plugins: pages that others cite or list.
LISTED_ELSEWHERE = ("adr/", "results/", "reference/platforms/", "collection/role-", "collection/plugin-")
#: Pages of the site that come from the repository's top (tools/site_links.py).
FROM_THE_TOP = {"index.md", "changelog.md"}


def pages() -> set[str]:
    names = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    return {name for name in names if not name.startswith(LISTED_ELSEWHERE)}


def variables() -> set[str]:
    """Of every setting, as `settings.py` reads it from the environment."""
    named = {
        name: str(field.validation_alias or f"{PREFIX}{name.upper()}") for name, field in Settings.model_fields.items()
    }
    return set(named.values())


def test_the_tables_of_settings_have_every_setting_and_no_other() -> None:
    rows = re.findall(
        r"^\| (`SLOTCAR_.*?) \|", (DOCS / "howto" / "deploy.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    documented = [name for row in rows for name in re.findall(r"`(SLOTCAR_[A-Z_]+)`", row)]
    assert set(documented) == variables()
    assert len(documented) == len(set(documented))


def test_the_sites_menu_has_every_page_and_no_other() -> None:
    menu = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    assert set(re.findall(r": (\S+\.md)$", menu, re.MULTILINE)) - FROM_THE_TOP == pages()


def test_the_readme_leads_to_every_page() -> None:
    onward = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Where to go on")[2]
    assert pages() - set(re.findall(r"\]\(docs/([^)#]+\.md)\)", onward)) == set()


def test_the_commands_that_ask_are_all_named() -> None:
    """By the reference of the command line, which is made out of the code."""
    sections = re.split(
        r"^#+ (?=`slotcar )", (DOCS / "reference" / "cli.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    with_question = {
        section.partition("`")[2].partition("`")[0] for section in sections if "--yes`: do not ask" in section
    }
    text = (DOCS / "howto" / "operate.md").read_text(encoding="utf-8")
    named = re.findall(r"`([^`]+)`", text.partition("Commands that ask (")[2].partition(")")[0])
    assert {f"slotcar {' '.join(name.split())}".removesuffix(" --repair") for name in named} == with_question
