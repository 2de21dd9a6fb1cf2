"""The migrations make what `schema.py` says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import make_url

from slotcar.book.errors import LedgerUnavailable
from slotcar.book.operations import Admit
from slotcar.store import Ledger, open_ledger
from slotcar.store.database import make_engine
from slotcar.store.revisions import MIGRATIONS, SchemaState, known_revisions
from slotcar.store.schema import metadata
from tests.support.command_line import in_this_process
from tests.support.requests import T0, request, reservation


def test_the_migrated_database_has_the_tables_that_the_code_names(ledger: Ledger, database_url: str) -> None:
    engine = make_engine(database_url)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, metadata)
    engine.dispose()
    # Indexes and uniqueness live in the migrations alone: they are the database's business.
    kinds = {entry[0] if isinstance(entry, tuple) else entry[0][0] for entry in differences}
    assert kinds <= {"remove_index", "remove_constraint", "add_constraint", "remove_fk"}, differences


@pytest.mark.parametrize(
    ("revision", "state", "words"),
    [
        ("0013", SchemaState.BEHIND, "is of an older version: run slotcar db upgrade"),
        ("unheard-of", SchemaState.AHEAD, "is of a newer version than this Slotcar: upgrade Slotcar"),
    ],
)
def test_tables_of_another_version_are_recognised(
    ledger: Ledger, database_url: str, tmp_path: Path, revision: str, state: SchemaState, words: str
) -> None:
    assert ledger.schema_state() is SchemaState.CURRENT
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("UPDATE alembic_version SET version_num = %s", (revision,))
    assert ledger.schema_state() is state
    with pytest.raises(LedgerUnavailable, match=words):
        open_ledger(database_url, tmp_path)


def test_the_revisions_are_read_off_the_files_as_alembic_chains_them() -> None:
    chained = [step.revision for step in ScriptDirectory(str(MIGRATIONS)).walk_revisions()]
    assert known_revisions() == chained[::-1]


def test_a_column_that_is_not_there_says_what_makes_it(ledger: Ledger, database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("ALTER TABLE entry DROP COLUMN volume_bits")
    with pytest.raises(LedgerUnavailable, match="run slotcar db upgrade"):
        ledger.usage("hep", T0)
    with pytest.raises(LedgerUnavailable, match="run slotcar db upgrade"):
        ledger.run(Admit(T0, request(reservation(rate_bps=10), resources=())))


def test_a_database_whose_text_is_not_utf_8_is_refused_with_what_makes_one(
    server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(
            "CREATE DATABASE of_bytes ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        )
        try:
            monkeypatch.setenv("SLOTCAR_STATE_DIR", str(tmp_path))
            monkeypatch.setenv(
                "SLOTCAR_DATABASE_URL", make_url(server_url).set(database="of_bytes").render_as_string()
            )
            done = in_this_process(monkeypatch, capfd)("db", "upgrade")
        finally:
            connection.execute("DROP DATABASE of_bytes WITH (FORCE)")
    assert done.code == 1
    assert "keeps text as SQL_ASCII, and the ledger needs UTF8" in done.err
    assert "createdb --encoding UTF8" in done.err


@pytest.fixture
def stranger(server_url: str) -> Iterator[str]:
    """A role that owns nothing; a connection takes it by its options."""
    name = f"slotcar_stranger_{os.getpid()}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {name}")
        yield name
        connection.execute(f"DROP ROLE {name}")


@pytest.mark.parametrize("tables", ["there", "not there yet"])
def test_a_role_without_rights_is_told_which_one_to_connect_as(
    database_url: str, empty_database_url: str, stranger: str, tables: str, tmp_path: Path
) -> None:
    url = make_url(database_url if tables == "there" else empty_database_url)
    as_stranger = url.update_query_dict({"options": f"-c role={stranger}"}).render_as_string(hide_password=False)
    with pytest.raises(LedgerUnavailable, match=r"refuses this: permission denied .* the role that owns the database"):
        open_ledger(as_stranger, tmp_path, migrate=True)
