"""Tables for people: one line a row where that fits; else columns are left out in a stated order. No word is broken."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

GAP = "  "
#: `2 of 3` stays together; in its place stand spaces at which no line is broken.
_COUNTED = re.compile(r"(\d) of (\d)")
_NO_BREAK = "\u00a0"
#: Of a column of sentences; one of two or three words says its own.
NARROWEST = 16


@dataclass(frozen=True, slots=True)
class Column:
    """
    Attributes:
        leave_out: its turn to be left out where the terminal is too narrow, 1 first; None: never.
        wraps: whether it may take several lines, between words.
        narrowest: a column that wraps is not made narrower than this; it, or another, is left out before.
    """

    title: str
    leave_out: int | None = None
    wraps: bool = False
    narrowest: int = NARROWEST


Row = Sequence[str]


def table_lines(columns: Sequence[Column], rows: Sequence[Row], width: int | None) -> list[str]:
    """The header and the rows; `width` in characters, None for a pipe: all of it, one line a row."""
    indices = list(range(len(columns))) if width is None else _fitting(columns, rows, width)
    widths = {index: _longest(columns, rows, index) for index in indices}
    if width is not None:
        _narrow(columns, rows, widths, width)
    lines = []
    for row in ([column.title for column in columns], *rows):
        parts = {index: _wrapped(row[index], widths[index], columns[index].wraps, width) for index in indices}
        for number in range(max(map(len, parts.values()))):
            cells = (
                (parts[index][number] if number < len(parts[index]) else "").ljust(widths[index]) for index in indices
            )
            lines.append(GAP.join(cells).rstrip())
    return lines


def fits(columns: Sequence[Column], rows: Sequence[Row], width: int) -> bool:
    """Whether every column has its place, each row in one line."""
    return _total(_longest(columns, rows, index) for index in range(len(columns))) <= width


def _fitting(columns: Sequence[Column], rows: Sequence[Row], width: int) -> list[int]:
    indices = list(range(len(columns)))
    in_turn = sorted((column.leave_out, index) for index, column in enumerate(columns) if column.leave_out is not None)
    for _, index in in_turn:
        if _total(_least(columns, rows, one) for one in indices) <= width:
            break
        indices.remove(index)
    return indices


def _narrow(columns: Sequence[Column], rows: Sequence[Row], widths: dict[int, int], width: int) -> None:
    """Takes what is too much from the columns that wrap, the widest first."""
    over = _total(widths.values()) - width
    for index in sorted((index for index in widths if columns[index].wraps), key=lambda index: -widths[index]):
        spare = min(max(over, 0), widths[index] - _least(columns, rows, index))
        widths[index] -= spare
        over -= spare


def _longest(columns: Sequence[Column], rows: Sequence[Row], index: int) -> int:
    return max(len(columns[index].title), *(len(row[index]) for row in rows))


def _least(columns: Sequence[Column], rows: Sequence[Row], index: int) -> int:
    """The width in which no word of the column is broken."""
    whole = _longest(columns, rows, index)
    if not columns[index].wraps:
        return whole
    cells = (columns[index].title, *(row[index] for row in rows))
    return min(
        whole, max(columns[index].narrowest, *(len(word) for cell in cells for word in _unbroken(cell).split(" ")))
    )


def _wrapped(cell: str, width: int, wraps: bool, terminal: int | None) -> list[str]:
    if terminal is None or not wraps or len(cell) <= width:
        return [cell]
    lines = textwrap.wrap(_unbroken(cell), width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(_NO_BREAK, " ") for line in lines] or [""]


def _unbroken(cell: str) -> str:
    return _COUNTED.sub(rf"\1{_NO_BREAK}of{_NO_BREAK}\2", cell)


def _total(widths: Iterable[int]) -> int:
    listed = list(widths)
    return sum(listed) + len(GAP) * (len(listed) - 1)
