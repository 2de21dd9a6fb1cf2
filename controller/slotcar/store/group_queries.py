"""Lists of groups. A group has no row of its own: it stands where its first member does, by number (ADR 42)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, case, func, select, union_all

from slotcar.base.timebase import to_us
from slotcar.book.model import GROUP_STATES, Entry, State
from slotcar.store import rows, schema
from slotcar.store.pages import MOST_SORTED

_entry = schema.entry.c


@dataclass(frozen=True, slots=True)
class GroupFilter:
    """Which groups to list; None does not ask.

    Attributes:
        states: of the group, as `slotcar.book.groups.state_of` says it.
        since, until: groups with a member that ends after the one and begins before the other.
        newest: those whose first members have the latest numbers first.
        after: the number of the first member of the last group of the page before; 0 for the first page.
    """

    owner: str | None = None
    states: Collection[State] | None = None
    since: datetime | None = None
    until: datetime | None = None
    newest: bool = False
    after: int = 0
    limit: int = 100


def groups(connection: Connection, wanted: GroupFilter) -> tuple[tuple[Entry, ...], ...]:
    """The members of each group, by number; the groups by the number of the first, at most `limit`.

    As `pages.page`, it looks for few first: the groups of a rare state are found by their members' index and sorted,
    many by going through the members in their order. Only the members of the page are read whole.
    """
    few = select(_entry.group_handle).where(*_of_a_member(wanted)).limit(MOST_SORTED + 1).cte("few")
    how_many = select(func.count()).select_from(few).scalar_subquery()
    few_first = _firsts(wanted).where(_entry.group_handle.in_(select(few.c.group_handle)), how_many <= MOST_SORTED)
    in_order = _firsts(wanted).where(how_many > MOST_SORTED)
    both = union_all(*(_in_order(one, wanted).subquery().select() for one in (few_first, in_order)))
    number = both.selected_columns.number
    page = connection.execute(both.order_by(number.desc() if wanted.newest else number).limit(wanted.limit))
    handles = [row.group_handle for row in page]
    members: dict[str, list[Entry]] = {handle: [] for handle in handles}
    read = rows.SELECT_ENTRY.where(_entry.group_handle.in_(handles)).order_by(_entry.number)
    for entry in map(rows.entry_from_row, connection.execute(read) if handles else ()):
        members[entry.group or ""].append(entry)
    return tuple(tuple(members[handle]) for handle in handles)


def _of_a_member(wanted: GroupFilter) -> list[ColumnElement[bool]]:
    """The condition that some member of each such group meets; members of other groups may meet it too."""
    conditions: list[ColumnElement[bool]] = [_entry.group_handle.is_not(None)]
    if wanted.owner is not None:
        conditions.append(_entry.owner == wanted.owner)
    if wanted.states is not None:
        conditions.append(_entry.state.in_([state.value for state in wanted.states]))
    return [*conditions, *_in_time(_entry, wanted)]


def _in_time(entry: Any, wanted: GroupFilter) -> list[ColumnElement[bool]]:
    after = [entry.end_us > to_us(wanted.since)] if wanted.since is not None else []
    return [*after, *([entry.start_us < to_us(wanted.until)] if wanted.until is not None else [])]


def _firsts(wanted: GroupFilter) -> Select[Any]:
    """Number and group of the first member of each group that is asked for, on one of the filter's pages."""
    same = schema.entry.alias("same")
    of_group = same.c.group_handle == _entry.group_handle
    statement = select(_entry.number, _entry.group_handle).where(_entry.group_handle.is_not(None))
    statement = statement.where(~select(same.c.number).where(of_group, same.c.number < _entry.number).exists())
    if wanted.owner is not None:
        statement = statement.where(_entry.owner == wanted.owner)
    if wanted.states is not None:
        place = case({state.value: place for place, state in enumerate(GROUP_STATES)}, value=same.c.state)
        first = select(func.min(place)).where(of_group).scalar_subquery()
        statement = statement.where(first.in_([GROUP_STATES.index(state) for state in wanted.states]))
    if in_time := _in_time(same.c, wanted):
        statement = statement.where(select(same.c.number).where(of_group, *in_time).exists())
    if wanted.after:
        later = _entry.number < wanted.after if wanted.newest else _entry.number > wanted.after
        statement = statement.where(later)
    return statement


def _in_order(statement: Select[Any], wanted: GroupFilter) -> Select[Any]:
    return statement.order_by(_entry.number.desc() if wanted.newest else _entry.number).limit(wanted.limit)
