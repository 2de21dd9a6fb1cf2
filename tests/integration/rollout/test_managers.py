"""A resource manager of a third party, installed as its own distribution: reserved, enabled, verified, taken back."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.controllers import Controller, slotcar
from tests.support.patience import PATIENCE_S, wait_for

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "howto" / "new-resource.md"
REFUSED = 3


@dataclass(frozen=True)
class World:
    """A controller with two licence servers; the disk of `lic2` is not there."""

    controller: Controller
    folder: Path
    environment: dict[str, str]

    def slotcar(self, *arguments: str, code: int = 0) -> str:
        return slotcar(*arguments, environment=self.environment, code=code)

    def seats(self) -> dict[str, Any]:
        """What the manager wrote at lic1, by handle."""
        file = self.folder / "seats.json"
        seats: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        return seats

    def group(self, which: str) -> dict[str, Any]:
        group: dict[str, Any] = json.loads(self.slotcar("status", which, "-f", "json"))
        return group

    def file(self, name: str, **members: dict[str, Any]) -> str:
        """A reservation file with one group, which begins at once."""
        group = {
            "name": name,
            "owner": "hep",
            "start": "now",
            "duration": "2 h",
            "members": [{"name": member, **member_document} for member, member_document in members.items()],
        }
        path = self.folder / f"{name}.yml"
        path.write_text(yaml.safe_dump({"version": 1, "together": [group]}))
        return str(path)

    def reserve(self, name: str, **members: dict[str, Any]) -> dict[str, Any]:
        (group,) = json.loads(self.slotcar("reserve", self.file(name, **members), "-f", "json"))
        assert isinstance(group, dict)
        return group


def blocks(language: str) -> list[str]:
    """What the page has in this language, block by block."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the page's package is installed into, as `pip install` does it."""
    target, source = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("source")
    (source / "slotcar_licences").mkdir()
    (source / "slotcar_licences" / "__init__.py").write_text("\n\n".join(blocks("python")))
    (source / "pyproject.toml").write_text("".join(blocks("toml")))
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(source)], check=True, timeout=PATIENCE_S)
    return target


