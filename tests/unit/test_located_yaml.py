"""What a text may be that is parsed: a hostile one is refused before it has cost anything."""

from __future__ import annotations

import json
import subprocess
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from slotcar.base.located_yaml import MAX_DEPTH, is_too_deep, line_of, load, parse_json
from slotcar.base.problems import InvalidInput
from slotcar.network.reading import read_inventory
from slotcar.planning.plan_file import plan_in

MANY = 100_000
#: 100 kB each. The first took nine seconds at 2 kB.
DEEP = ("[" * MANY, "- " * MANY, "? " * MANY, "{a: " * MANY, "[? " * MANY, "a: [" * MANY, "[[" * MANY + "]]" * MANY)
LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(9)
)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The events that were taken from parsers, of all of them."""
    events: list[Any] = []
    real = yaml.parse

    def counted(*given: Any, **options: Any) -> Iterator[Any]:
        for event in real(*given, **options):
            events.append(event)
            yield event

    monkeypatch.setattr(yaml, "parse", counted)
    return events


@pytest.mark.parametrize("text", DEEP, ids=lambda text: text[:4])
def test_depth_is_refused_while_the_events_come(text: str, parsed: list[Any]) -> None:
    with pytest.raises(InvalidInput, match=r"nested deeper than 40 levels|is not YAML"):
        load(text, "a.yml")
    assert len(parsed) < 4 * MAX_DEPTH


def test_the_line_of_a_key_in_a_deep_inventory_costs_as_little(tmp_path: Path, parsed: list[Any]) -> None:
    file = tmp_path / "hosts.yml"
    file.write_text("all: " + "[" * MANY)
    assert line_of(file, "all.hosts") == 0
    assert len(parsed) < 4 * MAX_DEPTH


def test_what_is_no_yaml_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = yaml.parse

    def counted(text: str, Loader: Any) -> Any:  # noqa: N803 - PyYAML's own name
        calls.append(Loader)
        return real(text, Loader=Loader)

    monkeypatch.setattr(yaml, "parse", counted)
    with pytest.raises(InvalidInput):
        load("a: [b\n", "a.yml")
    assert calls == [yaml.CSafeLoader]


@pytest.mark.parametrize("name", ["hosts.yml", "group_vars/all", "host_vars/r1.json"])
@pytest.mark.parametrize(
    ("text", "words"),
    [("all: " + "[" * MANY, "nested deeper than 100 levels"), (LAUGHS, "grows too large through its aliases")],
    ids=["deep", "billion laughs"],
)
def test_ansible_is_given_no_such_inventory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, words: str
) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("Ansible reads it"))
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=words) as refused:
        read_inventory(tmp_path)
    assert str(refused.value).startswith(f"{tmp_path / name}:")


def peak_bytes(text: str) -> int:
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput):
            load(text, "a.yml")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "text",
    [
        LAUGHS,
        f"? {'n' * 50_000}\n: [{'a, ' * 20_000}]\n",  # a long name that each of many keys would hold
        "".join(f"%TAG !t{number}! tag:a:\n" for number in range(5_000)) + "--- a\n",
    ],
    ids=["billion laughs", "long name", "tag directives"],
)
def test_a_text_takes_little_memory_beside_itself(text: str) -> None:
    assert peak_bytes(text) < 30_000_000


def test_a_long_scalar_is_read() -> None:
    text = "n" * 1_000_000
    assert load(f"a: {text}", "a.yml").data == {"a": text}


def test_json_is_no_deeper_than_yaml() -> None:
    most: Any = []
    for _ in range(MAX_DEPTH):
        most = [most]
    assert not is_too_deep(most)
    assert parse_json(json.dumps(most)) == load(json.dumps(most), "a.json").data
    for text in (json.dumps([most]), json.dumps({"a": {"b": most}}), "[" * MANY, "[" * 900 + "]" * 900):
        with pytest.raises(ValueError, match=r"nested deeper than 40 levels|is not JSON"):
            parse_json(text)


def test_a_deep_plan_file_is_no_plan() -> None:
    text = b'{"ledger_sequence": ' + b"[" * 900 + b"]" * 900 + b"}"
    assert plan_in({Path("plan.json"): text}) is None


@pytest.mark.parametrize("text", [f"a: !{'t' * 50_000} x", f"a: *{'n' * 50_000}"], ids=["tag", "alias"])
def test_a_problem_quotes_a_hundred_characters(text: str) -> None:
    (problem,) = load(text, "a.yml").problems
    assert len(problem.value) == 100
