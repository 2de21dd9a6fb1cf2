"""A controller with the embedded database is killed: what its next start and `slotcar db stop` say and do."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.cisco import ROOT
from tests.support.controllers import Controller
from tests.support.postgres import stop_server


@pytest.fixture
def state_dir() -> Iterator[Path]:
    """Not below pytest's own folder, which is closed to the account of root's server."""
    with tempfile.TemporaryDirectory(prefix="slotcar-tests-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
        stop_server(Path(folder) / "postgres")


def controller(state_dir: Path) -> Controller:
    # Without an address of its own the embedded database is used; nothing is pushed.
    return Controller(state_dir, ROOT / "inventories" / "lab", SLOTCAR_RECONCILE="false")


def servers(state_dir: Path) -> list[psutil.Process]:
    """Those of PostgreSQL that work on this folder; a server's children have other command lines."""
    processes = []
    for process in psutil.process_iter(["name", "cmdline"]):
        if process.info["name"] == "postgres" and str(state_dir / "postgres") in (process.info["cmdline"] or ()):
            processes.append(process)
    return processes


@pytest.mark.slow
def test_what_a_kill_leaves_is_stated_at_the_next_start_and_ended_by_a_command(
    state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLOTCAR_DATABASE_URL", raising=False)
    with controller(state_dir) as first:
        assert "left running" not in first.log.read_text()
        words = first.slotcar("db", "stop", code=1)
        assert f"(process {first.process.pid}); stop that" in words
        first.kill()
    assert len(servers(state_dir)) == 1, "it outlives who was killed"
    with controller(state_dir) as second:
        assert "the embedded database was left running" in second.log.read_text()
        assert len(servers(state_dir)) == 1, "it is used on"
        second.kill()
    assert len(servers(state_dir)) == 1
    assert "The embedded database has ended." in second.slotcar("db", "stop")
    assert servers(state_dir) == []
    assert "No embedded database runs." in second.slotcar("db", "stop")
    with controller(state_dir) as third:
        assert third.get("/v1/reservations")["items"] == []
        assert "left running" not in third.log.read_text()
    assert servers(state_dir) == [], "it ends with the controller"
