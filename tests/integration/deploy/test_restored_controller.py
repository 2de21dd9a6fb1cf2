"""A controller that starts with a restored backup: routers that are right since are left alone, and a rollback works."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from slotcar_lab.ios import Routers
from tests.support.cisco import ROOT, CiscoWorld
from tests.support.controllers import Controller, slotcar
from tests.support.patience import wait_for
from tests.support.postgres import stop_server

FLOW = ("--source", "anl-premium", "--protocol", "udp", "--owner", "hep", "--rate", "10 Mbit/s")
ENDED, BEGUN = "5001", "5002"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[CiscoWorld]:
    with Routers() as routers:
        (tmp_path / "world").mkdir()
        yield CiscoWorld(routers, tmp_path / "world", ROOT / "inventories" / "garnet")


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """Of the controller that is lost, and of the one in its place."""
    both = tmp_path / "first", tmp_path / "second"
    for one in both:
        one.mkdir()
    yield both
    for one in both:
        stop_server(one / "postgres")


def carried(world: CiscoWorld) -> set[str]:
    """The ports that any router has lines for."""
    text = "".join(world.running().values())
    return {port for port in (ENDED, BEGUN) if f"eq {port}" in text}


@pytest.mark.slow  # a slot ends and another begins in real time
def test_what_is_right_on_routers_since_the_backup_is_left_alone(
    world: CiscoWorld, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    first, second = folders
    backup = str(tmp_path / "backup")
    with Controller(first, world.inventory) as controller:
        wait_for(controller.settled, "the routers to have what stands")
        base = world.running()
        for port, start, duration in ((ENDED, "now", "40 s"), (BEGUN, "now + 40 s", "1 h")):
            to = ("--destination", f"lbnl-premium:{port}", "--name", f"to-{port}")
            controller.slotcar("create", *FLOW, *to, "--start", start, "--duration", duration)
        assert "2 reservations" in controller.slotcar("db", "backup", backup)
        wait_for(lambda: carried(world) == {BEGUN}, "the first to end and the second to begin")
        controller.wait_settled()
    since = world.running()
    shutil.rmtree(first)

    environment = controller.environment | {"SLOTCAR_STATE_DIR": str(second)}
    slotcar("db", "restore", backup, environment=environment)
    lines = {name: len(router.history) for name, router in world.routers.items()}
    with Controller(second, world.inventory) as controller:
        wait_for(controller.settled, "the routers to be read")
        assert world.running() == since
        assert {name: len(router.history) for name, router in world.routers.items()} == lines, "nothing was pushed"
        states = {one["reservation"]["name"]: one["state"] for one in controller.get("/v1/reservations")["items"]}
        assert states.get(f"to-{BEGUN}") == "committed"
        controller.slotcar("rollback", "--reservation", f"hep/to-{BEGUN}", "--yes")
        assert world.running() == base
