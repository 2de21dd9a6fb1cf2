"""docs/reference/inventory.md and the code say the same: every variable and key, its default, and a working example."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from slotcar.base.registry import FOLDERS
from slotcar.base.vocabulary import InterfaceRole, Scheduler
from slotcar.network.connections import ConnectionVariables
from slotcar.network.variables import (
    KNOWN,
    DomainVariables,
    HostVariables,
    InterfaceVariables,
    RouterVariables,
    SlsVariables,
)

TEXT = (Path(__file__).parents[3] / "docs" / "reference" / "inventory.md").read_text(encoding="utf-8")
#: Sections whose table describes a model, and rows that are read entry by entry elsewhere.
MODELS: dict[str, type[BaseModel]] = {
    "Keys of `slotcar_domain`": DomainVariables,
    "Keys of an SLS": SlsVariables,
    "Router": RouterVariables,
    "Keys of an interface": InterfaceVariables,
    "How a router is reached": ConnectionVariables,
    "End system": HostVariables,
}
BY_ENTRY = {"slotcar_interfaces": InterfaceVariables, "slotcar_sls": SlsVariables}


def rows(section: str) -> dict[str, list[str]]:
    """A section's table: its first column to its cells."""
    body = re.split(r"^##+ ", TEXT, flags=re.MULTILINE)
    text = next(part for part in body if part.splitlines()[0] == section)
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")
    ]
    return {row[0].strip("`"): row for row in cells}


def written(cell: str) -> Any:
    """The value in a cell's first code span, as YAML reads it."""
    span = re.match(r"`([^`]*)`", cell)
    assert span, f"{cell} has no code span"
    return yaml.safe_load(span[1])


@pytest.mark.parametrize("section", MODELS)
def test_every_key_of_a_model_is_in_its_table(section: str) -> None:
    assert set(rows(section)) - set(BY_ENTRY) == set(MODELS[section].model_fields)


def test_every_variable_that_is_read_is_described() -> None:
    described = {
        name for section in ("Domain", "Router", "How a router is reached", "End system") for name in rows(section)
    }
    assert described == set(KNOWN)


@pytest.mark.parametrize("section", MODELS)
def test_every_example_is_accepted(section: str) -> None:
    model = MODELS[section]
    required = {name: row for name, row in rows(section).items() if row[3] == "required"}
    for name, row in rows(section).items():
        if name in BY_ENTRY:
            for entry in written(row[4]).values():
                BY_ENTRY[name].model_validate(entry)
            continue
        values = {other: written(row[4]) for other, row in required.items() if other not in BY_ENTRY}
        model.model_validate(values | {name: written(row[4])})


def test_the_domains_examples_are_accepted() -> None:
    table = rows("Domain")
    DomainVariables.model_validate(written(table["slotcar_domain"][4]))
    for entry in written(table["slotcar_sls"][4]).values():
        SlsVariables.model_validate(entry)


@pytest.mark.parametrize("section", MODELS)
def test_every_default_is_the_models(section: str) -> None:
    model = MODELS[section]
    for name, row in rows(section).items():
        if name in BY_ENTRY:
            continue
        default = model.model_fields[name].get_default(call_default_factory=True)
        if row[3] == "required":
            assert default is PydanticUndefined, name
        elif default is None:
            # An interface's default is the router's variable, or what the row says in words.
            assert row[3].startswith(("`null`", f"`slotcar_{name}`", "follows", "`[]`")), name
        else:
            required = {other: written(cells[4]) for other, cells in rows(section).items() if cells[3] == "required"}
            required = {other: value for other, value in required.items() if other not in BY_ENTRY}
            assert getattr(model.model_validate(required | {name: written(row[3])}), name) == default, name


def test_every_scheduler_is_named() -> None:
    for row in (rows("Router")["slotcar_scheduler"], rows("Keys of an interface")["scheduler"]):
        assert set(re.findall(r"`([^`]+)`", row[1])) == {*Scheduler, "linux-tc"}


def test_every_platform_and_role_is_named() -> None:
    assert set(re.findall(r"`([^`]+)`", rows("Router")["slotcar_platform"][1])) == set(FOLDERS)
    assert set(re.findall(r"`([^`]+)`", rows("Keys of an interface")["role"][1])) == set(InterfaceRole)
