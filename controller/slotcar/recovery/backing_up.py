"""Writes a backup: the state folder's files, then the ledger of one moment (ADR 63)."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO

from sqlalchemy import Connection, Engine, text

from slotcar.base.problems import SlotcarError
from slotcar.base.settings import Settings
from slotcar.book.errors import LedgerUnavailable
from slotcar.recovery.backup_file import LEDGER, STATE, BackupWriter, Manifest, TableRows, opened
from slotcar.recovery.state_copy import state_files
from slotcar.store.copying import CopiedTable, copy_out, snapshot, tables_of
from slotcar.store.revisions import WORDS, SchemaState, revision_of, state_of


class CannotBackUp(SlotcarError):
    """No backup was written, and no part of one is left."""


def back_up(settings: Settings, engine: Engine, file: Path) -> Manifest:
    """Writes the file, whole or not at all, for its owner alone, and reads it again before it has its name.

    The ledger comes last: it knows of every push that the archive in the file knows of.

    Raises:
        CannotBackUp: the file is there already, or cannot be written. StateUnreadable, LedgerUnavailable.
    """
    with _new_file(file) as (temporary, stream):
        with BackupWriter(stream) as writer:
            manifest = _write(settings, engine, writer)
        stream.flush()
        os.fsync(stream.fileno())
        with opened(temporary) as again:
            again.verify()
    return manifest


def _write(settings: Settings, engine: Engine, writer: BackupWriter) -> Manifest:
    for name, data in state_files(settings):
        writer.add(f"{STATE}/{name}", data)
    with snapshot(engine) as connection:
        revision, taken_at = _moment(connection)
        tables = tuple(
            TableRows(name=table.name, columns=table.columns, rows=_copy(connection, table, writer))
            for table in tables_of(connection)
        )
    return writer.finish(revision, taken_at, tables)


def _moment(connection: Connection) -> tuple[str, datetime]:
    """The revision of the tables, and the time of the snapshot.

    Raises:
        LedgerUnavailable: there is no ledger, or one of a newer version.
    """
    revision = revision_of(connection)
    if (state := state_of(revision)) is SchemaState.EMPTY:
        raise LedgerUnavailable("there is nothing to back up: the database has no ledger")
    if state is SchemaState.AHEAD:
        raise LedgerUnavailable(WORDS[state])
    return revision, connection.execute(text("SELECT now()")).scalar_one()


def _copy(connection: Connection, table: CopiedTable, writer: BackupWriter) -> int:
    with writer.part(f"{LEDGER}/{table.name}.copy") as write:
        return copy_out(connection, table, write)


@contextmanager
def _new_file(file: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """A file beside `file`, which gets that name at the end; gone where something fails."""
    if file.exists() or file.is_symlink():
        raise CannotBackUp(f"{file} is there already: name a new file")
    temporary = None
    try:
        descriptor, name = tempfile.mkstemp(dir=file.absolute().parent, prefix=f".{file.name}-")  # 0600
        temporary = Path(name)
        with os.fdopen(descriptor, "wb") as stream:
            yield temporary, stream
        os.link(temporary, file)  # and never over one that came meanwhile
    except OSError as error:
        raise CannotBackUp(
            f"{file} cannot be written: {(error.strerror or str(error)).lower()}; no backup was made"
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
