"""Pages of entries that a filter finds, and how many it finds on all of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Engine, Select, func, select, text

from slotcar.book.model import OCCUPYING, Entry, State
from slotcar.store import database, rows, schema, searching
from slotcar.store.explaining import expected_rows
from slotcar.store.queries import EntryFilter, conditions_of, indexed_state, page_of
from slotcar_client.wire.documents import MOST_COUNTED

#: So many rows are sorted rather than found in their order.
MOST_SORTED = 1_000
#: A search looks at the entries of so many numbers, row by row, before it asks an index.
SCANNED_FIRST = 5_000
#: So many rows that one condition of a search has are looked through for the others.
MOST_SIFTED = 10_000
_entry = schema.entry.c
# Of this transaction alone. A word of a fifth of all rows may be in none of the first million, which a sequential scan
# would go through; what a word finds is known only with the word; and one page is not worth a second process.
_PLAN_A_SEARCH = text(
    "SELECT set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true),"
    " set_config('max_parallel_workers_per_gather', '0', true)"
)


@dataclass(frozen=True, slots=True)
class Page:
    """At most `limit` entries, by number. `count`: of all pages; `MOST_COUNTED` + 1 stands for more than that."""

    entries: tuple[Entry, ...]
    count: int


def reading(engine: Engine, wanted: EntryFilter) -> AbstractContextManager[Connection]:
    """A connection for a page of this filter: a search sets how it is planned."""
    return (database.reading_by_plan if wanted.search else database.reading)(engine)


def entries(connection: Connection, wanted: EntryFilter) -> tuple[Entry, ...]:
    """A page that is not counted, which takes less."""
    return _page(connection, wanted, counted=False).entries


def page(connection: Connection, wanted: EntryFilter) -> Page:
    return _page(connection, wanted, counted=True)


def _page(connection: Connection, wanted: EntryFilter, *, counted: bool) -> Page:
    """A page, with a wrong count where it is not `counted`.

    Few entries that are asked for are found by their own index and sorted, many by going through the numbers.

    Which of the two it is cannot be left to the planner, which reckons with an average owner, label or state and with
    even spreading: it went through a million rows for an owner that has none. So up to `MOST_SORTED` are looked for
    first, which counts them, too. A search scans the next numbers before that: a common word is found there often enough.
    """
    if not conditions_of(wanted):
        return Page(_in_order(connection, wanted), _count_all(connection) if counted else 0)
    scanned: Sequence[int] = ()
    if wanted.search:
        connection.execute(_PLAN_A_SEARCH)
        scanned = _scan(connection, wanted, max(wanted.limit, MOST_COUNTED + 1 if counted else 0))
    many = len(scanned) > MOST_COUNTED
    if len(scanned) >= wanted.limit and (many or not counted):
        return Page(_read(connection, scanned, wanted), MOST_COUNTED + 1)
    few = _few(connection, wanted)
    count = MOST_COUNTED + 1 if few is None else min(len(few), MOST_COUNTED + 1)
    if len(scanned) >= wanted.limit:
        return Page(_read(connection, scanned, wanted), count)
    if few is not None and len(few) <= MOST_SORTED:
        return Page(_read(connection, _after(few, wanted), wanted), count)
    return Page(_in_order(connection, wanted), count)


def _count_all(connection: Connection) -> int:
    numbers = select(_entry.number).limit(MOST_COUNTED + 1)
    return int(connection.execute(select(func.count()).select_from(numbers.subquery())).scalar_one())


def _read(connection: Connection, numbers: Sequence[int], wanted: EntryFilter) -> tuple[Entry, ...]:
    """The entries of the first `limit` numbers, in the filter's order."""
    if not (page := numbers[: wanted.limit]):
        return ()
    statement = rows.SELECT_ENTRY.where(_entry.number.in_(page))
    statement = page_of(statement, _entry.number, 0, newest=wanted.newest)
    return tuple(map(rows.entry_from_row, connection.execute(statement)))


def _in_order(connection: Connection, wanted: EntryFilter) -> tuple[Entry, ...]:
    """What is found by going through the numbers."""
    statement = rows.SELECT_ENTRY.where(*conditions_of(wanted, ordered=True, row_by_row=True))
    within = [_entry.state] if indexed_state(wanted) else []
    statement = page_of(statement, _entry.number, wanted.after, newest=wanted.newest, within=within)
    return tuple(map(rows.entry_from_row, connection.execute(statement.limit(wanted.limit))))


def _after(numbers: Collection[int], wanted: EntryFilter) -> list[int]:
    """The numbers after the filter's, in its order."""
    ordered = sorted(numbers, reverse=wanted.newest)
    if wanted.newest:
        return [number for number in ordered if not wanted.after or number < wanted.after]
    return [number for number in ordered if number > wanted.after]


def _scan(connection: Connection, wanted: EntryFilter, most: int) -> Sequence[int]:
    """The first `most` numbers that a search finds among the next `SCANNED_FIRST` of its order; none for a handle."""
    if searching.is_handle(wanted.search or ""):
        return ()
    if wanted.newest:
        newest = select(func.coalesce(func.max(_entry.number), 0) + 1).scalar_subquery()
        near = _entry.number >= (wanted.after or newest) - SCANNED_FIRST
    else:
        near = _entry.number <= wanted.after + SCANNED_FIRST
    statement = select(_entry.number).where(near, *conditions_of(wanted, row_by_row=True))
    statement = page_of(statement, _entry.number, wanted.after, newest=wanted.newest)
    return connection.execute(statement.limit(most)).scalars().all()


def _few(connection: Connection, wanted: EntryFilter) -> Sequence[int] | None:
    """The numbers of all that a filter finds, in no order; None where that is more than are sorted and counted."""
    most = max(MOST_SORTED, MOST_COUNTED)
    conditions = _conditions_of_search(connection, wanted) if wanted.search else conditions_of(wanted)
    numbers = connection.execute(select(_entry.number).where(*conditions).limit(most + 1)).scalars().all()
    return numbers if len(numbers) <= most else None


def _conditions_of_search(connection: Connection, wanted: EntryFilter) -> list[ColumnElement[bool]]:
    """The conditions of a search. The one that has the fewest rows is evaluated by its index, and the others on each of
    these rows.

    All words at once are evaluated by the index where each one has many rows. It skips from one whole word's rows to
    the next, but for the beginning of a word it gathers every row that has one such: perhaps a tenth of the ledger.
    """
    assert wanted.search is not None
    others = conditions_of(replace(wanted, search=None))
    parts = searching.parts(wanted.search)
    index_conditions = [[part.by_index] for part in parts]
    ways = [[part.by_index, part.rest_by_row, *others] for part in parts]
    if others and _are_indexed(wanted) and not searching.is_handle(wanted.search):
        index_conditions.append(others)
        ways.append([*others, searching.by_row(wanted.search)])
    expected = expected_rows(connection, [_numbers_of(one) for one in index_conditions])
    if not expected or min(expected) > MOST_SIFTED:
        return conditions_of(wanted)
    return ways[expected.index(min(expected))]


def _numbers_of(conditions: Sequence[ColumnElement[bool]]) -> Select[Any]:
    return select(_entry.number).where(*conditions)


def _are_indexed(wanted: EntryFilter) -> bool:
    """Whether what is asked beside the search has an index of its own."""
    states = set(wanted.states or ())
    by_state = bool(states) and (states <= OCCUPYING or State.COMMITTED not in states)
    by_label = wanted.label is not None and bool(wanted.label[1])
    return by_state or by_label or wanted.waits or wanted.owner is not None
