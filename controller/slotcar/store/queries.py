"""Reading the ledger; nothing here takes its lock."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    Boolean,
    ColumnElement,
    Connection,
    Select,
    Text,
    any_,
    bindparam,
    func,
    literal_column,
    or_,
    select,
    text,
)

from slotcar.base.timebase import to_us
from slotcar.book.batch import Head
from slotcar.book.model import OCCUPYING, Entry, Event, State
from slotcar.book.rules.quotas import Usage
from slotcar.store import rows, schema, searching
from slotcar.store.known_entries import KnownEntries
from slotcar.store.reading import READ_USAGE, read
from slotcar_client.wire.events import ReservationCommitted

_LIVE = tuple(state.value for state in OCCUPYING)
_entry, _event = schema.entry.c, schema.event.c
# Literals and not parameters: so the few that wait are found by their partial index.
_WAITS = literal_column(
    "(state IN ('held', 'awaiting-approval', 'committed') AND (state = 'awaiting-approval' OR proposed IS NOT NULL))",
    Boolean,
)

# Of the index `entry_labels`, which those without labels are not in.
_LABELLED = literal_column("(labels <> '{}')", Boolean)


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """Which entries to list; None does not ask.

    Attributes:
        label: `(key, value)`; an empty value asks for the key alone.
        since, until: entries that end after the one and begin before the other (first start, last end).
        waits: only those of which something waits for approval: themselves, or a change of them.
        search: words of the owner and the name, all of them, in whichever case, the last perhaps unfinished; or a handle.
        newest: the latest numbers first.
        after: the number of the last entry of the page before; 0 for the first page.
    """

    owner: str | None = None
    name: str | None = None
    states: Collection[State] | None = None
    label: tuple[str, str] | None = None
    since: datetime | None = None
    until: datetime | None = None
    newest: bool = False
    after: int = 0
    limit: int = 100
    search: str | None = None
    waits: bool = False


def members(connection: Connection, group: str) -> tuple[Entry, ...]:
    """The entries of a group, by number."""
    members = connection.execute(rows.SELECT_ENTRY.where(_entry.group_handle == group).order_by(_entry.number))
    return tuple(map(rows.entry_from_row, members))


def group_of(connection: Connection, owner: str, name: str) -> str | None:
    """The handle of the latest group that the owner has, or had, of this name."""
    own = rows.SELECT_ENTRY.where(
        _entry.owner == owner, _entry.group_handle.is_not(None), func.starts_with(_entry.name, f"{name}.")
    )
    for entry in map(rows.entry_from_row, connection.execute(own.order_by(_entry.number.desc()))):
        if entry.reservation.together and entry.reservation.together.group == name:
            return entry.group
    return None


def by_handle(connection: Connection, handle: str) -> Entry | None:
    return _one(connection, rows.SELECT_ENTRY.where(_entry.handle == handle))


def by_handles(connection: Connection, handles: Collection[str]) -> dict[str, Entry]:
    """The entries of these handles, each by its own."""
    wanted = rows.SELECT_ENTRY.where(_entry.handle == any_(bindparam(None, [*handles], ARRAY(Text))))
    return {row.handle: rows.entry_from_row(row) for row in connection.execute(wanted)}


def delegated(
    connection: Connection, now: datetime, owner: str | None, to: str | None, after: int, limit: int
) -> tuple[Entry, ...]:
    """Live entries with delegations, by number: of this owner, and those with one to that caller; all where neither is
    named."""
    where = [_entry.delegations.is_not(None), _entry.state.in_(_LIVE), _entry.end_us > to_us(now)]
    if owner is not None or to is not None:
        where.append(or_(_entry.owner == owner, _entry.delegations.contains([{"to": to}])))
    statement = rows.SELECT_ENTRY.where(*where, _entry.number > after).order_by(_entry.number).limit(limit)
    return tuple(map(rows.entry_from_row, connection.execute(statement)))


def by_name(connection: Connection, owner: str, name: str) -> Entry | None:
    """The live entry of that name, else the latest."""
    named = rows.SELECT_ENTRY.where(_entry.owner == owner, _entry.name == name)
    return _one(connection, named.order_by(_entry.state.in_(_LIVE).desc(), _entry.number.desc()).limit(1))


def _one(connection: Connection, statement: Select[Any]) -> Entry | None:
    row = connection.execute(statement).one_or_none()
    return rows.entry_from_row(row) if row else None


def indexed_state(wanted: EntryFilter) -> str | None:
    """The filter's state, where it has one alone and the index `entry_state` has its numbers in order."""
    states = list(wanted.states or ())
    return states[0].value if len(states) == 1 and states[0] is not State.COMMITTED else None


