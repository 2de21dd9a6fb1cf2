"""The embedded server comes back from whatever ended it, for whoever asks next."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from controller.ledger import Ledger, embedded, open_ledger
from controller.ledger.errors import LedgerUnavailable
from tests.support.controllers import wait_for
from tests.support.postgres import stop_server
from tests.support.requests import T0


@pytest.fixture
def state_dir(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    stop_server(tmp_path / "postgres")


def postmaster(folder: Path) -> psutil.Process:
    return psutil.Process(int((folder / "postmaster.pid").read_text().split("\n", 1)[0]))


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_it_is_started_again_though_somebody_is_connected(state_dir: Path, how: str) -> None:
    """Told to stop, it would wait for the connection and let nobody in: that looked like a database that is gone."""
    folder = state_dir / "postgres"
    with contextlib.closing(psycopg.connect(embedded.start(folder))) as connection:
        first = end(folder, how)
        with contextlib.closing(psycopg.connect(embedded.start(folder))) as again:
            assert again.execute("SELECT 1").fetchone() == (1,)
        assert postmaster(folder).pid != first.pid
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_a_controller_that_lives_on_brings_its_own_server_back(state_dir: Path, how: str) -> None:
    with open_ledger(None, state_dir) as ledger:
        ledger.append_event("controller.leading", T0)
        end(state_dir / "postgres", how)
        wait_for(lambda: answers(ledger), "the database to answer again")
        assert [event.kind for event in ledger.events()] == ["controller.leading"]
        ledger.append_event("controller.leading", T0)


def end(folder: Path, how: str) -> psutil.Process:
    server = postmaster(folder)
    getattr(server, how)()
    if how == "kill":
        server.wait(10)
    else:
        wait_for(lambda: told_to_stop(folder), "the server to hear it")
    return server


def told_to_stop(folder: Path) -> bool:
    file = folder / "postmaster.pid"
    return not file.exists() or "stopping" in file.read_text()


def answers(ledger: Ledger) -> bool:
    """A server that was told to stop goes on serving those that are connected."""
    try:
        ledger.last_event()
    except LedgerUnavailable:
        return False
    return True
