"""Sessions of browsers: opened with a token or by an issuer, kept by an opaque id, and over when the token is, or nobody
has come for long.

The id carries 256 random bits and stands in a cookie alone; the ledger keeps its hash (ADR 32).
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from slotcar.auth.claims import NobodyHere, caller_of
from slotcar.auth.tokens import TokenStore, digest
from slotcar.book.rules.roles import Caller
from slotcar.store.sessions import Session, SessionStore

#: A session that nobody has used for so long is over.
IDLE = timedelta(hours=8)
#: When it was last used is not written down more often.
SEEN_EVERY = timedelta(minutes=1)
USUAL_ZONE = "UTC"


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who asks, and its session."""

    caller: Caller
    session: Session


@dataclass(frozen=True, slots=True)
class Sessions:
    """The sessions of one controller. A token with scopes opens none: pages show what many verbs read.

    Attributes:
        anyone: whom a session without a token stands for; None where nobody is anything without one.
    """

    store: SessionStore
    tokens: TokenStore
    anyone: Caller | None = None

    def sign_in(self, secret: str, now: datetime, zone: str = USUAL_ZONE) -> str | None:
        """The id of a new session; None for what is no token of this controller.

        Raises:
            InvalidInput: the token file is not in order.
        """
        caller = self.tokens.caller(secret, now)
        if caller is None or caller.scopes:
            return None
        self.store.forget(now - IDLE)
        return self._open(caller.name, digest(secret), zone, now)

    def open_of_issuer(
        self, name: str, issuer: str, claims: Mapping[str, Any], ends_at: datetime, zone: str, now: datetime
    ) -> str:
        """A session of a person whom an issuer named; `claims` are looked at anew whenever it is used."""
        self.store.forget(now - IDLE)
        session_id = secrets.token_urlsafe(32)
        self.store.add(Session(digest(session_id), name, None, zone, now, now, issuer, claims, ends_at))
        return session_id

    def open_without_token(self, now: datetime, zone: str) -> str:
        """A session of whoever reaches an open controller, for what it chooses to be shown."""
        assert self.anyone is not None
        self.store.forget(now - IDLE)
        return self._open(self.anyone.name, None, zone, now)

    def _open(self, name: str, token_sha256: str | None, zone: str, now: datetime) -> str:
        session_id = secrets.token_urlsafe(32)
        self.store.add(Session(digest(session_id), name, token_sha256, zone, now, now))
        return session_id

    def find(self, session_id: str, now: datetime) -> SignedIn | None:
        """The session of that id; None where there is none any more. A session whose time is over is ended.

        Raises:
            InvalidInput: the token file is not in order.
        """
        session = self.store.find(digest(session_id))
        if session is None:
            return None
        caller = self._caller(session, now)
        if caller is None or now - session.seen_at > IDLE:
            self.store.end(session.id_sha256)
            return None
        if now - session.seen_at > SEEN_EVERY:
            self.store.touch(session.id_sha256, now)
        return SignedIn(caller, session)

    def _named(self, session: Session, now: datetime) -> Caller | None:
        """Whom the issuer named, as the site's mapping has it now."""
        issuer = next((one for one in self.tokens.site.issuers if one.name == session.issuer), None)
        if issuer is None or session.ends_at is None or now >= session.ends_at:
            return None
        try:
            return caller_of(session.claims or {}, issuer, self.tokens.site, session.ends_at)
        except NobodyHere:
            return None

    def still(self, signed: SignedIn, now: datetime) -> bool:
        """Whether the session's token is the one that it was, with the same rights. Asks no database.

        Raises:
            InvalidInput: the token file is not in order.
        """
        return self._caller(signed.session, now) == signed.caller

    def _caller(self, session: Session, now: datetime) -> Caller | None:
        """Whom the token stands for now: its role may have changed, and a new token of its name is another one."""
        if session.issuer is not None:
            return self._named(session, now)
        if session.token_sha256 is None:
            return self.anyone
        for token in self.tokens.tokens():
            same = token.name == session.token_name and hmac.compare_digest(token.sha256, session.token_sha256)
            if same and not token.scopes and (token.expires_at is None or now < token.expires_at):
                return self.tokens.known(token)
        return None
