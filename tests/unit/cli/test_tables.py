"""A table at any width: columns are left out in their order, words are never broken, a pipe gets everything."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slotcar.cli.listing import RESERVATIONS
from slotcar.cli.tables import Column, fits, table_lines

COLUMNS = (Column("name"), Column("flow", leave_out=1), Column("end", leave_out=2), Column("why", wraps=True))
ROWS = [
    ("hep/cms", "anl-premium > lbnl-premium", "2027-03-01T23:00:00Z", "a link was taken away"),
    ("hep/atlas-tonight", "cern > ral", "2027-03-02T23:00:00Z", "nothing"),
]


def test_a_pipe_gets_all_of_it_one_line_a_row() -> None:
    lines = table_lines(COLUMNS, ROWS, None)
    assert len(lines) == 3
    for row, line in zip(ROWS, lines[1:], strict=True):
        assert all(cell in line for cell in row)


def test_columns_are_left_out_in_their_order() -> None:
    assert table_lines(COLUMNS, ROWS, 100)[0].split() == ["name", "flow", "end", "why"]
    assert table_lines(COLUMNS, ROWS, 70)[0].split() == ["name", "end", "why"]
    assert table_lines(COLUMNS, ROWS, 40)[0].split() == ["name", "why"]
    assert table_lines(COLUMNS, ROWS, 5)[0].split() == ["name", "why"]


def test_a_column_wraps_between_words() -> None:
    assert table_lines(COLUMNS, ROWS, 36)[1:3] == ["hep/cms            a link was taken", "                   away"]


WORD = st.text(st.characters(codec="ascii", categories=("L", "N"), include_characters="/-"), min_size=1, max_size=30)
CELL = st.lists(WORD, min_size=1, max_size=6).map(" ".join)


@given(st.lists(st.tuples(WORD, CELL, CELL, CELL), min_size=1, max_size=4), st.integers(1, 160))
def test_no_word_is_broken_and_no_line_is_wider_than_it_must(
    rows: list[tuple[str, str, str, str]], width: int
) -> None:
    lines = table_lines(COLUMNS, rows, width)
    words = {word for row in (*rows, [column.title for column in COLUMNS]) for cell in row for word in cell.split()}
    assert {word for line in lines for word in line.split()} <= words
    assert {row[0] for row in rows} <= {word for line in lines for word in line.split()}
    least = (
        max(4, *(len(row[0]) for row in rows)) + 2 + max(16, *(len(word) for row in rows for word in row[3].split()))
    )
    assert all(len(line) <= max(width, least, 6) for line in lines)
    if fits(COLUMNS, rows, width):
        assert len(lines) == 1 + len(rows)
        assert lines[0].split() == ["name", "flow", "end", "why"]


def test_a_list_in_a_zone_still_has_its_starts_at_80_columns() -> None:
    """An offset takes five more columns than a Z where the time has seconds."""
    flow = ("6 Mbit/s", "ip-premium", "anl-premium > lbnl-premium")
    times = ("2026-11-28T17:58:30+01:00", "2026-11-28T19:58:30+01:00")
    rows = [("hep/night", "r-mrf1sb40f7e7vmcp", "committed, in place", *flow, *times, "1 of 3")]
    lines = table_lines(RESERVATIONS, rows, 80)
    assert lines[0].split() == ["reservation", "handle", "state", "start", "slot"]
    assert all(len(line) <= 80 for line in lines)
    assert times[0] in lines[1]
