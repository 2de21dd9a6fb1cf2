"""docs/reference/reservation.md and the code say the same: every key, its default, the example and the error."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from slotcar.base.located_yaml import load
from slotcar.base.problems import InvalidInput
from slotcar.base.vocabulary import Service
from slotcar.reservation import json_schema, load_text
from slotcar.reservation.model import BackgroundShare

TEXT = (Path(__file__).parents[3] / "docs" / "reference" / "reservation.md").read_text(encoding="utf-8")
NOW = datetime(2027, 1, 1, tzinfo=UTC)
BLOCKS = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
EXAMPLE, SCHEDULE, BACKGROUND, VOLUME = (
    next(block for block in BLOCKS if f"# {name}.yml" in block)
    for name in ("example", "schedule", "background", "volume")
)


def rows(section: str) -> dict[str, list[str]]:
    part = next(one for one in re.split(r"^## ", TEXT, flags=re.MULTILINE) if one.startswith(f"{section}\n"))
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("| `")
    ]
    return {row[0].strip("`"): row for row in cells}


def test_every_key_is_there_with_its_default() -> None:
    schema = json_schema()
    assert set(rows("Keys of the file")) == set(schema["properties"])
    entry = schema["properties"]["reservations"]["items"]["properties"]
    table = rows("Keys of a reservation")
    assert list(table) == list(entry)
    for key, row in table.items():
        if default := entry[key].get("default"):
            assert row[3] == f"`{default}`"


def test_the_services_are_those_of_the_vocabulary() -> None:
    assert set(rows("Services")) == set(Service)


def test_the_example_is_a_good_file() -> None:
    assert [one.name for one in load_text(EXAMPLE, "example.yml", NOW)] == ["nightly-raw", "bulk"]
    Draft202012Validator(json_schema()).validate(load(EXAMPLE, "example.yml").data)


def test_the_example_of_a_background_reservation_is_a_good_file() -> None:
    (bulk,) = load_text(BACKGROUND, "background.yml", NOW)
    assert bulk.share == BackgroundShare(weight=2, at_least_bps=1_000_000, at_most_bps=40_000_000)
    Draft202012Validator(json_schema()).validate(load(BACKGROUND, "background.yml").data)


def test_the_example_of_rates_that_change_is_a_good_file() -> None:
    satellite, campaign = load_text(SCHEDULE, "schedule.yml", NOW)
    assert {slot.forward_bps for slot in satellite.slots} == {8_000_000, 34_000_000}
    assert [(slot.forward_bps, slot.reverse_bps) for slot in campaign.slots] == [
        (20_000_000, 1_000_000),
        (36_000_000, 0),
    ]
    Draft202012Validator(json_schema()).validate(load(SCHEDULE, "schedule.yml").data)


def test_the_example_of_volumes_is_a_good_file() -> None:
    assert [one.need.volume_bytes for one in load_text(VOLUME, "volume.yml", NOW) if one.need] == [
        200_000_000_000,
        30_000_000_000,
    ]
    Draft202012Validator(json_schema()).validate(load(VOLUME, "volume.yml").data)


def test_the_error_is_what_the_example_with_that_slip_is_told() -> None:
    (printed,) = re.findall(r"```text\n(example\.yml:.*?)\n```", TEXT, re.DOTALL)
    with pytest.raises(InvalidInput) as refusal:
        load_text(EXAMPLE.replace("12 Mbit/s", "12 mb"), "example.yml", NOW)
    assert str(refusal.value) == printed
