"""Sign-ins that are under way: what a browser took along to an issuer, until it comes back with it, once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine, delete, insert, select

from slotcar.store import database, schema

_sign_in = schema.web_sign_in.c
#: Under way at once; beyond, the oldest give way. Whoever begins many keeps nobody out: each is a transaction, and no
#: controller begins so many in the minute that a person takes. A refusal would keep everybody out (ADR 88).
MOST_UNDER_WAY = 100_000


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """
    Attributes:
        browser_sha256: of what the browser that began keeps in a cookie.
        state, nonce: what the way back and the ID token must repeat.
        verifier: by which the code is worth nothing to anybody else (RFC 7636).
        back: a path of this site. zone: of the session that begins.
    """

    browser_sha256: str
    state: str
    issuer: str
    nonce: str
    verifier: str
    back: str
    zone: str
    begun_at: datetime


@dataclass(frozen=True, slots=True)
class SignInStore:
    """
    Raises (every method):
        LedgerUnavailable.
    """

    engine: Engine
    most: int = MOST_UNDER_WAY

    def add(self, pending: PendingSignIn, forget_before: datetime) -> None:
        """Forgets those that were begun earlier than that and never came back, and the oldest above `most`."""
        values = {name: getattr(pending, name) for name in PendingSignIn.__slots__}
        with database.answering(), self.engine.begin() as connection:
            connection.execute(delete(schema.web_sign_in).where(_sign_in.begun_at < forget_before))
            newest_first = select(_sign_in.browser_sha256).order_by(_sign_in.begun_at.desc(), _sign_in.browser_sha256)
            too_many = newest_first.offset(self.most - 1)
            connection.execute(delete(schema.web_sign_in).where(_sign_in.browser_sha256.in_(too_many)))
            connection.execute(insert(schema.web_sign_in).values(values))

    def take(self, browser_sha256: str) -> PendingSignIn | None:
        """What a browser began; it is there no longer afterwards, whoever else asks for it."""
        statement = delete(schema.web_sign_in).where(_sign_in.browser_sha256 == browser_sha256)
        with database.answering(), self.engine.begin() as connection:
            row = connection.execute(statement.returning(schema.web_sign_in)).one_or_none()
        return PendingSignIn(*row) if row else None
