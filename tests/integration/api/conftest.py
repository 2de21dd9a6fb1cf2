"""The real application on a loopback port, over a database of the test's own and the inventory of GARNET."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from slotcar.api.app import create_app
from slotcar.api.connections import connection_options
from slotcar.api.context import Context
from slotcar.api.streaming import Streams
from slotcar.api.tls import tls_of, with_tls
from slotcar.auth.tokens import TokenStore, create_token
from slotcar.base.settings import Settings
from slotcar.book.rules.roles import Role
from slotcar.desk.desk import Desk
from slotcar.network import load_network
from slotcar.network.model import Network
from slotcar.policy.site import site_of
from slotcar.rollout.status import LoopStatus
from slotcar.store import Ledger, open_ledger
from slotcar.watching.model import WatchStatus
from tests.integration.conftest import copied
from tests.support import prefork
from tests.support.controllers import NO_TLS
from tests.support.patience import PATIENCE_S
from tests.support.ports import free_port

ROOT = Path(__file__).resolve().parents[3]
GARNET = ROOT / "inventories" / "garnet"
START = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
Body = dict[str, Any]
#: Starts the API with settings of the test's choice and gives a client of it.
Serve = Callable[..., httpx.Client]
#: A client with a token of this name, role and owner.
As = Callable[..., httpx.Client]
prefork.fork_plan_processes()


@pytest.fixture(scope="session")
def network() -> Network:
    return load_network(GARNET, None)


class Running:
    """APIs on loopback ports, until the end of whoever started them."""

    def __init__(self) -> None:
        self._servers: list[tuple[uvicorn.Server, threading.Thread, httpx.Client]] = []
        self._contexts: list[Context] = []

    def start(
        self, ledger: Ledger, network: Network, settings: Settings, port: int = 0, streams: Streams | None = None,
        loop: LoopStatus | None = None, watch: WatchStatus | None = None,
        application: Callable[[Context], FastAPI] = create_app,
    ) -> httpx.Client:  # fmt: skip
        if "plan_timeout" not in settings.model_fields_set:
            settings = settings.model_copy(update={"plan_timeout": timedelta(seconds=PATIENCE_S)})
        context = Context(
            Desk(ledger, network, settings, loop=loop, watch=watch),
            TokenStore(settings.tokens_path, site_of(settings.inventory)),
            streams or Streams(),
        )
        self._contexts.append(context)
        port = port or free_port()
        config = uvicorn.Config(
            application(context), host="127.0.0.1", port=port, log_config=None, lifespan="off",
            timeout_graceful_shutdown=1, **connection_options(settings),
        )  # fmt: skip
        server = uvicorn.Server(with_tls(config, tls_of(settings)))
        # A daemon: a fixture that fails before it can stop it does not keep the run from ending.
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the API ended before it listened"
            time.sleep(0.01)
        client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=PATIENCE_S, verify=NO_TLS)
        self._servers.append((server, thread, client))
        return client

    def stop(self) -> None:
        for server, _, client in self._servers:
            client.close()
            server.should_exit = True
        for _, thread, _ in self._servers:
            thread.join()
        for context in self._contexts:
            context.plans.close()


@pytest.fixture
def serve(ledger: Ledger, network: Network, tmp_path: Path) -> Iterator[Serve]:
    """An API of the test's own, over a ledger of its own."""
    running = Running()

    def start(
        inventory: Path = GARNET, how: dict[str, Any] | None = None, other: Network | None = None, **settings: Any
    ) -> httpx.Client:
        chosen = Settings(state_dir=tmp_path, inventory=inventory, **({"open": True} | settings))
        known = network if inventory == GARNET else load_network(inventory, None)
        return running.start(ledger, other or known, chosen, **(how or {}))

    yield start
    running.stop()


@pytest.fixture(scope="session")
def shared(
    server_url: str, migrated: str, network: Network, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    state_dir, running = tmp_path_factory.mktemp("shared"), Running()
    with copied(server_url, migrated) as url, open_ledger(url, state_dir) as ledger:
        yield running.start(ledger, network, Settings(state_dir=state_dir, inventory=GARNET, open=True))
        running.stop()


@pytest.fixture
def api(shared: httpx.Client) -> Iterator[httpx.Client]:
    """An open API (SLOTCAR_OPEN=true): whoever asks is an operator. Nothing is reserved yet."""
    yield shared
    for entry in live(shared):
        shared.post(at(entry, "cancel")).raise_for_status()


@pytest.fixture
def as_(serve: Serve, tmp_path: Path) -> Iterator[As]:
    anyone = None
    clients: list[httpx.Client] = []

    def client_of(
        name: str, role: Role, owner: str = "hep", valid: timedelta | None = None, scopes: Sequence[str] = ()
    ) -> httpx.Client:
        nonlocal anyone
        now = datetime.now(UTC)
        token = create_token(tmp_path / "tokens.json", name, role, owner, now, now + valid if valid else None, scopes)
        anyone = anyone or serve(open=False)
        clients.append(
            httpx.Client(
                base_url=anyone.base_url,
                headers={"Authorization": f"Bearer {token}"},
                timeout=PATIENCE_S,
                verify=NO_TLS,
            )
        )
        return clients[-1]

    yield client_of
    for client in clients:
        client.close()


def body(name: str = "cms", **more: Any) -> Body:
    """A reservation that begins in an hour; None takes a key away."""
    usual = {
        "name": name, "owner": "hep", "source": "anl-premium", "destination": "lbnl-premium:5001", "protocol": "udp",
        "service": "ip-premium", "rate": "10 Mbit/s", "start": START.isoformat(), "duration": "PT2H",
    }  # fmt: skip
    return {key: value for key, value in (usual | more).items() if value is not None}


def live(client: httpx.Client) -> list[Body]:
    """Everything that takes a place."""
    wanted = {"state": ["held", "awaiting-approval", "committed"], "limit": "1000"}
    items: list[Body] = client.get("/v1/reservations", params=wanted).json()["items"]
    return items


def created(client: httpx.Client, name: str = "cms", hold: str | None = None, **more: Any) -> Body:
    answer = client.post("/v1/reservations", json=body(name, **more), params={"hold": hold} if hold else {})
    assert answer.status_code == 201, answer.text
    document: Body = answer.json()
    return document


def at(entry: Body, verb: str = "") -> str:
    return f"/v1/reservations/{entry['handle']}" + (f"/{verb}" if verb else "")


def slotted(reservation: dict[str, Any], **changes: object) -> dict[str, Any]:
    """The reservation of a plan's document with another slot."""
    document = {key: one for key, one in reservation.items() if key not in ("rate_bps", "windows")}
    return document | {"slots": [reservation["slots"][0] | changes]}


def problem(answer: httpx.Response, status: int, kind: str) -> Body:
    """The problem details of a refused request, which must be what RFC 9457 and this API's document say."""
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json"), answer.text
    document: Body = answer.json()
    assert document["type"] == f"urn:slotcar:problem:{kind}"
    assert document["status"] == status
    assert document["instance"] == answer.request.url.path
    assert document["title"]
    assert document["detail"]
    return document
