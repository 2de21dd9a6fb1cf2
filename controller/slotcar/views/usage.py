"""What was reserved, month by month: rate times time of each owner, SLS or domain. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from slotcar.base.timebase import Window, iso
from slotcar.store.summaries import UsageSum
from slotcar_client.wire import documents


@dataclass(frozen=True, slots=True)
class UsageRow:
    """One name in one month; `window` is the part of the month that was asked about."""

    window: Window
    name: str
    bits: int
    reservations: int

    @property
    def month(self) -> str:
        """`2027-03`."""
        return f"{self.window.start:%Y-%m}"


@dataclass(frozen=True, slots=True)
class UsageTable:
    by: documents.SummedBy
    months: tuple[Window, ...]
    rows: tuple[UsageRow, ...]


def months_of(window: Window) -> tuple[Window, ...]:
    """The parts of the window that lie in one month of UTC each, in order."""
    parts, start = [], window.start
    while start < window.end:
        end = min(_next_month(start), window.end)
        parts.append(Window(start, end))
        start = end
    return tuple(parts)


def month_at(moment: datetime) -> Window:
    """The whole month of UTC that holds a moment."""
    start = moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return Window(start, _next_month(start))


def _next_month(moment: datetime) -> datetime:
    year, month = (moment.year + 1, 1) if moment.month == 12 else (moment.year, moment.month + 1)
    return datetime(year, month, 1, tzinfo=UTC)


def usage_table(by: documents.SummedBy, months: tuple[Window, ...], sums: Iterable[UsageSum]) -> UsageTable:
    return UsageTable(
        by, months, tuple(UsageRow(months[one.place], one.name, one.bits, one.reservations) for one in sums)
    )


def usage_document(table: UsageTable) -> documents.Usages:
    return {
        "by": table.by,
        "items": [
            {
                "month": row.month,
                "start": iso(row.window.start),
                "end": iso(row.window.end),
                "name": row.name,
                "bits": row.bits,
                "reservations": row.reservations,
            }
            for row in table.rows
        ],
    }
