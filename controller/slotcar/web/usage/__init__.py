"""What was and is reserved, month by month: for reports, as a table and as a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any, cast
from urllib.parse import urlencode

from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import Window
from slotcar.views.usage import UsageRow, UsageTable, month_at
from slotcar.web.links.pages import window_of
from slotcar.web.serving import WebPage
from slotcar.web.usage import counted
from slotcar.web.visit import Answer, Data, Shown, Visit
from slotcar_client.wire.documents import SummedBy

BY = ("owner", "sls", "domain")
#: Rows of the page, those with most; the file has all.
LISTED = 150
#: A spreadsheet takes a cell that begins so for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def show(visit: Visit) -> Answer:
    return Shown("usage/page.html", _model(visit))


def file(visit: Visit) -> Answer:
    table: UsageTable = _model(visit)["table"]
    return Data(csv_of(table), "text/csv; charset=utf-8", "usage.csv")


def _model(visit: Visit) -> dict[str, Any]:
    """
    Raises:
        InvalidInput, NotAllowed.
    """
    by = visit.parameter("by", "owner")
    if by not in BY:
        raise InvalidInput([Problem("query", 0, "by", "is nothing to sum by", by, f"say one of {', '.join(BY)}")])
    month: Window = month_at(visit.now)
    window, range_text = window_of(visit, visit.clock.written(month.start), visit.clock.written(month.end))
    sequence = visit.desk.ledger.last_event()
    table = visit.overview.usage(cast(SummedBy, by), window, visit.caller)
    most = max((row.bits for row in table.rows), default=0) or 1
    listed = greatest(table.rows)
    return {
        "table": table, "rows": [(row, row.bits * 100 // most) for row in listed], "said": range_text, "by": by, "ways": BY,
        "window": window, "sequence": sequence, "file": f"/usage.csv?{urlencode({**range_text, 'by': by})}",
    }  # fmt: skip


def greatest(rows: Sequence[UsageRow]) -> list[UsageRow]:
    """The `LISTED` rows with most, in the order in which they stood."""
    places = sorted(range(len(rows)), key=lambda place: -rows[place].bits)[:LISTED]
    return [rows[place] for place in sorted(places)]


def csv_of(table: UsageTable) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(["month", table.by, "bits", "reservations"])
    for row in table.rows:
        writer.writerow([row.month, guarded(row.name), row.bits, row.reservations])
    return out.getvalue()


def guarded(cell: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(_FORMULA) else cell


PAGES = (
    WebPage("/usage", show, verb="usage", query=("by", "from", "until")),
    WebPage("/usage.csv", file, verb="usage", query=("by", "from", "until")),
    *counted.PAGES,
)
