"""A controller that can write nowhere says that it is not ready."""

from __future__ import annotations

import errno
import os
import tempfile
from typing import Any

import httpx
import psycopg
import pytest

from slotcar.base.private_files import LEAST_FREE_BYTES
from tests.integration.api.conftest import Serve
from tests.support.patience import PATIENCE_S


def checks(api: httpx.Client, status: int) -> dict[str, str]:
    answer = api.get("/readyz")
    assert answer.status_code == status, answer.text
    return {one["name"]: one["message"] for one in answer.json()["checks"]}


def test_a_read_only_database_is_not_ready(serve: Serve, database_url: str) -> None:
    api = serve()
    assert checks(api, 200)["ledger"] == "schema is current"
    with psycopg.connect(database_url, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        # As at a failover: the controller's connections are new ones, once the old ones have ended.
        connection.execute(
            "SELECT pg_terminate_backend(pid, %s) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()",
            (int(PATIENCE_S * 1000), name),
        )
        assert checks(api, 503)["ledger"] == "schema is current; the database is read-only"
        assert api.get("/healthz").status_code == 200


def test_a_full_disk_is_not_ready(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    api, real = serve(), os.statvfs
    assert checks(api, 200)["disk"] == "there is room"

    def full(path: Any) -> os.statvfs_result:
        values = list(real(path))
        values[4] = (LEAST_FREE_BYTES - 1) // values[1]  # f_bavail, in f_frsize
        return os.statvfs_result(values)

    monkeypatch.setattr(os, "statvfs", full)
    assert "the disk is full (63 MiB free, 64 are needed)" in checks(api, 503)["disk"]


def test_a_disk_that_takes_nothing_is_not_ready(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A quota, or a file system that became read-only: there is free space, and none for us."""
    api = serve()

    def fails(**_: Any) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(tempfile, "TemporaryFile", fails)
    assert "read-only file system" in checks(api, 503)["disk"]
