"""What managers have shared out of their communities, as rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, Row, select
from sqlalchemy.dialects import postgresql

from slotcar.book.batch import Key
from slotcar.policy.sharing import CommunityShare
from slotcar.store import schema

_share = schema.community_share.c


def of(connection: Connection, community: str) -> tuple[CommunityShare, ...]:
    """Those of one community, by name."""
    where = select(schema.community_share).where(_share.community == community).order_by(_share.name)
    return tuple(map(_from_row, connection.execute(where)))


def all_of(connection: Connection) -> tuple[CommunityShare, ...]:
    rows = connection.execute(select(schema.community_share).order_by(_share.community, _share.name))
    return tuple(map(_from_row, rows))


def write(connection: Connection, changes: Iterable[tuple[Key, CommunityShare | None]]) -> None:
    """In their order: those that are given take the place of those of their names, None takes one away."""
    for (community, name), share in changes:
        if share is None:
            withdrawal = schema.community_share.delete().where(_share.community == community, _share.name == name)
            connection.execute(withdrawal)
        else:
            values = {one.name: _value(getattr(share, one.name)) for one in fields(share)}
            statement = postgresql.insert(schema.community_share).values(values)
            connection.execute(statement.on_conflict_do_update(index_elements=["community", "name"], set_=values))


def _value(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _from_row(row: Row[Any]) -> CommunityShare:
    values: dict[str, Any] = {key: tuple(one) if isinstance(one, list) else one for key, one in row._mapping.items()}
    return CommunityShare(**values)