@pytest.fixture(scope="module")
def world(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("licences")
    inventory = folder / "inventory"
    inventory.mkdir()
    text, _ = blocks("yaml")
    document = yaml.safe_load(text)
    hosts = document["all"]["children"]["domains"]["children"]["lbnl"]["hosts"]
    hosts["lic1"]["slotcar_licence_file"] = str(folder / "seats.json")
    hosts["lic2"] = hosts["lic1"] | {"slotcar_licence_file": str(folder / "not-there" / "seats.json")}
    (inventory / "hosts.yml").write_text(yaml.safe_dump(document))
    path = os.pathsep.join([str(installed), str(ROOT), str(ROOT / "client")])
    settings = {"PYTHONPATH": path, "SLOTCAR_CHECK_INTERVAL": "5 s", "SLOTCAR_ADOPT_ALL": "false"}
    with Controller(folder, inventory, max_open_files=4096, **settings) as controller:
        yield World(controller, folder, dict(controller.environment))


def licence(seats: int, server: str = "lic1") -> dict[str, Any]:
    return {"licence": {"server": server, "program": "matlab", "seats": seats}}


def test_the_pages_commands_work_as_they_are_written(world: World) -> None:
    """First of all: nothing is adopted yet, and `SLOTCAR_ADOPT_ALL` is off."""
    (world.folder / "tonight.yml").write_text(blocks("yaml")[1])
    commands = [line.partition("#")[0].split() for line in "".join(blocks("bash")).splitlines()]
    assert [command[:2] for command in commands] == [
        ["slotcar", one] for one in ("adopt", "plan", "reserve", "events")
    ]
    *first, events = [[str(world.folder / one) if one.endswith(".yml") else one for one in c[1:]] for c in commands]
    for command in first:
        world.slotcar(*command)
    wait_for(lambda: len(world.seats()) == 1, "the member to have its seats")
    (has,) = world.seats().values()
    assert has["seats"] == {"matlab": 4}
    assert has["options"]["pool"] == "night"
    wait_for(lambda: "push.verified" in world.slotcar(*events), "the push to be recorded")
    world.slotcar("cancel", has["options"]["group"], "--yes")
    wait_for(lambda: world.seats() == {}, "the seats to be taken back")


@pytest.mark.parametrize("pool", ["two words", "a\nb"])
def test_an_option_that_is_no_word_is_refused_with_its_place_and_hinders_nobody(world: World, pool: str) -> None:
    document = licence(1)
    document["licence"]["pool"] = pool
    refusal = world.slotcar("reserve", world.file("odd", one=document), code=1)
    assert "odd.yml:4: together[0].members[0].licence: pool is" in refusal
    assert "has to be one word: no white space, no control characters" in " ".join(refusal.split())
    assert "hep/odd" not in world.slotcar("status")


@pytest.mark.slow  # in short: the page's commands above, and tests/unit/managers for what is admitted and refused
def test_it_is_reserved_enabled_verified_and_taken_back(world: World) -> None:
    world.slotcar("adopt", "lic1", "--yes")
    group = world.reserve("tonight", one=licence(4), two=licence(6))
    handles = {member["handle"] for member in group["members"]}
    wait_for(lambda: set(world.seats()) == handles, "both members to have their seats")
    assert {one["seats"]["matlab"] for one in world.seats().values()} == {4, 6}
    assert world.group(group["handle"])["state"] == "committed"
    wait_for(lambda: world.group(group["handle"])["slot_state"] == "in-place", "both to be verified")
    for one in world.group(group["handle"])["members"]:
        assert [(at["device"], at["state"]) for at in one["slot"]["devices"]] == [("lic1", "in-place")]
    assert "committed, in place" in world.slotcar("status", group["handle"])
    assert "+hep/tonight.one in place" in world.slotcar("timeline", "--device", "lic1")
    verified = [one for one in world.controller.events() if one["kind"] == "push.verified" and one["device"] == "lic1"]
    assert verified

    refusal = world.slotcar("reserve", world.file("more", ok=licence(1, "lic2"), short=licence(1)), code=REFUSED)
    assert "more.short" in refusal
    assert "licences of matlab on lic1: 1 seats requested, 0 seats free of 10 seats" in refusal
    assert "hep/more" not in world.slotcar("status")

    # Somebody changes it by hand: the next check gives it back.
    (world.folder / "seats.json").write_text("{}")
    wait_for(lambda: set(world.seats()) == handles, "the seats to be given again")

    member = next(iter(handles))
    assert "is a member of the group" in world.slotcar("cancel", member, "--yes", code=1)
    world.slotcar("cancel", group["handle"], "--yes")
    wait_for(lambda: world.seats() == {}, "the seats to be taken back")
    assert {one["state"] for one in world.group(group["handle"])["members"]} == {"cancelled"}
    wait_for(lambda: world.group(group["handle"])["slot_state"] == "ended", "both to be seen to be gone")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("on_failure", "after"),
    [("end-all", {"cancelled"}), ("go-on", {"cancelled", "committed"}), ("report", {"committed"})],
)
def test_a_member_that_fails_at_its_start_does_what_on_failure_says(
    world: World, on_failure: str, after: set[str]
) -> None:
    """The disk of lic2 is not there, so that its seats cannot be given."""
    world.slotcar("adopt", "lic1", "--yes")
    failing = licence(1, "lic2") | {"on_failure": on_failure}
    group = world.reserve(f"with-{on_failure}", good=licence(1), bad=failing)
    bad = next(member["handle"] for member in group["members"] if member["member"] == "bad")

    def failed() -> bool:
        return any(one["kind"] == "group.member-failed" and one["handle"] == bad for one in world.controller.events())

    wait_for(failed, "the failure to be recorded")

    def states() -> set[str]:
        return {one["state"] for one in world.group(group["handle"])["members"]}

    wait_for(lambda: states() == after, f"the members to be {after}")
    good = next(member["handle"] for member in group["members"] if member["member"] == "good")
    wait_for(lambda: (good in world.seats()) == (on_failure != "end-all"), "the good member to have what it should")
    if on_failure != "end-all":
        world.slotcar("cancel", group["handle"], "--yes")
