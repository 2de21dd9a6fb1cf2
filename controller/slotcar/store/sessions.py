"""Sessions of the page in the ledger's database: of their ids only hashes, so that a copy of it signs nobody in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Engine, delete, insert, select, update

from slotcar.store import database, schema

_session = schema.web_session.c


@dataclass(frozen=True, slots=True)
class Session:
    """One signed-in browser.

    Attributes:
        token_sha256: of the token that it was opened with; None where an open controller asks for none.
        zone: in which times are shown, as `parse_zone` reads it.
        issuer: where the person signed in, by its name here; None where that was with a token. claims: what it said of the
            person. ends_at: when the session is over with what the issuer gave.
    """

    id_sha256: str
    token_name: str
    token_sha256: str | None
    zone: str
    created_at: datetime
    seen_at: datetime
    issuer: str | None = None
    claims: Mapping[str, Any] | None = None
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SessionStore:
    """
    Raises (every method):
        LedgerUnavailable.
    """

    engine: Engine

    def add(self, session: Session) -> None:
        values = {name: getattr(session, name) for name in Session.__slots__}
        with database.answering(), self.engine.begin() as connection:
            connection.execute(insert(schema.web_session).values(values))

    def find(self, id_sha256: str) -> Session | None:
        with database.reading(self.engine) as connection:
            row = connection.execute(select(schema.web_session).where(_session.id_sha256 == id_sha256)).one_or_none()
        return Session(*row) if row else None

    def of_token(self, token_name: str) -> tuple[Session, ...]:
        """The latest seen first."""
        statement = (
            select(schema.web_session).where(_session.token_name == token_name).order_by(_session.seen_at.desc())
        )
        with database.reading(self.engine) as connection:
            return tuple(Session(*row) for row in connection.execute(statement))

    def touch(self, id_sha256: str, now: datetime) -> None:
        """Notes that the session was used."""
        self._set(id_sha256, seen_at=now)

    def set_zone(self, id_sha256: str, zone: str) -> None:
        self._set(id_sha256, zone=zone)

    def _set(self, id_sha256: str, **values: object) -> None:
        with database.answering(), self.engine.begin() as connection:
            connection.execute(update(schema.web_session).where(_session.id_sha256 == id_sha256).values(values))

    def end(self, id_sha256: str) -> None:
        with database.answering(), self.engine.begin() as connection:
            connection.execute(delete(schema.web_session).where(_session.id_sha256 == id_sha256))

    def end_all(self, token_name: str) -> int:
        """Ends all sessions of a token; how many there were."""
        with database.answering(), self.engine.begin() as connection:
            return connection.execute(delete(schema.web_session).where(_session.token_name == token_name)).rowcount

    def forget(self, seen_before: datetime) -> None:
        with database.answering(), self.engine.begin() as connection:
            connection.execute(delete(schema.web_session).where(_session.seen_at < seen_before))
