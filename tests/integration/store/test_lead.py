"""Who leads gets a number from the session that has the lock; a leader that is gone without a word loses the lock."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from slotcar.book.errors import LedgerUnavailable
from slotcar.store import Ledger, database
from slotcar.store.database import PROBE_S, PROBES, SILENCE_S, UNANSWERED_S, make_engine
from slotcar.store.embedded_server import EmbeddedServer
from slotcar_client.wire.events import ControllerFenceRaised, ControllerLeads
from tests.support.ports import free_port
from tests.support.requests import T0

RAISED = ControllerFenceRaised(fence_before=1, fence_of_device=2041, device="r1")


def test_each_lead_has_a_greater_number(ledger: Ledger) -> None:
    numbers = []
    for _ in range(2):
        with ledger.try_lead() as lease:  # type: ignore[union-attr]
            numbers.append(ledger.take_fence(lease, ControllerLeads(), T0))
            ledger.append_event("push.started", T0)
    assert numbers[1] > numbers[0]
    assert [event.sequence for event in ledger.events() if event.kind == ControllerLeads.kind] == numbers


def test_a_number_goes_above_what_a_device_has_seen_and_the_log_goes_on_from_there(ledger: Ledger) -> None:
    with ledger.try_lead() as lease:  # type: ignore[union-attr]
        first = ledger.take_fence(lease, ControllerLeads(), T0)
        raised = ledger.take_fence(lease, RAISED, T0, above=2041)
        assert (first, raised) == (1, 2042)
        assert ledger.take_fence(lease, ControllerLeads(), T0, above=7) == 2043
    ledger.append_event("push.started", T0)
    assert [event.sequence for event in ledger.events()] == [1, 2042, 2043, 2044]


def test_who_lost_the_lock_gets_no_number_above_the_next_leader_s(ledger: Ledger, database_url: str) -> None:
    old = ledger.try_lead()
    assert old is not None
    assert ledger.take_fence(old, ControllerLeads(), T0) == 1
    with psycopg.connect(database_url, autocommit=True) as admin:
        (lost,) = admin.execute("SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted").fetchall()
        admin.execute("SELECT pg_terminate_backend(%s, 5000)", lost)
    new = ledger.try_lead()
    assert new is not None
    with new:
        assert ledger.take_fence(new, ControllerLeads(), T0) == 2
        with pytest.raises(LedgerUnavailable):
            ledger.take_fence(old, RAISED, T0, above=2)
        assert ledger.last_event() == 2
    old.release()


def test_webhooks_do_not_page_through_numbers_that_were_left_out(ledger: Ledger) -> None:
    ledger.webhooks.add("wh-1", "https://receiver.example.org/", "env:NONE", (), T0, "test")
    with ledger.try_lead() as lease:  # type: ignore[union-attr]
        ledger.take_fence(lease, ControllerLeads(), T0, above=10**12)
    while ledger.webhooks.queue(T0):
        pass
    assert ledger.webhooks.backlogs()["wh-1"].waiting == 1


@pytest.fixture(scope="module")
def tcp_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server that is reached over TCP, as that of another machine is."""
    folder, port = tmp_path_factory.mktemp("tcp") / "postgres", free_port()
    server = EmbeddedServer.of(folder)
    server.ensure_pgdata_inited()
    with (folder / "pg_hba.conf").open("a") as file:
        file.write("host all all 127.0.0.1/32 trust\n")
    server._run(
        "pg_ctl", "-w", "-D", str(folder), "-l", str(folder / "log"), "-o", f"-h 127.0.0.1 -p {port} -k ''", "start"
    )
    yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    server._run("pg_ctl", "-w", "-D", str(folder), "-m", "immediate", "stop")


@pytest.mark.slow
def test_both_ends_of_every_connection_notice_a_peer_that_is_gone(tcp_url: str) -> None:
    engine = make_engine(tcp_url)
    with engine.connect() as connection:
        settings = ("tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout")
        (*server, unanswered_ms) = (
            connection.execute(text(f"SELECT setting::int FROM pg_settings WHERE name = '{name}'")).scalar_one()
            for name in settings
        )
        raw = connection.connection.driver_connection
        assert isinstance(raw, psycopg.Connection)
        with socket.socket(fileno=os.dup(raw.fileno())) as here:
            assert here.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
            options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
            own = [here.getsockopt(socket.IPPROTO_TCP, option) for option in options]
            assert here.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == UNANSWERED_S * 1000
    engine.dispose()
    assert server == own == [SILENCE_S, PROBE_S, PROBES]
    assert unanswered_ms == UNANSWERED_S * 1000
    assert SILENCE_S + PROBE_S * PROBES <= 60, "a dead leader's lock is free in a minute"


def test_a_ledger_that_was_closed_leaves_no_connection_open(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither that of a thread that asked for longer than it was waited for, nor a new one."""
    monkeypatch.setattr(database, "CLOSE_S", 0.0)
    engine = make_engine(database_url)
    late = engine.connect()
    raw = late.connection.driver_connection
    assert isinstance(raw, psycopg.Connection)
    database.close(engine)
    assert late.execute(text("SELECT 1")).scalar_one() == 1
    late.close()
    assert raw.closed
    with pytest.raises(OperationalError, match="was closed"), engine.connect():
        pass
