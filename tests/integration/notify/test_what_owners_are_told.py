"""An owner's webhook is no way to find out which ports of a host are open."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest

from slotcar.base.settings import Settings
from slotcar.book.rules.roles import Caller, Role
from slotcar.notify import webhooks
from slotcar.notify.sending import NO_ANSWER
from slotcar.notify.webhooks import Webhooks
from slotcar.store import Ledger
from tests.integration.notify.conftest import OPERATOR, now
from tests.support.ports import free_port

OWNER = Caller("cms", Role.REQUESTER, "hep")
SECONDS = 0.2


@contextlib.contextmanager
def listening(greeting: bytes | None) -> Iterator[int]:
    """A port that is open and speaks no HTTP: it greets as SSH does, ends at once, or (None) says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.ExitStack() as kept:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection = kept.enter_context(server.accept()[0])
                    if greeting is not None:
                        connection.sendall(greeting)
                        connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.fixture
def ports() -> Iterator[list[int]]:
    with listening(b"SSH-2.0-OpenSSH_9.2\r\n") as ssh, listening(b"") as ends, listening(None) as silent:
        yield [free_port(), ssh, ends, silent]


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was waited beside the receiver's own time."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(webhooks, "ANSWER_S", SECONDS)
    # Of that module alone: other loops of this process wait by the same function.
    monkeypatch.setattr(webhooks, "asyncio", SimpleNamespace(**(vars(asyncio) | {"sleep": sleep})))
    return waited


def test_an_owner_is_told_the_same_of_open_and_closed_ports(
    ledger: Ledger, ports: list[int], waits: list[float], tmp_path: Path
) -> None:
    ours = Webhooks(ledger, Settings(state_dir=tmp_path, webhook_hosts="127.0.0.1"))
    words, outcomes = [], []
    for port in ports:
        one = ours.add(f"http://127.0.0.1:{port}/", None, (), OWNER, now())
        outcome = ours.test(one.id, OWNER, now())
        outcomes.append((outcome.ok, outcome.status, outcome.words))
        words.append(ours.test(one.id, OPERATOR, now()).words)
    assert outcomes == [(False, None, NO_ANSWER)] * len(ports)
    assert len(waits) == len(ports), "each takes as long as the one that says nothing"
    assert max(waits) <= SECONDS
    assert len(set(words)) > 1, "an operator is told why"


def test_what_is_listed_tells_an_owner_no_more(ledger: Ledger, database_url: str, tmp_path: Path) -> None:
    ours = Webhooks(ledger, Settings(state_dir=tmp_path, webhook_hosts="127.0.0.1"))
    for error in (
        "",
        "answered 500",
        "could not be reached: All connection attempts failed",
        "did not answer in time",
    ):
        one = ours.add("http://127.0.0.1:9/", None, (), OWNER, now())
        with psycopg.connect(database_url) as connection:
            connection.execute("UPDATE webhook SET last_error = %s WHERE id = %s", (error, one.id))
    shown = [one.last_error for one, _ in ours.list(OWNER)]
    assert sorted(shown) == sorted(["", "answered 500", NO_ANSWER, NO_ANSWER])
    assert "did not answer in time" in [one.last_error for one, _ in ours.list(OPERATOR)]
    assert {ours.remove(one.id, OWNER).last_error for one, _ in ours.list(OWNER)} == {"", "answered 500", NO_ANSWER}
