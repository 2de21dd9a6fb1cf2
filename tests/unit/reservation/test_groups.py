"""Groups of reservation files: the example of the reference, what members have from their group, and the schema."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from slotcar.base.located_yaml import load
from slotcar.base.problems import InvalidInput
from slotcar.base.vocabulary import OnFailure
from slotcar.reservation import json_schema, load_text
from slotcar.reservation.loading import read_body

TEXT = (Path(__file__).parents[3] / "docs" / "reference" / "reservation.md").read_text(encoding="utf-8")
EXAMPLE = next(one for one in re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL) if "# together.yml" in one)
NOW = datetime(2027, 1, 1, tzinfo=UTC)


def loaded(text: str) -> dict[str, Any]:
    return {one.name: one for one in load_text(text, "x.yml", NOW)}


def test_the_example_of_the_reference_has_three_members() -> None:
    members = loaded(EXAMPLE)
    assert list(members) == ["tonight.line", "tonight.cores", "tonight.disk"]
    assert {one.windows for one in members.values()} == {members["tonight.line"].windows}
    assert members["tonight.line"].claim is None
    assert members["tonight.cores"].claim.request["cores"] == 2.5
    failures = [one.together.on_failure for one in members.values()]
    assert failures == [OnFailure.END_ALL, OnFailure.END_ALL, OnFailure.GO_ON]
    Draft202012Validator(json_schema()).validate(load(EXAMPLE, "x.yml").data)


def test_a_group_has_the_defaults_of_its_file_but_for_its_own_end() -> None:
    defaults = "defaults: {owner: hep, duration: 1 h, protocol: udp, labels: {run: 7}}\n"
    text = EXAMPLE.replace("together:", f"{defaults}together:").replace("    owner: hep\n", "")
    text = text.replace("duration: 2 h", "end: 2027-03-02T06:00:00+01:00").replace("protocol: tcp, ", "")
    members = loaded(text)
    assert {one.owner for one in members.values()} == {"hep"}
    assert {one.labels["run"] for one in members.values()} == {"7"}
    assert members["tonight.line"].protocol == "udp"
    assert {one.end.hour for one in members.values()} == {5}


def test_a_group_is_said_again_with_the_defaults_in_it() -> None:
    """So that a file can be sent to a controller, which reads it without them."""
    file = load(EXAMPLE, "x.yml").data | {"defaults": {"owner": "astro", "packet_size": "1000 B"}}
    del file["together"][0]["owner"]
    first = read_body(file, NOW, 100)
    second = read_body({"version": 1, "together": first.group_documents}, NOW, 100)
    assert second.reservations == first.reservations


def test_the_windows_of_all_members_count() -> None:
    file = load(EXAMPLE.replace("duration: 2 h", "duration: 2 h\n    recurrence: FREQ=DAILY;COUNT=14"), "x.yml").data
    assert len(read_body(file, NOW, 42).reservations) == 3
    with pytest.raises(InvalidInput, match="brings the windows of the request to 42, more than the 41"):
        read_body(file, NOW, 41)


@pytest.mark.parametrize(
    ("old", "new", "key", "problem"),
    [
        (
            "{user: mover}",
            "{unit: a b}",
            "cpu.bind.unit",
            "is not of the right form (got a b); it matches `^[A-Za-z0-9_][A-Za-z0-9@_.:-]{0,199}$`",
        ),
        (
            "{user: mover}",
            "{proces: 7}",
            "cpu.bind.proces",
            "is no key that is known here; did you mean `process`?",
        ),
        ("user: mover", "user: 7", "cpu.bind.user", "is no text (got 7)"),
        ("{user: mover}", "[7]", "cpu.bind", "is no mapping (got [7])"),
        ("host: lbnl-premium, cores", "host: 5, cores", "cpu.host", "is no text (got 5)"),
        ("host: lbnl-premium, cores", "host: '', cores", "cpu.host", "is too short; at least 1 character"),
        ("host: lbnl-premium, cores", "cores", "cpu.host", "is missing; A host of the inventory."),
        ("write:", "reed:", "storage.reed", "is no key that is known here; did you mean `read`?"),
        ("cores: 2.5", "cores: 2.5, percent: 10 %", "cpu", "say either cores or percent"),
    ],
)
def test_what_is_wrong_with_a_members_request_is_placed_and_in_words(
    old: str, new: str, key: str, problem: str
) -> None:
    text = EXAMPLE.replace(old, new)
    assert text != EXAMPLE
    with pytest.raises(InvalidInput) as refusal:
        loaded(text)
    lines = str(refusal.value).splitlines()
    member = {"cpu": 1, "storage": 2}[key.partition(".")[0]]
    assert f"together[0].members[{member}].{key}: {problem}" in {line.split(": ", 1)[1] for line in lines}
