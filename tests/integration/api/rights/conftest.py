"""An API with a gate, quotas and a horizon, and what tests of the operator's rules do on it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from slotcar.auth.tokens import create_token
from slotcar.base.settings import Settings
from slotcar.book.rules.roles import Role
from slotcar.network.model import Network
from slotcar.store import open_ledger
from tests.integration.api.conftest import (
    GARNET,
    Body,
    Running,
    at,
    live,
)
from tests.integration.conftest import copied
from tests.support.controllers import NO_TLS
from tests.support.patience import PATIENCE_S


class World:
    """One API with a gate, quotas and a horizon; `operator` and two requesters of different owners."""

    def __init__(self, url: str, tokens: Path) -> None:
        now = datetime.now(UTC)
        named = (("ops", Role.OPERATOR, "ops"), ("hep", Role.REQUESTER, "hep"), ("astro", Role.REQUESTER, "astro"))
        self.operator, self.hep, self.astro = (
            httpx.Client(
                base_url=url, timeout=PATIENCE_S, verify=NO_TLS,
                headers={"Authorization": f"Bearer {create_token(tokens, name, role, owner, now)}"},
            )
            for name, role, owner in named
        )  # fmt: skip


def owned(network: Network) -> Network:
    """The network, in which one end system is one owner's."""
    host = network.hosts["lbnl-competing"].model_copy(update={"owners": ("hep",)})
    return network.model_copy(update={"hosts": {**network.hosts, "lbnl-competing": host}})


def patched(client: httpx.Client, entry: Body, **change: str) -> Body:
    answer = client.patch(at(entry), json=change, headers={"If-Match": f'"{entry["version"]}"'})
    assert answer.status_code == 200, answer.text
    document: Body = answer.json()
    return document


def applied(client: httpx.Client, *reservations: Body) -> list[Body]:
    file = {"version": 1, "reservations": list(reservations)}
    plan = client.post("/v1/plans", json=file)
    assert plan.status_code == 200, plan.text
    done = client.post("/v1/applies", json=plan.json())
    assert done.status_code == 200, done.text
    entries: list[Body] = done.json()["entries"]
    return entries


def approved(world: World, entry: Body) -> Body:
    answer = world.operator.post(at(entry, "approve"), headers={"If-Match": f'"{entry["version"]}"'})
    assert answer.status_code == 200, answer.text
    document: Body = answer.json()
    return document


@pytest.fixture(scope="module")
def running_world(
    server_url: str, migrated: str, network: Network, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    state_dir, running = tmp_path_factory.mktemp("rights"), Running()
    settings = Settings(
        state_dir=state_dir, inventory=GARNET, approval_rate_bps="20 Mbit/s", approval_duration="4 h",
        longest_hold="2 h", horizon="30 d",
        owner_quotas={"few": {"reservations": 2, "windows": 4, "holds": 1, "volume": "10 GB"}},
    )  # fmt: skip
    with copied(server_url, migrated) as url, open_ledger(url, state_dir) as ledger:
        world = World(str(running.start(ledger, owned(network), settings).base_url), settings.tokens_path)
        yield world
        for client in (world.operator, world.hep, world.astro):
            client.close()
        running.stop()


@pytest.fixture
def world(running_world: World) -> Iterator[World]:
    yield running_world
    for entry in live(running_world.operator):
        running_world.operator.post(at(entry, "cancel")).raise_for_status()
