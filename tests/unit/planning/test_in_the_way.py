"""A plan says what of others' is in the way on its routers, as they were last read, and on which nobody looked."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.settings import Settings
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning import in_the_way
from slotcar.planning.in_the_way import looked_at, looked_words_of, routers_of, sentences_of
from slotcar.planning.offline import plan_offline
from slotcar.planning.plan import Plan
from slotcar.planning.plan_file import plan_document
from slotcar.planning.plan_markdown import plan_markdown
from slotcar.planning.source import read_source
from slotcar.planning.terms import policy_of
from slotcar.platforms import Configuration, renderer_of
from slotcar.platforms.model import Hindrance
from slotcar.rollout.looks import LAST_LOOK, Looks

GARNET = Path(__file__).parents[3] / "inventories" / "garnet"
NOW = datetime(2027, 1, 1, 12, tzinfo=UTC)
READ_AT = NOW - timedelta(minutes=3)
NAME, PORT = "anl-7507-1", "FastEthernet4/0/0"
ENDS = "10000000 1875000 1875000 conform-action transmit exceed-action drop"
FILE = """version: 1
reservations:
  - {name: cms, owner: hep, source: anl-premium, destination: "lbnl-premium:5001", protocol: tcp, service: ip-premium,
     rate: 10 Mbit/s, start: now + 1 h, duration: 2 h}
"""


@pytest.fixture(scope="module")
def network() -> Network:
    return load_network(GARNET)


@pytest.fixture
def plan(network: Network, tmp_path: Path) -> Plan:
    return planned(network, tmp_path, FILE)


def planned(network: Network, folder: Path, text: str) -> Plan:
    file = folder / "tonight.yml"
    file.write_text(text, encoding="utf-8")
    source, policy = read_source([file], NOW, network), policy_of(Settings(), network)
    return plan_offline(source, network, policy, NOW, most_paths=1, no_ledger_yet=True)


def kept(network: Network, folder: Path, names: tuple[str, ...], line: str = "", lists: str = "") -> Looks:
    """Looks at routers that have one line of an operator's, at one port of one of them."""
    looks = Looks(folder / "state")
    read = []
    for name in names:
        device = network.devices[name]
        (command,) = renderer_of(device).readback_commands(device)
        inside = f" {line}\n" if name == NAME else ""
        text = f"!\n{lists}interface {PORT}\n{inside}!\nend\n"
        read.append(renderer_of(device).running({command: text}, device))
    looks.keep(read, network.devices, READ_AT)
    return looks


def test_what_takes_the_packets_of_a_reserved_flow_is_said_with_its_boundary(
    plan: Plan, network: Network, tmp_path: Path
) -> None:
    names = routers_of(plan, network)
    assert NAME in names
    line = f"rate-limit input access-group 150 {ENDS}"
    looks = kept(network, tmp_path, names, line, "access-list 150 permit tcp any any eq 5001\n")
    plan_now = looked_at(plan, network, looks.of)
    (one,) = plan_now.in_the_way
    assert (one.device, one.certain, one.read_at) == (NAME, True, READ_AT)
    assert one.at == NOW + timedelta(hours=1)
    (sentence,) = sentences_of(plan_now)
    assert sentence.startswith(f"{NAME} {PORT}: `{line}` takes packets before Slotcar's lines are asked")
    assert sentence.endswith("(from 2027-01-01T13:00:00Z on; read 2027-01-01T11:57:00Z)")
    assert looked_words_of(plan_now) == ""
    document = plan_document(plan_now)
    assert document["in_the_way"][0]["words"] == one.words
    assert document["not_looked_at"] == []
    markdown = plan_markdown(plan_now, document["boundaries"])
    assert "**In the way on routers**" in markdown
    assert sentence in markdown


