"""The page on a loopback port, over a database of the test's own and the inventory of GARNET."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from slotcar.auth.tokens import create_token
from slotcar.base.settings import Settings
from slotcar.book.model import Entry
from slotcar.book.rules.roles import Caller, Role
from slotcar.desk.desk import Desk
from slotcar.desk.requests import Options, Requests
from slotcar.network.model import Network
from slotcar.reservation import from_mapping
from slotcar.rollout.status import LoopStatus
from slotcar.store import Ledger
from slotcar.web.app import create_app
from tests.integration.api.conftest import GARNET, Running, body, network
from tests.support.controllers import NO_TLS
from tests.support.patience import PATIENCE_S

__all__ = ["network"]
OPERATOR = Caller("ops", Role.OPERATOR)
#: Labels that would be markup, leave an attribute, and be a formula.
HOSTILE = {"note": "<script>alert(1)</script>", "quote": '" onmouseover="alert(2)', "formula": "=1+1"}


class Site:
    """A controller with its page; `tokens` by role, all of the owner hep."""

    def __init__(self, desk: Desk, tokens: dict[str, str], loop: LoopStatus) -> None:
        self.base_url = ""
        self._running: Running | None = None
        self.desk = desk
        self.tokens = tokens
        self.loop = loop
        self._clients: list[httpx.Client] = []

    def start(self) -> None:
        """Begins to answer, again at the address that it had."""
        self._running = Running()
        port = int(self.base_url.rpartition(":")[2]) if self.base_url else 0
        desk = self.desk
        client = self._running.start(
            desk.ledger, desk.network, desk.settings, port, loop=self.loop, application=create_app
        )
        self.base_url = str(client.base_url).rstrip("/")

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running = None

    def client(self) -> httpx.Client:
        """Of nobody yet; it sends where its forms come from, as browsers do."""
        client = httpx.Client(
            base_url=self.base_url, headers={"Origin": self.base_url}, timeout=PATIENCE_S, verify=NO_TLS
        )
        self._clients.append(client)
        return client

    def signed_in(self, role: str) -> httpx.Client:
        client = self.client()
        answer = client.post("/sign-in", data={"token": self.tokens[role]})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        return client

    def reserve(self, name: str, hold: timedelta | None = None, **more: Any) -> Entry:
        now = datetime.now(UTC)
        return Requests(self.desk).create(from_mapping(body(name, **more), now), OPERATOR, now, Options(hold=hold))

    def close(self) -> None:
        for client in self._clients:
            client.close()
        self.stop()


#: Starts the page with settings of the test's choice.
Open = Callable[..., Site]


@pytest.fixture
def open_site(ledger: Ledger, network: Network, tmp_path: Path) -> Iterator[Open]:
    sites: list[Site] = []

    def start(**settings: Any) -> Site:
        now = datetime.now(UTC)
        chosen = Settings(state_dir=tmp_path, approval_rate_bps="20 Mbit/s", **({"inventory": GARNET} | settings))
        tokens = {role.value: create_token(tmp_path / "tokens.json", role.value, role, "hep", now) for role in Role}
        loop = LoopStatus(leading=True, settled=True, troubles={"lbnl-7507": "it does not answer"})
        sites.append(Site(Desk(ledger, network, chosen), tokens, loop))
        sites[-1].start()
        return sites[-1]

    yield start
    for site in sites:
        site.close()


@pytest.fixture
def site(open_site: Open) -> Site:
    return open_site()
