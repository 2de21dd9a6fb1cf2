"""The engine, the lock on the ledger's head, and errors that say what to do."""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
import sqlalchemy
from psycopg.types.json import set_json_loads
from pydantic_core import from_json
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.pool import QueuePool

from slotcar.book.batch import Head
from slotcar.book.errors import LedgerUnavailable

#: The advisory lock that serialises migrations of several controllers that start together.
MIGRATION_LOCK = 5_107_001
#: The advisory lock of whoever pushes to devices.
LEADER_KEY = 5_107_002
#: A peer that is gone without a word (no power, a cut line) is taken for dead after about 15 + 3 × 5 s where nothing is
#: sent, and after 30 s where something is: by this machine, and by the server, which then gives a dead leader's lock back.
SILENCE_S, PROBE_S, PROBES, UNANSWERED_S = 15, 5, 3, 30
#: By what name the server lists our sessions.
APPLICATION = "slotcar"
#: Names and reasons are of any language. `initdb` makes SQL_ASCII where the system's locale is C.
ENCODING = "UTF8"
#: Who used a connection longer ago asks the server whether it is there, before anything else is asked.
USED_LATELY_S = 5.0
#: A question that another thread asks when the ledger is closed may take so long.
CLOSE_S = 2.0
_CONNECTION = {
    "connect_timeout": 5, "fallback_application_name": APPLICATION,
    "keepalives": 1, "keepalives_idle": SILENCE_S, "keepalives_interval": PROBE_S, "keepalives_count": PROBES,
    "tcp_user_timeout": UNANSWERED_S * 1000,
}  # fmt: skip
#: The same at the server's end, for this session; over a Unix socket PostgreSQL takes no notice of it.
_SERVER_KEEPALIVES = {
    "tcp_keepalives_idle": SILENCE_S, "tcp_keepalives_interval": PROBE_S, "tcp_keepalives_count": PROBES,
    "tcp_user_timeout": UNANSWERED_S * 1000,
}  # fmt: skip


# What a writer asks for is few rows, each by an index. The planner would read all of a table that has grown since it was
# last analysed, or where it takes a part of one owner's rows for a part of everybody's.
_LOCK = text(
    "SELECT sequence, event, entry_number, slss, set_config('enable_seqscan', 'off', true)"
    " FROM head WHERE id = 1 FOR UPDATE"
)
_SAVE = text("UPDATE head SET sequence = :s, event = :e, entry_number = :n, slss = :a WHERE id = 1")
_SAVE_AND_NOTIFY = text(
    "WITH saved AS (UPDATE head SET sequence = :s, event = :e, entry_number = :n, slss = :a WHERE id = 1 RETURNING event)"
    " SELECT pg_notify('slotcar_event', event::text) FROM saved"
)


def make_engine(url: str, revive: Callable[[], object] | None = None) -> Engine:
    """An engine on psycopg 3 whose sessions speak UTC and give up on a lock, a statement or a peer that hangs.

    Args:
        revive: starts the server again that nobody else starts; may raise LedgerUnavailable.

    Raises:
        LedgerUnavailable: the URL is not PostgreSQL's; at a connection: the database's text is not UTF-8.
    """
    try:
        parsed = make_url(url).set(drivername="postgresql+psycopg")
    except sqlalchemy.exc.ArgumentError as error:
        raise LedgerUnavailable("the database's URL is not one: say postgresql://user@host:5432/name") from error
    # No statement here lasts so long that it pays to compile it: a list took 10 ms, and its compilation 400.
    session = {
        "timezone": "UTC",
        "datestyle": "ISO,YMD",  # psycopg reads no other, and a database may have its own
        "jit": "off",
        "lock_timeout": "30s",
        "statement_timeout": "120s",
        **_SERVER_KEEPALIVES,
    }
    # What the URL says goes first: of two values for one name the server takes the last.
    stated = parsed.normalized_query.get("options", ())
    options = " ".join((*stated, *(f"-c {name}={value}" for name, value in session.items())))
    engine = create_engine(
        parsed,
        pool_size=8,
        max_overflow=8,
        pool_pre_ping=True,
        connect_args={**_CONNECTION, "options": options},
    )

    # First of all: SQLAlchemy's own questions to a new connection fail where text comes as bytes.
    @event.listens_for(engine, "connect", insert=True)
    def _prepare(connection: Any, _record: Any) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != ENCODING:
            raise LedgerUnavailable(
                f"the ledger's database keeps text as {encoding}, and the ledger needs {ENCODING}: make the database anew"
                f" with createdb --encoding {ENCODING} --template template0"
            )
        connection.prepare_threshold = 2
        set_json_loads(from_json, connection)

    _ask_only_the_silent(engine)
    if revive is not None:
        _have_revived(engine, revive)
    return engine


def _ask_only_the_silent(engine: Engine) -> None:
    """A connection that was used a moment ago, and on which nothing has come since, is taken without a question: a server
    that ends one says so. The pool would ask before every use, which takes as long as what is asked then.
    """
    used_at: WeakKeyDictionary[Any, float] = WeakKeyDictionary()
    dialect: Any = engine.dialect
    ask = dialect.do_ping

    @event.listens_for(engine, "checkin")
    def _note(connection: Any, _record: Any) -> None:
        if connection is not None:
            used_at[connection] = time.monotonic()

    def answers(connection: Any) -> bool:
        lately = time.monotonic() - used_at.get(connection, float("-inf")) < USED_LATELY_S
        return (lately and not connection.closed and _is_quiet(connection)) or bool(ask(connection))

    dialect.do_ping = answers


