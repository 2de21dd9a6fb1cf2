"""Juniper's models, and a NETCONF server that has loaded them with a router of the golden cases on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slotcar.network import load_network
from slotcar.network.model import Device
from slotcar.rollout.archive import Archive
from slotcar_lab import control, requirements
from tests.integration.junos import models
from tests.integration.netconf.conftest import RENDER, Peer
from tests.integration.netconf.server import Models, Server

NAME = "north-edge"


@pytest.fixture(scope="session")
def yang(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Juniper's models, as yanglint and netconfd can read them."""
    if reason := models.why_not():
        pytest.skip(reason)
    requirements.ensure_for("a NETCONF server", control.quiet)
    return models.mended(tmp_path_factory.mktemp("juniper"))


@pytest.fixture(scope="session")
def device() -> Device:
    return load_network(RENDER / "inventories" / "juniper-junos").devices[NAME]


@pytest.fixture
def make_peer(tmp_path: Path, device: Device, yang: Path) -> Iterator[Any]:
    """Makes peers; takes netconfd's options."""
    opened: list[Peer] = []

    def make(*options: str, device: Device = device) -> Peer:
        server = Server(tmp_path / "server", *options, models=Models(yang, models.MODULES))
        peer = Peer(server, device, Archive(tmp_path / "state"))
        opened.append(peer)
        server.start()
        return peer

    yield make
    for peer in opened:
        peer.stop()


@pytest.fixture
def peer(make_peer: Any) -> Peer:
    started: Peer = make_peer()
    return started
