"""An emulated router takes every rendered change and its undo, and comes back to where it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from slotcar_lab.ios.configuration import Configuration
from slotcar_lab.ios.grammar import load
from tests.unit.lab.ios.brownfield import entered
from tests.unit.lab.ios.test_difference import lines_of
from tests.unit.lab.ios.test_grammar import GOLDENS, platform_of

CHANGES = [path for path in GOLDENS if path.suffix == ".change"]


def booted(path: Path) -> Configuration:
    """The router after a golden change, with the interfaces that any of the case's files names."""
    configuration = Configuration(load(platform_of(path)))
    texts = [path.with_suffix(suffix).read_text() for suffix in (".change", ".undo", ".configuration")]
    names = {line.split()[1] for text in texts for line in text.splitlines() if line.startswith("interface ")}
    assert configuration.load(["mls qos"] * (configuration.grammar.platform == "cisco-cat6500")) == []
    assert configuration.load([f"interface {name}" for name in sorted(names)]) == []
    assert configuration.load(texts[2].splitlines()) == []
    configuration.hardware = frozenset(name.partition(".")[0] for name in names)
    return configuration


@pytest.mark.parametrize("path", CHANGES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_change_and_its_undo_are_taken_and_lead_back(path: Path) -> None:
    # A class of a flow that joins may stand behind flows that it has nothing in common with, so the circle begins
    # before the change, not at the canonical lines after it.
    configuration = booted(path)
    steps = []
    for suffix in (".undo", ".change", ".undo", ".change"):
        lines = path.with_suffix(suffix).read_text().splitlines()
        assert [pair for pair in zip(lines, entered(configuration, *lines), strict=True) if pair[1]] == []
        steps.append(lines_of(configuration))
    assert steps[0] == steps[2] != steps[1] == steps[3]
