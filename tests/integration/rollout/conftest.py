"""GARNET's routers in software, with what Slotcar has there without a reservation, for each test as it was at first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from slotcar_lab.ios import Routers
from tests.support.cisco import ROOT, CiscoWorld


@dataclass
class Garnet:
    """`operators` is what each router ran before Slotcar came, `base` what it runs with no reservation."""

    world: CiscoWorld
    operators: dict[str, str]
    base: dict[str, str]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Garnet]:
    with Routers() as routers:
        folder = tmp_path_factory.mktemp("garnet")
        world = CiscoWorld(routers, folder, ROOT / "inventories" / "garnet", no_files=["lbnl-7507"])
        operators = world.running()
        world.push()
        yield Garnet(world, operators, world.running())


@pytest.fixture
def garnet(started: Garnet) -> Iterator[Garnet]:
    yield started
    for router in started.world.routers.values():
        router.heal()
    if started.world.running() != started.base:
        started.world.push()
        assert started.world.running() == started.base
