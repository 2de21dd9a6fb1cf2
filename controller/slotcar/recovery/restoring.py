"""Fills an empty ledger and an empty state folder from a backup, whole or not at all (ADR 63)."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psycopg
from sqlalchemy import Connection, Engine

from slotcar.base.private_files import LEAST_FREE_BYTES, MEBIBYTE, make_private_folder
from slotcar.base.problems import SlotcarError
from slotcar.base.settings import Settings
from slotcar.recovery.backup_file import LEDGER, STATE, BackupReader, BackupUnusable, Manifest, opened
from slotcar.recovery.state_copy import FOLDERS, TOKENS, WEBHOOK_KEY, single_files
from slotcar.store.copying import COPIED, CopiedTable, copy_in, tables_of, used_tables
from slotcar.store.exclusive import alone
from slotcar.store.migrating import change_to
from slotcar.store.revisions import NEWEST_REVISION, known_revisions, revision_of

KEPT = (*FOLDERS, TOKENS, WEBHOOK_KEY)


class CannotRestore(SlotcarError):
    """Something is there already, or there is no room. Nothing was restored."""


@contextmanager
def usable(file: Path) -> Iterator[BackupReader]:
    """A backup that was read through once and that this version can restore.

    Raises:
        BackupUnusable.
    """
    with opened(file) as backup:
        manifest = backup.manifest
        if manifest.revision not in known_revisions():
            raise BackupUnusable(
                f"{file} is of a newer schema ({manifest.revision}, Slotcar {manifest.slotcar}) than this Slotcar knows"
                f" ({NEWEST_REVISION}): restore it with that Slotcar"
            )
        backup.verify()
        unknown = {table.name for table in manifest.tables} - set(COPIED)
        unknown |= {path for path in manifest.state_parts() if path.partition("/")[0] not in KEPT}
        if unknown:
            raise BackupUnusable(f"{file} is no backup of this Slotcar: it has {min(unknown)}")
        yield backup


def restore(backup: BackupReader, settings: Settings, engine: Engine, *, with_state: bool) -> None:
    """
    Raises:
        CannotRestore, LedgerInUse, LedgerUnavailable. BackupUnusable: its rows are none of a ledger.
    """
    with ExitStack() as undo:
        with alone(engine) as connection:
            if with_state:
                _require_room(backup.manifest, settings)
            _fill(connection, backup)
            if with_state:
                _place(backup, settings, undo)
        undo.pop_all()  # the rows are committed


def _fill(connection: Connection, backup: BackupReader) -> None:
    if used := used_tables(connection):
        raise CannotRestore(
            f"the ledger is not empty: it has rows in {', '.join(used)}; name an empty database in SLOTCAR_DATABASE_URL, or"
            " put the embedded one (`postgres` in the state folder) aside"
        )
    if revision_of(connection):
        change_to(connection, "")
    change_to(connection, backup.manifest.revision)
    has = {table.name: set(table.columns) for table in tables_of(connection)}
    for rows in backup.manifest.tables:
        if set(rows.columns) != has.get(rows.name):
            raise BackupUnusable(f"{backup.path} is damaged: its revision has no such table as {rows.name}")
        try:
            count = copy_in(
                connection, CopiedTable(rows.name, rows.columns), backup.read(f"{LEDGER}/{rows.name}.copy")
            )
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            why = str(error).partition("\n")[0]
            raise BackupUnusable(f"{backup.path} is damaged: the rows of {rows.name} cannot be read: {why}") from error
        if count != rows.rows:
            raise BackupUnusable(f"{backup.path} is damaged: {rows.name} has {count} rows and not {rows.rows}")
    change_to(connection, NEWEST_REVISION)


def _targets(settings: Settings) -> Mapping[str, Path]:
    """Where each of the parts of the state folder goes."""
    return {name: settings.state_dir / name for name in FOLDERS} | single_files(settings)


def _require_room(manifest: Manifest, settings: Settings) -> None:
    """
    Raises:
        CannotRestore: something is where the backup's would be, or the disk is too full for it.
    """
    coming = {path.partition("/")[0] for path in manifest.state_parts()}
    for name, target in _targets(settings).items():
        if name in coming:
            _require_none(target)
    needed = LEAST_FREE_BYTES + sum(one.bytes for name, one in manifest.parts.items() if name.startswith(f"{STATE}/"))
    make_private_folder(settings.state_dir)
    if (free := shutil.disk_usage(settings.state_dir).free) < needed:
        raise CannotRestore(
            f"the disk of {settings.state_dir} has {free // MEBIBYTE} MiB free, and {needed // MEBIBYTE} are needed"
        )


def _require_none(target: Path) -> None:
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise CannotRestore(
            f"{target} is there already, and may be newer than the backup: put it aside, or restore the ledger alone with"
            " --ledger-only"
        )


def _place(backup: BackupReader, settings: Settings, undo: ExitStack) -> None:
    """Writes the state folder's part beside it, then gives everything its name.

    Raises:
        CannotRestore: the disk does not take it, or something came there while the ledger was filled.
    """
    targets = _targets(settings)
    try:
        with tempfile.TemporaryDirectory(dir=settings.state_dir, prefix=".restore-") as folder:
            for path in backup.manifest.state_parts():
                _write(Path(folder) / path, backup.read(f"{STATE}/{path}"))
            for part in sorted(Path(folder).iterdir()):
                target = targets[part.name]
                make_private_folder(target.parent)
                _require_none(target)
                if target.is_dir():
                    target.rmdir()  # it is empty
                undo.callback(_remove, target)
                shutil.move(part, target)  # the tokens may be on another file system
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise CannotRestore(f"{settings.state_dir} cannot be written: {why}; nothing was restored") from error


def _write(file: Path, parts: Iterator[bytes]) -> None:
    make_private_folder(file.parent)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        for part in parts:
            stream.write(part)


def _remove(target: Path) -> None:
    with suppress(OSError):  # what is told is why
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