def test_a_list_of_other_packets_is_not_in_the_way(plan: Plan, network: Network, tmp_path: Path) -> None:
    line = f"rate-limit input access-group 150 {ENDS}"
    lists = "access-list 150 permit tcp any any eq 22\n"
    plan_now = looked_at(plan, network, kept(network, tmp_path, routers_of(plan, network), line, lists).of)
    assert plan_now.in_the_way == ()
    assert looked_words_of(plan_now) == (
        "Nothing is in the way on the routers of the paths, as they were read at 2027-01-01T11:57:00Z or later."
    )


def test_it_is_looked_for_once_in_each_configuration_of_a_router_however_many_boundaries_bring_it(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one reservation at a time, two configurations: with it, and without."""
    plan = planned(network, tmp_path, FILE.replace("duration: 2 h", "duration: 2 h, recurrence: FREQ=DAILY;COUNT=6"))
    names = routers_of(plan, network)
    assert sum(NAME in one.after for one in plan.boundaries) == 12
    line = f"rate-limit input access-group 150 {ENDS}"
    looks = kept(network, tmp_path, names, line, "access-list 150 permit tcp any any eq 5001\n")
    renderer, calls = renderer_of(network.devices[NAME]), []

    class Counting:
        def hindrances(self, *arguments: Any) -> tuple[Hindrance, ...]:
            calls.append(arguments)
            return renderer.hindrances(*arguments)

    monkeypatch.setattr(in_the_way, "renderer_of", lambda device: Counting())
    (one,) = looked_at(plan, network, looks.of).in_the_way
    assert one.at == NOW + timedelta(hours=1), "the first of them"
    assert len(calls) == 2


def test_routers_that_nobody_read_are_named(plan: Plan, network: Network, tmp_path: Path) -> None:
    names = routers_of(plan, network)
    plan_now = looked_at(plan, network, kept(network, tmp_path, names[:1]).of)
    assert plan_now.not_looked_at == names[1:]
    words = looked_words_of(plan_now)
    assert words.startswith(f"Not looked at: whether others' configuration is in the way on {', '.join(names[1:])};")
    assert "`slotcar plan --devices` reads the routers first" in words
    assert words in plan_markdown(plan_now, ())


def test_a_doubt_stands_behind_what_is_certain_and_says_perhaps(plan: Plan, network: Network, tmp_path: Path) -> None:
    line = f"rate-limit input {ENDS}\n service-policy input OPS"
    plan_now = looked_at(plan, network, kept(network, tmp_path, routers_of(plan, network), line).of)
    assert [one.certain for one in plan_now.in_the_way] == [True, False]
    assert sentences_of(plan_now)[1].startswith("perhaps: anl-7507-1 ")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"device": 1}', "null"])
def test_a_look_that_was_not_kept_whole_is_none(text: str, network: Network, tmp_path: Path) -> None:
    looks = kept(network, tmp_path, (NAME,))
    assert looks.of(network.devices[NAME]) is not None
    (tmp_path / "state" / LAST_LOOK / f"{NAME}.json").write_text(text)
    assert looks.of(network.devices[NAME]) is None


def test_a_look_is_of_one_entry_of_the_inventory(network: Network, tmp_path: Path) -> None:
    looks, device = kept(network, tmp_path, (NAME,)), network.devices[NAME]
    changed = device.model_copy(update={"interfaces": dict(list(device.interfaces.items())[:1])})
    assert looks.of(changed) is None


def test_looks_are_private_and_hold_no_more_than_the_notes(network: Network, tmp_path: Path) -> None:
    kept(network, tmp_path, (NAME,), f"rate-limit input {ENDS}\n description a secret of the operator's")
    file = tmp_path / "state" / LAST_LOOK / f"{NAME}.json"
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert sorted(json.loads(file.read_text())) == ["device", "foreign", "lines", "read_at"]
    assert "secret" not in file.read_text()
    assert list(file.parent.iterdir()) == [file]


def test_a_folder_that_cannot_be_written_stops_nothing(network: Network, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    device = network.devices[NAME]
    looks = Looks(tmp_path / "state")
    looks.keep([Configuration(NAME, device.platform)], network.devices, READ_AT)
    assert looks.of(device) is None
