"""`slotcar check --devices` against routers in software: what stands in the way of a first push. It changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slotcar_lab.ios import Routers, WrongPassword
from tests.support.cisco import ROOT, CiscoWorld
from tests.support.command_line import Cli

NAME, OTHER = "anl-7507-1", "lbnl-7507"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CiscoWorld]:
    with Routers() as routers:
        yield CiscoWorld(routers, tmp_path_factory.mktemp("garnet"), ROOT / "inventories" / "garnet")


def findings(offline: Cli, world: CiscoWorld, *devices: str, code: int = 0) -> dict[tuple[str, str], dict[str, Any]]:
    named = [word for name in devices for word in ("--device", name)]
    done = offline("check", "--devices", *named, "--inventory", str(world.inventory), "--format", "json")
    assert done.code == code, done
    document = json.loads(done.out)
    assert document["ready"] == (code == 0)
    return {(one["subject"], one["what"]): one for one in document["findings"]}


def test_routers_that_answer_are_ready_and_stay_as_they_are(offline: Cli, world: CiscoWorld, tmp_path: Path) -> None:
    before = world.running()
    results = findings(offline, world, NAME, OTHER)
    for name in (NAME, OTHER):
        assert results[name, "answers"]["result"] == "ok"
        assert results[name, "configuration"]["result"] == "ok"
    assert world.running() == before
    assert not (tmp_path / "state" / "revisions").exists()


def test_a_router_without_an_answer_is_one_and_the_others_are_still_read(offline: Cli, world: CiscoWorld) -> None:
    world.routers[NAME].fault(WrongPassword())
    try:
        results = findings(offline, world, NAME, OTHER, code=1)
    finally:
        world.routers[NAME].heal()
    assert results[OTHER, "answers"]["result"] == "ok"
    assert {one["result"] for (name, _), one in results.items() if name == NAME} == {"obstacle"}


def test_files_and_devices_are_two_things(offline: Cli, tmp_path: Path) -> None:
    assert offline("check").code == 2
    assert offline("check", "--devices", str(tmp_path)).code == 2
    assert "--inventory and --format go with --devices" in offline("check", str(tmp_path), "--format", "json").err
