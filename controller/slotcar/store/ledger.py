"""`Ledger`: the only durable state. Decisions are made by admission, under this room's lock (docs/design.md rule 4)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import Connection, Engine, text

from slotcar.base.timebase import to_us
from slotcar.book.agreed_slss import AgreedSls, with_agreed
from slotcar.book.appending import AppendEvent
from slotcar.book.model import Entry, Event, State, Terms
from slotcar.book.operation import Expire, Operation
from slotcar.book.rules.quotas import Usage
from slotcar.book.transaction import Transaction
from slotcar.policy.sharing import CommunityShare
from slotcar.store import (
    agreed_slss,
    database,
    group_queries,
    pages,
    policy_history,
    queries,
    revisions,
    schema,
    shares,
)
from slotcar.store.audits import AuditStore
from slotcar.store.connections import ConnectionStore
from slotcar.store.counts import CountStore
from slotcar.store.database import LEADER_KEY
from slotcar.store.database_shelf import DatabaseShelf
from slotcar.store.flushing import flush
from slotcar.store.group_queries import GroupFilter
from slotcar.store.instants import Instants
from slotcar.store.known_entries import KnownEntries
from slotcar.store.listening import Lease, Listener, try_lead
from slotcar.store.measurements import Measurements
from slotcar.store.pages import Page
from slotcar.store.policy_history import PolicyHistory
from slotcar.store.queries import EntryFilter, EventFilter
from slotcar.store.revisions import SchemaState
from slotcar.store.sessions import SessionStore
from slotcar.store.sign_ins import SignInStore
from slotcar.store.summaries import Summaries
from slotcar.store.webhooks import WebhookStore
from slotcar.store.writer import Writer
from slotcar_client.wire.events import Kind

if TYPE_CHECKING:
    from slotcar.admission import SlotTables
    from slotcar.book.memory_shelf import MemoryShelf

T = TypeVar("T")


class Ledger:
    """Entries, the occupancy log and events in PostgreSQL. Thread-safe; close it, or use it with `with`.

    Every method that writes takes `now` and raises `LedgerUnavailable` where the database does not answer; nothing is
    written then.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._terms = Terms({}, {})
        self._slss_changed = 0
        self._slss: tuple[AgreedSls, ...] = ()
        self._take_slss: Callable[[Sequence[AgreedSls]], None] | None = None
        self._writer = Writer(engine, lambda: self._terms, self._terms_now)
        self._entry_cache = KnownEntries()
        self._listener = Listener(engine)
        self.webhooks = WebhookStore(engine)
        self.summaries = Summaries(engine)
        self.instants = Instants(engine, self._entry_cache)
        self.sessions = SessionStore(engine)
        self.sign_ins = SignInStore(engine)
        self.counts = CountStore(engine)
        self.connections = ConnectionStore(engine)
        self.nsi_provided = ConnectionStore(engine, schema.nsi_provided)
        self.nsi_requested = ConnectionStore(engine, schema.nsi_requested)
        self.measurements = Measurements(engine)
        self.audits = AuditStore(engine)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The database's, with its password: another process of this controller opens the same ledger by it."""
        return self._engine.url.render_as_string(hide_password=False)

    def close(self) -> None:
        self._listener.stop()
        database.close(self._engine)

    # -- schema ----------------------------------------------------------------------------------------------------

    def upgrade(self) -> tuple[str, str]:
        """Brings the tables to this version; the revision before and after."""
        if self.schema_state() is SchemaState.CURRENT:  # mostly: nothing is to be migrated, nor alembic to be imported
            return revisions.NEWEST_REVISION, revisions.NEWEST_REVISION
        from slotcar.store import migrating

        return migrating.upgrade(self._engine)

    def schema_state(self) -> SchemaState:
        return revisions.schema_state(self._engine)

    def is_read_only(self) -> bool:
        return database.is_read_only(self._engine)

    # -- admission -------------------------------------------------------------------------------------------------

    def set_terms(self, terms: Terms, take_slss: Callable[[Sequence[AgreedSls]], None] | None = None) -> None:
        """The network and the rules that requests are decided against from now on.

        Args:
            take_slss: is told, under this process's lock, of the SLSs that domains have agreed on, whenever they differ.
        """
        self._terms, self._slss_changed = terms, 0
        self._take_slss = take_slss or self._take_slss

    def _terms_now(self, connection: Connection, slss_changed: int) -> Terms:
        """The terms as of a count of changes of SLSs, which the connection's transaction must see."""
        if slss_changed != self._slss_changed:
            self._slss = agreed_slss.all_of(connection)
            self._terms = with_agreed(self._terms, self._slss)
            if self._take_slss is not None:
                self._take_slss(self._slss)
            self._slss_changed = slss_changed
        return self._terms

    # -- SLSs that domains agree on --------------------------------------------------------------------------------

    def follow_slss(self) -> tuple[AgreedSls, ...]:
        """Takes over what was agreed on since, by this process or by another one on the same database; all of them."""
        with self._writer.lock, database.snapshot(self._engine) as connection:
            self._terms_now(connection, queries.head(connection).slss)
            return self._slss

    def slss(self) -> tuple[AgreedSls, ...]:
        """Those that were agreed on, or are held, in the order in which they were opened; those that are over too."""
        with database.reading(self._engine) as connection:
            return agreed_slss.all_of(connection)

    @property
    def terms(self) -> Terms:
        return self._terms

    def run(self, operation: Operation[T]) -> T:
        """Does an operation under the lock: its answer, once it is committed.

        Raises:
            SlotcarError: the operation's own, with nothing of it written.
        """
        return self._writer.submit(operation)

    def ask(self, question: Callable[[SlotTables], T], now: datetime) -> tuple[T, int]:
        """The answer of a question to the tables as they are now, and the sequence that they were at.

        The question must leave the tables as they are (or work on their `copy`).
        """
        self.expire(now, ended=False)
        with self._writer.lock, database.snapshot(self._engine) as connection:
            head = queries.head(connection)
            terms = self._terms_now(connection, head.slss)
            tables = self._writer.cache.caught_up(connection, head.sequence, terms, to_us(now))
            return question(tables), head.sequence

    def live_copy(self, now: datetime) -> MemoryShelf:
        """What is live, and the slot tables, in memory and as of one moment. It takes no lock of the database's and writes
        nothing: holds that ran out are still there.
        """
        from slotcar.book.memory_shelf import MemoryShelf

        with database.snapshot(self._engine) as connection:
            with self._writer.lock:  # before the first statement, so that the tables are not ahead of what it sees
                head = queries.head(connection)
                terms = self._terms_now(connection, head.slss)
                tables = self._writer.cache.caught_up(connection, head.sequence, terms, to_us(now)).copy()
            entries = queries.live_between(connection, now, None)
            shared = shares.all_of(connection)
        return MemoryShelf(terms, entries, head, tables, shared)

    # -- states ----------------------------------------------------------------------------------------------------

    def delegated(
        self, now: datetime, owner: str | None = None, to: str | None = None, after: int = 0, limit: int = 100
    ) -> tuple[Entry, ...]:
        """Live entries with delegations, by number; see `queries.delegated`."""
        with database.reading(self._engine) as connection:
            return queries.delegated(connection, now, owner, to, after, limit)

    def shares(self) -> tuple[CommunityShare, ...]:
        """Of all communities, by these and by name; those that ran out too."""
        with database.reading(self._engine) as connection:
            return shares.all_of(connection)

    def expire(self, now: datetime, *, ended: bool = True) -> tuple[Entry, ...]:
        """Moves on what is over by `now`: holds that ran out and, with `ended`, slots that are past."""
        with database.reading(self._engine) as connection:
            due = connection.execute(
                text(
                    "SELECT EXISTS (SELECT FROM entry"
                    "               WHERE state IN ('held', 'awaiting-approval') AND hold_until <= :n)"
                    " OR EXISTS (SELECT FROM entry WHERE state = ANY(:states) AND end_us <= :us)"
                ),
                {
                    "n": now,
                    "us": to_us(now),
                    "states": ["held", "awaiting-approval", *(["committed"] if ended else [])],
                },
            ).scalar_one()
        return self.run(Expire(now, ended)) if due else ()

    # -- reading ---------------------------------------------------------------------------------------------------

    def get(self, handle: str) -> Entry | None:
        with database.reading(self._engine) as connection:
            return queries.by_handle(connection, handle)

    def get_all(self, handles: Collection[str]) -> dict[str, Entry]:
        with database.reading(self._engine) as connection:
            return queries.by_handles(connection, handles)

    def find(self, owner: str, name: str) -> Entry | None:
        """The live entry of that name, else the latest that there was."""
        with database.reading(self._engine) as connection:
            return queries.by_name(connection, owner, name)

    def members(self, group: str) -> tuple[Entry, ...]:
        """The members of a group by number; none where there is no such group."""
        with database.reading(self._engine) as connection:
            return queries.members(connection, group)

    def find_group(self, owner: str, name: str) -> str | None:
        """The handle of the owner's latest group of that name."""
        with database.reading(self._engine) as connection:
            return queries.group_of(connection, owner, name)

    def groups(self, wanted: GroupFilter) -> tuple[tuple[Entry, ...], ...]:
        """The members of each group, by number."""
        with database.reading(self._engine) as connection:
            return group_queries.groups(connection, wanted)

    def list(self, wanted: EntryFilter) -> tuple[Entry, ...]:
        with pages.reading(self._engine, wanted) as connection:
            return pages.entries(connection, wanted)

    def page(self, wanted: EntryFilter) -> Page:
        """A page that is counted."""
        with pages.reading(self._engine, wanted) as connection:
            return pages.page(connection, wanted)

    def live_between(self, start: datetime, end: datetime | None = None) -> tuple[Entry, ...]:
        """Live entries that may be open in `[start, end)`."""
        with database.reading(self._engine) as connection:
            return queries.live_between(connection, start, end)

    def between(
        self, start: datetime, end: datetime, owner: str | None = None, limit: int | None = None
    ) -> tuple[Entry, ...]:
        """Entries that are or were committed and may be open in `[start, end]`, those that are over too; the first
        `limit`, and only the owner's, where these are given.
        """
        with database.reading(self._engine) as connection:
            return queries.between(connection, self._entry_cache, start, end, owner, limit)

    def policy_history(self, since: datetime, owners: Collection[str] | None = None) -> PolicyHistory:
        """What was asked of policies since then, and what was live meanwhile; of these owners, where some are named."""
        with database.snapshot(self._engine) as connection:
            return policy_history.read(connection, since, owners)

    def usage(self, owner: str, now: datetime) -> Usage:
        """The owner's live reservations that are not over, as quotas count them."""
        with database.reading(self._engine) as connection:
            return queries.usage(connection, owner, now)

    def sequence(self) -> int:
        """The occupancy log's, which a plan is made at."""
        with database.reading(self._engine) as connection:
            return queries.counters(connection)[0]

    def states(self) -> Mapping[State, int]:
        with database.reading(self._engine) as connection:
            return queries.states(connection)

    # -- events ----------------------------------------------------------------------------------------------------

    def append_event(
        self,
        kind: str,
        now: datetime,
        handle: str | None = None,
        device: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """An event as it was kept elsewhere: of any kind, with any details. Who has something to say uses `record`."""
        self.run(AppendEvent(now, kind, handle, device, details or {}))

    def record(self, says: Kind, now: datetime, handle: str | None = None, device: str | None = None) -> None:
        """An event that belongs to no change of a reservation: a push, for example."""
        self.append_event(says.kind, now, handle, device, says.details)

    def events(
        self, after: int | None = 0, limit: int = 100, handle: str | None = None, kinds: Collection[str] = ()
    ) -> tuple[Event, ...]:
        """In order: the first `limit` after the number `after`, or the last ones of all where it is None."""
        return self.events_of(EventFilter(kinds, handle), after, limit)

    def changed_labels(self, label: str, after: int | None) -> tuple[frozenset[str], int]:
        """The values of a label of the reservations of which there are events after the number `after`, and the number of
        the last event; no values where it is None."""
        with database.reading(self._engine) as connection:
            _, last = queries.counters(connection)
            none: frozenset[str] = frozenset()
            return none if after in (None, last) else queries.changed_labels(connection, label, after, last), last

    def events_of(self, wanted: EventFilter, after: int | None = 0, limit: int = 100) -> tuple[Event, ...]:
        """As `events`, by any filter."""
        with database.reading(self._engine) as connection:
            return queries.events(connection, after, limit, wanted)

    def newest_events(self, wanted: EventFilter, after: int = 0, limit: int = 100) -> tuple[Event, ...]:
        """The latest first: those before the number `after`, or the last ones of all where it is 0."""
        with database.reading(self._engine) as connection:
            return queries.newest_events(connection, after, limit, wanted)

    def last_event(self) -> int:
        with database.reading(self._engine) as connection:
            return queries.counters(connection)[1]

    def wait_for_event(self, after: int, timeout_s: float) -> bool:
        """Waits up to `timeout_s` for an event after `after`. Whether there is one."""
        deadline = time.monotonic() + timeout_s
        while self.last_event() <= after:
            left_s = deadline - time.monotonic()
            if left_s <= 0 or self._listener.stopping:
                return False
            self._listener.wait(after, left_s)
        return True

    def try_lead(self) -> Lease | None:
        """The right to push to devices, which one controller has at a time; None while another has it."""
        with database.answering():
            return try_lead(self._engine, LEADER_KEY)

    def take_fence(self, lease: Lease, says: Kind, now: datetime, above: int = 0) -> int:
        """Appends an event and gives its number: the fence of whoever has the lease, greater than each given before.

        It is written in the session that has the lock, so whoever lost the lead gets none: no later leader can have begun
        before it commits (ADR 12). `above`: a fence that a device has; the number is greater than that, too, and the log
        goes on from there.

        Raises:
            LedgerUnavailable: the lead is lost, or the database does not answer.
        """
        connection = lease.connection
        with database.answering(), connection.begin(), database.locked(connection) as head:
            head.event = max(head.event, above)
            cache, terms = self._writer.cache, self._terms
            transaction = Transaction(DatabaseShelf(connection, cache, terms, to_us(now)), head, terms)
            transaction.event(says.kind, now, None, None, **says.details)
            flush(transaction, connection, cache)
        return head.event
