"""Opens the ledger: of a PostgreSQL server, or the embedded one."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from slotcar.ledger import database, embedded
from slotcar.ledger.database import SchemaState
from slotcar.ledger.errors import LedgerUnavailable
from slotcar.ledger.ledger import Ledger


def open_ledger(url: str | None, state_dir: Path, *, migrate: bool | None = None) -> Ledger:
    """The ledger at a PostgreSQL URL, or the embedded one in `state_dir/postgres`.

    The embedded one is brought to this version by itself; a server's only by `slotcar db upgrade` (`migrate`).

    Raises:
        LedgerUnavailable: no server, no room, or tables of another version.
    """
    embedded_one, revive = url is None, None
    if url is None:
        # Nobody else starts it again when it dies.
        revive = partial(embedded.start, (state_dir / "postgres").absolute())
        url = revive()
    ledger = Ledger(database.make_engine(url, revive))
    try:
        if migrate if migrate is not None else embedded_one:
            ledger.upgrade()
        state = ledger.schema_state()
        if migrate is not False and state is not SchemaState.CURRENT:
            raise LedgerUnavailable(_WORDS[state])
    except BaseException:
        ledger.close()
        raise
    return ledger


_WORDS = {
    SchemaState.EMPTY: "the database has no ledger yet: run slotcar db upgrade",
    SchemaState.BEHIND: "the database's ledger is of an older version: run slotcar db upgrade",
    SchemaState.AHEAD: "the database's ledger is of a newer version than this Slotcar: upgrade Slotcar",
}
