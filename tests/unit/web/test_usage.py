"""The table of use on its page: no more rows than a page should have, those with most."""

from __future__ import annotations

from datetime import UTC, datetime

from slotcar.base.timebase import Window
from slotcar.views.usage import UsageRow
from slotcar.web.usage import LISTED, greatest

MONTH = Window(datetime(2030, 1, 1, tzinfo=UTC), datetime(2030, 2, 1, tzinfo=UTC))


def test_the_greatest_rows_are_listed_in_their_order() -> None:
    rows = [UsageRow(MONTH, f"owner-{number}", number % 7, 1) for number in range(3 * LISTED)]
    listed = greatest(rows)
    assert len(listed) == LISTED
    assert min(row.bits for row in listed) >= 4
    assert listed == [row for row in rows if row in listed]
    assert greatest(rows[:5]) == rows[:5]
