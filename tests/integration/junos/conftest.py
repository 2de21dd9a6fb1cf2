"""Routers with Junos in software, and revisions for them; and where somebody brought Juniper's models, a server with these.

Without the models (`models.py`) the files that need them are not collected: nothing that a run names is skipped in it.
"""

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
from tests.support.junos import Emulated

NAME = "north-edge"
collect_ignore = [] if models.folder() else ["test_models.py", "test_models_push.py"]


@pytest.fixture(scope="session")
def device() -> Device:
    return load_network(RENDER / "inventories" / "juniper-junos").devices[NAME]


@pytest.fixture
def make_peer(tmp_path: Path, device: Device) -> Iterator[Any]:
    """Makes routers in software; takes `JunosRouter`'s options."""
    opened: list[Peer] = []

    def make(device: Device = device, **options: Any) -> Peer:
        server = Emulated(tmp_path / f"router-{len(opened)}", device, **options)
        peer = Peer(server, device, Archive(tmp_path / f"state-{len(opened)}"))
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


@pytest.fixture(scope="session")
def yang(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Juniper's models, as yanglint and netconfd can read them."""
    if reason := models.why_not():
        pytest.fail(reason)
    requirements.ensure_for("a NETCONF server", control.quiet)
    return models.mended(tmp_path_factory.mktemp("juniper"))


@pytest.fixture
def make_modelled(tmp_path: Path, device: Device, yang: Path) -> Iterator[Any]:
    """Makes peers on netconfd with Juniper's models; takes netconfd's options."""
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
