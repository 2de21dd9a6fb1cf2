"""Entries that were read before, kept in memory: most of what is open at one boundary is open at the next one too.

A row is the same row as long as PostgreSQL's `xmin`, the transaction that wrote it, is the same: no change of a row keeps
it. So what is kept is as exact as what is read, and nobody has to say that something has changed. Numbers of transactions
begin anew in a database that was restored from a copy: the time of the row's last change is compared too.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, any_, bindparam, literal_column
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.types import BigInteger

from slotcar.book.model import Entry
from slotcar.store import rows, schema

#: Number, transaction that wrote it, time of its last change.
Key = tuple[int, str, datetime]
#: So many entries are kept, those that were asked for last: some 6 kB each.
MOST_KEPT = 8_192
_entry = schema.entry.c
_WRITTEN_BY: ColumnElement[str] = literal_column("entry.xmin::text").label("written_by")
_READ = rows.SELECT_ENTRY.add_columns(_WRITTEN_BY).where(
    _entry.number == any_(bindparam("numbers", type_=ARRAY(BigInteger)))
)


@dataclass(slots=True)
class KnownEntries:
    """The entries of one ledger that were read before. Several threads may use it."""

    _entries: OrderedDict[Key, Entry] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def read(self, connection: Connection, wanted: Select[Any]) -> tuple[Entry, ...]:
        """The entries that `wanted`, a selection of entries, finds, in its order.

        The first statement reads their numbers, the second the entries that are not in memory. One that was changed
        between the two is read as it is by then.
        """
        numbers = wanted.with_only_columns(_entry.number, _WRITTEN_BY, _entry.changed_at)
        keys = [_key(row) for row in connection.execute(numbers)]
        entries = self._cached(keys)
        if unknown := [key[0] for key in keys if key[0] not in entries]:
            entries |= self._keep(connection.execute(_READ, {"numbers": unknown}))
        return tuple(entries[key[0]] for key in keys if key[0] in entries)

    def _cached(self, keys: Iterable[Key]) -> dict[int, Entry]:
        entries = {}
        with self._lock:
            for key in keys:
                if (entry := self._entries.get(key)) is not None:
                    self._entries.move_to_end(key)
                    entries[key[0]] = entry
        return entries

    def _keep(self, read: Iterable[Row[Any]]) -> dict[int, Entry]:
        new = {_key(row): rows.entry_from_row(row) for row in read}
        with self._lock:
            self._entries.update(new)
            while len(self._entries) > MOST_KEPT:
                self._entries.popitem(last=False)
        return {key[0]: entry for key, entry in new.items()}


def _key(row: Row[Any]) -> Key:
    return row.number, row.written_by, row.changed_at
