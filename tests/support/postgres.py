"""Embedded servers of the tests' own: each is ended by whoever had it started, whatever died in between."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path

import psutil

from slotcar.store import database
from slotcar.store.migrating import change_to
from slotcar.store.revisions import NEWEST_REVISION

STOP_TIMEOUT_S = 20


def stop_server(data_dir: Path) -> None:
    """Ends the PostgreSQL server of that folder; nothing happens where none runs.

    The server stops by itself when the last process that uses it ends in order: one that was killed never does.
    """
    try:
        server = psutil.Process(int((data_dir / "postmaster.pid").read_text().split("\n", 1)[0]))
        if str(data_dir) in " ".join(server.cmdline()):
            server.send_signal(signal.SIGINT)  # PostgreSQL's "fast shutdown"
            server.wait(STOP_TIMEOUT_S)
    except (FileNotFoundError, psutil.NoSuchProcess):
        return


def pull_the_plug(data_dir: Path) -> None:
    """Ends that server with all its processes as a power cut would."""
    server = psutil.Process(int((data_dir / "postmaster.pid").read_text().split("\n", 1)[0]))
    for process in [*server.children(recursive=True), server]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def migrate(database_url: str, revision: str) -> None:
    """Gives a ledger's tables the form of a revision, later or earlier."""
    engine = database.make_engine(database_url)
    try:
        with engine.begin() as connection:
            change_to(connection, NEWEST_REVISION if revision == "head" else revision)
    finally:
        engine.dispose()
