"""Opens the ledger: of a PostgreSQL server, or the embedded one."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from sqlalchemy import Engine

from slotcar.book.errors import LedgerUnavailable
from slotcar.store import database, embedded
from slotcar.store.ledger import Ledger
from slotcar.store.revisions import WORDS, SchemaState


def open_ledger(url: str | None, state_dir: Path, *, migrate: bool | None = None) -> Ledger:
    """The ledger at a PostgreSQL URL, or the embedded one in `state_dir/postgres`.

    The embedded one is brought to this version by itself; a server's only by `slotcar db upgrade` (`migrate`).

    Raises:
        LedgerUnavailable: no server, no room, or tables of another version.
    """
    embedded_one = url is None
    ledger = Ledger(engine_for(url, state_dir))
    try:
        if migrate if migrate is not None else embedded_one:
            ledger.upgrade()
        state = ledger.schema_state()
        if migrate is not False and state is not SchemaState.CURRENT:
            raise LedgerUnavailable(WORDS[state])
    except BaseException:
        ledger.close()
        raise
    return ledger


def engine_for(url: str | None, state_dir: Path) -> Engine:
    """Of the database at a PostgreSQL URL, or of the embedded one, whatever is in it.

    Raises:
        LedgerUnavailable: the URL is not PostgreSQL's; the embedded server does not start.
    """
    if url is not None:
        return database.make_engine(url)
    # Nobody else starts it again when it dies.
    revive = partial(embedded.start, (state_dir / "postgres").absolute())
    return database.make_engine(revive(), revive)