def _is_quiet(connection: Any) -> bool:
    """Whether nothing waits to be read, not even that the peer has gone."""
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN | select.POLLPRI)
    return not poll.poll(0)


def close(engine: Engine) -> None:
    """Closes all connections, and makes no more. What another thread asks at this moment is waited for; one that takes
    longer has its connection closed when it gives it back, to a pool that is nobody's by then.
    """
    pool = engine.pool
    assert isinstance(pool, QueuePool)
    event.listen(pool, "checkin", _close_late)
    event.listen(engine, "do_connect", _refuse)
    until_s = time.monotonic() + CLOSE_S
    while pool.checkedout() and time.monotonic() < until_s:
        time.sleep(0.01)
    engine.dispose()


def _close_late(connection: Any, _record: Any) -> None:
    if connection is not None:
        connection.close()


def _refuse(*_arguments: Any) -> None:
    raise psycopg.OperationalError("this ledger was closed")


def _have_revived(engine: Engine, revive: Callable[[], object]) -> None:
    @event.listens_for(engine, "do_connect")
    def _connect(dialect: Any, _record: Any, arguments: Any, options: Any) -> Any:
        try:
            return dialect.connect(*arguments, **options)
        except psycopg.OperationalError:
            with suppress(LedgerUnavailable):  # what the connection says then is the nearer cause
                revive()
            return dialect.connect(*arguments, **options)


@contextmanager
def answering() -> Iterator[None]:
    """Turns a database that cannot serve into `LedgerUnavailable`; leaves programming errors alone."""
    try:
        yield
    except (sqlalchemy.exc.InternalError, psycopg.InternalError) as error:
        # Read-only, a transaction that was ended, damaged files: it answers, and cannot do what is asked.
        cause = getattr(error, "orig", None) or error
        hint = "see the database's own log"
        if isinstance(cause, psycopg.errors.ReadOnlySqlTransaction):
            hint = "it is read-only: is it a standby, or is default_transaction_read_only set?"
        words = " ".join(str(cause).split()).rstrip("?. ")
        raise LedgerUnavailable(f"the ledger's database cannot do this: {words}; {hint}") from error
    except (
        sqlalchemy.exc.OperationalError,
        sqlalchemy.exc.InterfaceError,
        sqlalchemy.exc.TimeoutError,
        psycopg.OperationalError,
        psycopg.InterfaceError,
    ) as error:
        cause = getattr(error, "orig", None) or error
        # libpq asks in lines of its own what `hint` asks.
        words = " ".join(str(cause).strip().partition("\n")[0].split()).rstrip("?. ")
        hint = "is SLOTCAR_DATABASE_URL right, and does the server run?"
        raise LedgerUnavailable(f"the ledger's database does not answer: {words}; {hint}") from error
    except (sqlalchemy.exc.ProgrammingError, psycopg.ProgrammingError) as error:
        cause = getattr(error, "orig", None) or error
        if isinstance(cause, psycopg.errors.UndefinedTable | psycopg.errors.UndefinedColumn):
            raise LedgerUnavailable("the database lacks the ledger's tables: run slotcar db upgrade") from error
        if isinstance(cause, psycopg.errors.InsufficientPrivilege):
            words = str(cause).strip().partition("\n")[0]
            hint = (
                "connect as the role that owns the database and the ledger's tables, or grant this one what it needs"
            )
            raise LedgerUnavailable(f"the ledger's database refuses this: {words}; {hint}") from error
        raise


@contextmanager
def writing(engine: Engine) -> Iterator[tuple[Connection, Head]]:
    """One transaction that holds the ledger's lock. Counters are saved and listeners notified when it commits."""
    with answering(), engine.begin() as connection, locked(connection) as head:
        yield connection, head


@contextmanager
def locked(connection: Connection) -> Iterator[Head]:
    """The ledger's lock, in the connection's present transaction; else as `writing`."""
    row = connection.execute(_LOCK).one_or_none()
    if row is None:
        raise LedgerUnavailable("the ledger's head is missing: run slotcar db upgrade")
    before = Head(row.sequence, row.event, row.entry_number, row.slss)
    head = replace(before)
    yield head
    if head != before:
        counters = {"s": head.sequence, "e": head.event, "n": head.entry_number, "a": head.slss}
        connection.execute(_SAVE if head.event == before.event else _SAVE_AND_NOTIFY, counters)


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """Each statement sees what was committed before it. None of them is in a transaction, which would be two more
    questions to the server: its beginning and its end.
    """
    with answering(), engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        yield connection


@contextmanager
def reading_by_plan(engine: Engine) -> Iterator[Connection]:
    """As `reading`, in a transaction, for which statements can set how the planner goes about it."""
    with answering(), engine.connect() as connection:
        yield connection


@contextmanager
def snapshot(engine: Engine) -> Iterator[Connection]:
    """All statements see what was committed before the first one."""
    with reading_by_plan(engine) as connection:
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
        yield connection


def is_read_only(engine: Engine) -> bool:
    """Whether the database takes no changes: it is a standby, or was made read-only."""
    question = "SELECT pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean"
    with reading(engine) as connection:
        return bool(connection.execute(text(question)).scalar())
