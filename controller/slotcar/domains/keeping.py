"""Connections as the store's rows."""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from enum import Enum
from typing import Any

from slotcar.base.timebase import iso
from slotcar.domains.model import Connection, ConnectionPhase, NextSays, Own
from slotcar.store.connections import ConnectionRow

_ENUMS: dict[str, type[Enum]] = {"phase": ConnectionPhase, "own": Own, "next_says": NextSays}
_TIMES = frozenset({"ends", "began", "until", "held_until"})
NAMES = tuple(one.name for one in fields(Connection))


def row_of(connection: Connection, revision: int, now: datetime) -> ConnectionRow:
    document = {name: _written(getattr(connection, name)) for name in NAMES}
    return ConnectionRow(
        connection.id, connection.phase.value, connection.is_settled, revision, connection.ends, document, now, now
    )


def connection_of(row: ConnectionRow) -> Connection:
    document = row.document
    values: dict[str, Any] = {name: document[name] for name in NAMES if name in document}
    for name in _TIMES:
        if values.get(name) is not None:
            values[name] = datetime.fromisoformat(values[name])
    for name, kind in _ENUMS.items():
        values[name] = kind(values[name])
    values["members"] = tuple(values.get("members", ()))
    return Connection(**values)


def _written(value: object) -> object:
    return iso(value) if isinstance(value, datetime) else value.value if isinstance(value, Enum) else value
