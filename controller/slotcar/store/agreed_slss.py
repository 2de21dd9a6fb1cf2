"""SLSs that domains agree on, as rows."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, select
from sqlalchemy.dialects import postgresql

from slotcar.base.timebase import iso
from slotcar.book.agreed_slss import AgreedSls, SlsForm
from slotcar.network.model import Sls
from slotcar.store import schema


def all_of(connection: Connection) -> tuple[AgreedSls, ...]:
    """In the order in which they were opened."""
    table = schema.agreed_sls
    return tuple(map(_from_row, connection.execute(select(table).order_by(table.c.number))))


def write(connection: Connection, agreed: AgreedSls, *, is_dropped: bool) -> None:
    table = schema.agreed_sls
    if is_dropped:
        connection.execute(delete(table).where(table.c.id == agreed.id))
        return
    values = {
        "id": agreed.id, "name": agreed.name, "rests_on": agreed.rests_on, "attempt": agreed.attempt,
        "in_force": _written(agreed.in_force), "proposed": _written(agreed.proposed), "over": agreed.over,
        "closed": agreed.closed,
    }  # fmt: skip
    statement = postgresql.insert(table).values(values)
    connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=values))


def _written(form: SlsForm | None) -> dict[str, Any] | None:
    if form is None:
        return None
    ended_at = iso(form.ended_at) if form.ended_at else None
    return {"sls": form.sls.model_dump(mode="json"), "ended_at": ended_at}


def _from_row(row: Row[Any]) -> AgreedSls:
    return AgreedSls(
        row.id, row.name, _read(row.in_force), row.rests_on, _read(row.proposed), row.attempt, row.over, row.closed
    )


def _read(document: dict[str, Any] | None) -> SlsForm | None:
    if document is None:
        return None
    ended_at = document["ended_at"]
    return SlsForm(Sls.model_validate(document["sls"]), datetime.fromisoformat(ended_at) if ended_at else None)
