"""The references' use cases in examples/: each walk-through runs as its reader would run it, on DataGRID's network."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
import yaml

from tests.support.command_line import Cli
from tests.support.documents import Command, steps

ROOT = Path(__file__).resolve().parents[3]
#: What the plan of each is to say.
CASES = {
    "gome": ("assured-rate tcp", "3.055556 Mbit/s", "4 to create"),
    "satellite": ("ip-premium tcp", "8 Mbit/s", "34 Mbit/s", "3 to create"),
    "medical-images": ("assured-rate tcp", "18.666667 Mbit/s", "3 to create"),
    "segmentation": ("ip-premium udp", "164 kbit/s", "32 Mbit/s", "2 to create"),
    "avatar": ("ip-premium udp", "20 kbit/s", "2 to create"),
    "one-to-many": (
        "ip-premium udp",
        "20 Mbit/s",
        "239.1.2.3:1044",
        "for frascati-se, infn-se, lyon-se",
        "1 to create",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_walk_through_does_what_it_says(name: str, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOTCAR_INVENTORY", str(ROOT / "inventories" / "datagrid"))
    monkeypatch.chdir(ROOT)
    lines = [step for step in steps(ROOT / "examples" / name / "README.md") if isinstance(step, Command)]
    assert len(lines) >= 4
    for step in lines:
        done = cli(*shlex.split(step.line)[1:])
        assert done.code == step.code, (step.line, done.out, done.err)
        if step.line.startswith("slotcar plan"):
            assert [words for words in CASES[name] if words not in done.out] == [], done.out


def test_every_site_of_earth_observation_is_an_end_system(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOTCAR_INVENTORY", str(ROOT / "inventories" / "datagrid"))
    names = {one["name"] for one in json.loads(cli("endpoints", "--format", "json").out)["hosts"]}
    assert names >= {"frascati-se", "knmi-se", "ipsl-se", "lyon-se", "kiruna", "matera", "dlr-se"}


def test_the_how_to_of_one_to_many(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOTCAR_INVENTORY", str(ROOT / "inventories" / "datagrid"))
    monkeypatch.chdir(tmp_path)
    for step in steps(ROOT / "docs" / "howto" / "multicast.md", "Reserve a tree"):
        if isinstance(step, Command):
            done = cli(*shlex.split(step.line)[1:])
            assert done.code == step.code, (step.line, done.out, done.err)
            assert "cern-lan" in done.out or "1 to create" in done.out
        else:
            (tmp_path / step.path).write_text(step.text, encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_a_picture_has_every_reservation(name: str) -> None:
    """`python tools/use_case_pictures.py` draws them again."""
    folder = ROOT / "examples" / name
    file = yaml.safe_load((folder / "reservations.yml").read_text())
    drawn = (folder / "rates.svg").read_text()
    ends = [(file["defaults"] | one)["source"] for one in file["reservations"]]
    titles = [f"<!-- {one['name']}: {source} to " for one, source in zip(file["reservations"], ends, strict=True)]
    assert [title for title in titles if title not in drawn] == []
    assert "](rates.svg)" in (folder / "README.md").read_text()
