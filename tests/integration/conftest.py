"""A PostgreSQL of the run's own: the embedded server, with a database for each test."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.engine import make_url

from slotcar.store import Ledger, embedded, open_ledger
from tests.support.postgres import stop_server

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    """Not below pytest's own folder: every pytest that begins closes that one, also to the account of root's server."""
    with tempfile.TemporaryDirectory(prefix="slotcar-tests-", ignore_cleanup_errors=True) as folder:
        url = embedded.start(Path(folder) / "postgres")
        _hurry(url)
        yield url
        stop_server(Path(folder) / "postgres")


def _hurry(url: str) -> None:
    """Has the server leave to the kernel when it writes: nobody reads these databases after a power cut. Most of what a
    database for each test takes is waiting for the disk.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        for setting in ("fsync", "full_page_writes", "synchronous_commit"):
            connection.execute(f"ALTER SYSTEM SET {setting} = off")
        connection.execute("SELECT pg_reload_conf()")


@pytest.fixture(scope="session")
def migrated(server_url: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a database with the ledger's tables, to be copied: quicker than migrating one for each test."""
    name = f"template_{next(_numbers)}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    url = make_url(server_url).set(database=name).render_as_string(hide_password=False)
    open_ledger(url, tmp_path_factory.mktemp("template"), migrate=True).close()
    return name


@contextmanager
def copied(server_url: str, template: str) -> Iterator[str]:
    """The URL of a new database like that one, for as long as it is needed. Its files are copied: page by page through the
    log, as is usual, takes more than twice as much of a processor.
    """
    name = f"test_{next(_numbers)}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY")
    yield make_url(server_url).set(database=name).render_as_string(hide_password=False)
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database_url(server_url: str, migrated: str) -> Iterator[str]:
    """Of a database with the ledger's tables, and nothing in them."""
    with copied(server_url, migrated) as url:
        yield url


@pytest.fixture
def empty_database_url(server_url: str) -> Iterator[str]:
    """Of a database without a table."""
    with copied(server_url, "template1") as url:
        yield url


@pytest.fixture
def ledger(database_url: str, tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(database_url, tmp_path) as opened:
        yield opened