def conditions_of(
    wanted: EntryFilter, *, ordered: bool = False, row_by_row: bool = False
) -> list[ColumnElement[bool]]:
    """The conditions of a filter.

    Args:
        ordered: of one state as a range, which the planner does not drop out of an order by state and number.
        row_by_row: a search is asked of each row, and not of its index.
    """
    conditions = _those(wanted.owner, wanted.name, wanted.label)
    state = indexed_state(wanted)
    if ordered and state is not None:
        conditions += [_entry.state.between(state, state), literal_column("(state <> 'committed')", Boolean)]
    elif wanted.states is not None:
        conditions.append(_entry.state.in_([state.value for state in wanted.states]))
    if wanted.since is not None:
        conditions.append(_entry.end_us > to_us(wanted.since))
    if wanted.until is not None:
        conditions.append(_entry.start_us < to_us(wanted.until))
    if wanted.waits:
        conditions.append(_WAITS)
    if wanted.search:
        conditions.append((searching.by_row if row_by_row else searching.by_index)(wanted.search))
    return conditions


def page_of(
    statement: Select[Any], number: ColumnElement[int], after: int, *, newest: bool, within: Sequence[Any] = ()
) -> Select[Any]:
    """The condition for the page after the number `after`, in the filter's order; newest first, 0 asks for the first page.

    Args:
        within: columns that have one value in all rows: an order by them, too, is one that an index of them gives.
    """
    if not newest:
        return statement.where(number > after).order_by(*within, number)
    statement = statement.where(number < after) if after else statement
    return statement.order_by(*(one.desc() for one in within), number.desc())


def _those(owner: str | None, name: str | None, label: tuple[str, str] | None) -> list[ColumnElement[bool]]:
    """Conditions on entries."""
    conditions = []
    if owner is not None:
        conditions.append(_entry.owner == owner)
    if name is not None:
        conditions.append(_entry.name == name)
    if label is not None:
        key, value = label
        has = _entry.labels.has_key(key) if not value else _entry.labels.contains({key: value})
        conditions += [_LABELLED, has]
    return conditions


