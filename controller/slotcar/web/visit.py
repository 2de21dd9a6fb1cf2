"""One request of a page: who asks, in which zone, with what; and what a page answers with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import parse_qs

from anyio.lowlevel import EventLoopToken

from slotcar.api.context import Context
from slotcar.auth.sessions import Sessions
from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.units import UnitError
from slotcar.book.model import Entry
from slotcar.book.rules import roles
from slotcar.book.rules.roles import Caller
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries
from slotcar.desk.overview import Overview
from slotcar.store.sessions import Session
from slotcar.web.times import Clock

T = TypeVar("T")
#: Rows of a table.
PAGE = 50


@dataclass(frozen=True, slots=True)
class Visit:
    """Attributes:
    session: None where an open controller is asked by a browser that has chosen nothing yet.
    path: what the address says in its places, by name.
    query, form: by key, the values in order.
    event_loop: the server's; None where the visit is no request's.
    origin: by which the browser reaches this site, such as `https://slotcar.example.net`.
    browser: what a browser that is under way to an issuer keeps.
    """

    context: Context
    sessions: Sessions
    caller: Caller
    session: Session | None
    clock: Clock
    path: Mapping[str, Any] = field(default_factory=dict)
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)
    form: Mapping[str, Sequence[str]] = field(default_factory=dict)
    event_loop: EventLoopToken | None = None
    origin: str = ""
    browser: str = field(default="", repr=False)

    @property
    def desk(self) -> Desk:
        return self.context.desk

    @property
    def overview(self) -> Overview:
        return Overview(self.context.desk)

    def with_slots(self, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        """The entries, each with what is on the devices of its slot."""
        return Entries(self.desk).with_slots(entries, self.caller, self.now)

    @property
    def now(self) -> datetime:
        return self.clock.now

    @property
    def is_operator(self) -> bool:
        return roles.is_operator(self.caller)

    @property
    def may_overview(self) -> bool:
        return roles.may_overview(self.caller)

    def parameter(self, key: str, otherwise: str = "") -> str:
        """The first value of a key of the address; an empty one counts as none."""
        return next(iter(self.query.get(key, ())), "").strip() or otherwise

    def form_value(self, key: str, otherwise: str = "") -> str:
        """The first value of a key of the form."""
        return next(iter(self.form.get(key, ())), "").strip() or otherwise

    def time(self, key: str, text: str) -> datetime:
        """
        Raises:
            InvalidInput: it is no time of the session's zone; it names the key.
        """
        try:
            return self.clock.parse(text)
        except UnitError as error:
            raise InvalidInput([Problem("request", 0, key, error.message, error.value, error.hint)]) from error

    def number(self, key: str) -> int:
        """A cursor in the address; 0 where there is none.

        Raises:
            InvalidInput.
        """
        text = self.parameter(key, "0")
        if not (text.isascii() and text.isdigit() and len(text) <= 18):
            raise InvalidInput([Problem("query", 0, key, "is not a number", text, "follow the page's own links")])
        return int(text)


@dataclass(frozen=True, slots=True)
class Shown:
    """A page, or a part of one, from a template and its values.

    Attributes:
        heading: of the page around a part, for a browser that runs no script; empty where the template is a page.
        forgets: the browser has no session from now on.
    """

    template: str
    model: Mapping[str, Any]
    status: int = 200
    heading: str = ""
    forgets: bool = False


@dataclass(frozen=True, slots=True)
class Moved:
    """Another address to go to; `cookie` is the id of a session to keep, empty to forget it, None to leave it; `browser` is
    what to keep until an issuer sends the browser back, likewise."""

    to: str
    cookie: str | None = None
    browser: str | None = None


@dataclass(frozen=True, slots=True)
class Data:
    """JSON for a chart, or a file to keep."""

    body: Any
    media_type: str = "application/json"
    file_name: str = ""


Answer = Shown | Moved | Data


def form_of(body: bytes) -> dict[str, list[str]]:
    """An urlencoded form.

    Raises:
        InvalidInput: it is none.
    """
    try:
        return parse_qs(body.decode("utf-8"), keep_blank_values=True, strict_parsing=bool(body), max_num_fields=200)
    except (ValueError, UnicodeDecodeError) as error:
        raise InvalidInput([Problem("request", 0, "", "is not a form that this page sends")]) from error
