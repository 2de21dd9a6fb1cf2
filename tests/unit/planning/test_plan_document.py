"""A plan goes through its document unchanged; its files are read once, and its paths are found once."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from slotcar.base.located_yaml import load
from slotcar.base.problems import InvalidInput
from slotcar.base.settings import Settings
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.planning import routing, source
from slotcar.planning.errors import PlanRefused
from slotcar.planning.offline import plan_offline
from slotcar.planning.plan import Plan
from slotcar.planning.plan_file import contents_of, plan_document, plan_of_document, read_plan, write_document
from slotcar.planning.source import read_source
from slotcar.planning.step import Action
from slotcar.planning.terms import policy_of
from slotcar.reservation import loading

NOW = datetime(2027, 1, 1, 12, tzinfo=UTC)
FILE = """version: 1
reservations:
  - {name: nightly, owner: hep, source: anl-premium, destination: lbnl-premium, protocol: tcp, service: ip-premium,
     rate: 1 Mbit/s, start: "2027-03-01T22:00:00+01:00", duration: 2 h, recurrence: FREQ=DAILY;COUNT=3,
     timezone: Europe/Zurich}
  - {name: soon, owner: hep, source: anl-premium, destination: "lbnl-premium:5001", protocol: tcp, service: ip-premium,
     rate: 1 Mbit/s, start: now + 1 h, duration: 2 h}
"""


@pytest.fixture(scope="module")
def network() -> Network:
    return load_network(Path("inventories/garnet"))


def planned(network: Network, folder: Path, rate: str = "1 Mbit/s") -> Plan:
    file = folder / "tonight.yml"
    file.write_text(FILE.replace("1 Mbit/s", rate), encoding="utf-8")
    source, policy = read_source([file], NOW, network), policy_of(Settings(), network)
    return plan_offline(source, network, policy, NOW, most_paths=Settings().paths, no_ledger_yet=True)


def test_a_document_asks_for_what_the_plan_does_with_its_time_zone(network: Network, tmp_path: Path) -> None:
    plan = planned(network, tmp_path)
    write_document(plan_document(plan), tmp_path / "plan.json")
    read = read_plan(contents_of([tmp_path / "plan.json"]))
    assert read is not None
    assert [(step.action, step.key, step.reservation) for step in read.steps] == [
        (step.action, step.key, step.reservation) for step in plan.steps
    ]
    assert (read.made_at, read.sequence, read.network_digest) == (plan.made_at, plan.sequence, plan.network_digest)
    nightly = read.steps[0].reservation
    assert nightly is not None
    assert (nightly.timezone, nightly.recurrence) == ("Europe/Zurich", "FREQ=DAILY;COUNT=3")
    assert type(nightly).__name__ == "Reservation"
    (tmp_path / "other.json").write_text((tmp_path / "plan.json").read_text(encoding="utf-8"), encoding="utf-16")
    assert read_plan(contents_of([tmp_path / "other.json"])) == read, "as some shells write what a program prints"


def test_what_follows_from_the_slots_may_be_left_out_and_may_not_be_changed(network: Network, tmp_path: Path) -> None:
    document = plan_document(planned(network, tmp_path))
    step_reservation: dict[str, Any] = document["steps"][0]["reservation"]
    for key, other in (("rate_bps", None), ("rate_bps", 5), ("windows", step_reservation["windows"][:1])):
        changed = json.loads(json.dumps(document))
        changed["steps"][0]["reservation"][key] = other
        with pytest.raises(InvalidInput, match=rf"steps\.0\.reservation\.{key}: does not agree with the slots"):
            plan_of_document(changed, "plan.json", "")
        del changed["steps"][0]["reservation"][key]
        assert plan_of_document(changed, "plan.json", "").steps[0].action is Action.CREATE


def test_a_document_with_a_refusal_is_refused_whole(network: Network, tmp_path: Path) -> None:
    with pytest.raises(PlanRefused, match="hep/nightly, hep/soon"):
        plan_of_document(plan_document(planned(network, tmp_path, "9 Gbit/s")), "plan.json", "")


def test_reservation_files_are_no_plan(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"version": 1, "reservations": []}), encoding="utf-8")
    (tmp_path / "b.json").write_text(json.dumps({"version": 1, "defaults": {"labels": {"ledger_sequence": 1}}}))
    (tmp_path / "c.json").write_text('{"ledger_sequence": ')
    for file in (*sorted(tmp_path.iterdir()), tmp_path, tmp_path / "none.json"):
        assert read_plan(contents_of([file])) is None


def test_what_was_read_to_see_that_it_is_no_plan_is_not_read_again(network: Network, tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(load(FILE, "a.yml").data), encoding="utf-8")
    contents = contents_of([file])
    file.unlink()
    assert read_plan(contents) is None
    assert len(read_source([file], NOW, network, contents=contents).reservations) == 2
    with pytest.raises(InvalidInput, match=r"a\.json:2: is not UTF-8 text"):
        read_source([file], NOW, network, contents={file: b"{\n\xff"})


def test_a_plan_reads_each_file_once_and_finds_each_path_once(
    network: Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def counted(module: Any, name: str) -> None:
        function = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given: (calls.append(name), function(*given))[1])

    counted(loading, "read_text")
    for module in (source, routing):
        counted(module, "find_paths")
    plan = planned(network, tmp_path)
    assert sorted(calls) == ["find_paths", "find_paths", "read_text"]
    assert all(step.routed for step in plan.steps)


def test_a_start_that_is_relative_is_known_from_one_reading(network: Network, tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_text(FILE, encoding="utf-8")
    assert read_source([tmp_path / "a.yml"], NOW, network).relative == {("hep", "soon")}