def live_between(connection: Connection, start: datetime, end: datetime | None) -> tuple[Entry, ...]:
    """Live entries that may be open in `[start, end)`, by number."""
    statement = rows.SELECT_ENTRY.where(_entry.state.in_(_LIVE), _entry.end_us > to_us(start)).order_by(_entry.number)
    if end is not None:
        statement = statement.where(_entry.start_us < to_us(end))
    return tuple(rows.entry_from_row(row) for row in connection.execute(statement))


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events to read; what is empty does not ask.

    Attributes:
        kinds: beginnings such as `push.` or `reservation.committed`.
        owner, name, label: only events of the reservations that `EntryFilter` finds by these.
        since, until: by when they were recorded, `[since, until]`.
    """

    kinds: Collection[str] = ()
    handle: str | None = None
    device: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    owner: str | None = None
    name: str | None = None
    label: tuple[str, str] | None = None


def newest_events(connection: Connection, after: int, limit: int, wanted: EventFilter) -> tuple[Event, ...]:
    """The latest first: those before the number `after`, or the last ones of all where it is 0."""
    statement = page_of(_events_of(wanted), _event.sequence, after, newest=True).limit(limit)
    return tuple(rows.event_from_row(row) for row in connection.execute(statement))


def events(connection: Connection, after: int | None, limit: int, wanted: EventFilter) -> tuple[Event, ...]:
    """Events in order: the first ones after the number `after`, or the last ones of all."""
    statement = _events_of(wanted).limit(limit)
    if after is None:
        statement = statement.order_by(_event.sequence.desc())
    else:
        statement = statement.where(_event.sequence > after).order_by(_event.sequence)
    events = [rows.event_from_row(row) for row in connection.execute(statement)]
    return tuple(reversed(events) if after is None else events)


def _events_of(wanted: EventFilter) -> Select[Any]:
    statement = rows.SELECT_EVENT
    if wanted.handle is not None:
        statement = statement.where(_event.handle == wanted.handle)
    if wanted.device is not None:
        statement = statement.where(_event.device == wanted.device)
    if wanted.since is not None:
        statement = statement.where(_event.at >= wanted.since)
    if wanted.until is not None:
        statement = statement.where(_event.at <= wanted.until)
    if those := _those(wanted.owner, wanted.name, wanted.label):
        statement = statement.where(_event.handle.in_(select(_entry.handle).where(*those)))
    if wanted.kinds:
        statement = statement.where(or_(*(_event.kind.startswith(kind, autoescape=True) for kind in wanted.kinds)))
    return statement


def between(
    connection: Connection,
    entry_cache: KnownEntries,
    start: datetime,
    end: datetime,
    owner: str | None = None,
    limit: int | None = None,
) -> tuple[Entry, ...]:
    """Entries that are or were committed, whose first start and last end meet `[start, end]`, by number.

    Of those that were cancelled, the ones that had been committed before. `owner`: only this one's; the first `limit`.
    """
    committed = select(_event.handle).where(_event.handle == _entry.handle, _event.kind == ReservationCommitted.kind)
    over = (_entry.state == State.CANCELLED.value) & committed.exists()
    stands = _entry.state.in_([State.COMMITTED.value, State.ENDED.value])
    statement = rows.SELECT_ENTRY.where(_entry.start_us <= to_us(end), _entry.end_us >= to_us(start))
    statement = statement.where(or_(stands, over)).order_by(_entry.number).limit(limit)
    if owner is not None:
        statement = statement.where(_entry.owner == owner)
    return entry_cache.read(connection, statement)


def usage(connection: Connection, owner: str, now: datetime) -> Usage:
    """The owner's live reservations that are not over, as quotas count them."""
    row = read(connection, READ_USAGE, {"owner": owner, "now_us": to_us(now), "known": []})[0]
    return Usage(row.reservations, int(row.windows), row.holds, int(row.volume_bits))


_CHANGED_LABELS = text(
    "SELECT DISTINCT entry.labels ->> :label FROM event JOIN entry ON entry.handle = event.handle"
    " WHERE event.sequence > :after AND event.sequence <= :last AND entry.labels ? :label"
)


def changed_labels(connection: Connection, label: str, after: int, last: int) -> frozenset[str]:
    """The values of a label of the entries of which there are events in `(after, last]`."""
    parameters = {"label": label, "after": after, "last": last}
    return frozenset(connection.execute(_CHANGED_LABELS, parameters).scalars())


def counters(connection: Connection) -> tuple[int, int]:
    """The sequences of the occupancy log and of the events."""
    row = connection.execute(text("SELECT sequence, event FROM head WHERE id = 1")).one()
    return row.sequence, row.event


def head(connection: Connection) -> Head:
    """All counters."""
    return Head(*connection.execute(text("SELECT sequence, event, entry_number, slss FROM head WHERE id = 1")).one())


def states(connection: Connection) -> dict[State, int]:
    """How many entries there are in each state."""
    counts = connection.execute(select(_entry.state, func.count()).group_by(_entry.state))
    return {State(state): count for state, count in counts}
