"""Curves of what was counted, as `chart.js` draws them, and the rows of the tables beside them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from slotcar_client.wire import documents

Part = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CurveLine:
    """Attributes:
    look: the page's class that has its colour.
    of: the bits of a part of time.
    """

    name: str
    look: str
    of: Callable[[Part], int]
    is_dashed: bool = False
    is_filled: bool = False


OF_RESERVATION = (
    CurveLine(
        "used", "wait", lambda part: 8 * (part["in_profile_bytes"] + part["out_of_profile_bytes"]), is_filled=True
    ),
    CurveLine("promised", "good", lambda part: part["reserved_bits"], is_dashed=True),
    CurveLine("dropped", "bad", lambda part: 8 * part["dropped_bytes"]),
)
OF_LINK = (
    CurveLine("used", "wait", lambda part: 8 * part["sent_bytes"], is_filled=True),
    CurveLine("reserved", "good", lambda part: part["reserved_bits"], is_dashed=True),
    CurveLine("free", "soft", lambda part: part["free_bits"]),
)


@dataclass(frozen=True, slots=True)
class CurveRow:
    """A part of time: rates in bit/s, in the order of the lines; None where nothing was counted."""

    start: datetime
    end: datetime
    counted_s: int
    rates_bps: tuple[int | None, ...]
    dropped_packets: int
    remarks: str


def rows_of(parts: Iterable[Part], lines: Iterable[CurveLine]) -> list[CurveRow]:
    lines = tuple(lines)
    return [
        CurveRow(
            datetime.fromisoformat(part["start"]), datetime.fromisoformat(part["end"]), part["counted_s"],
            tuple(_rate(line, part) for line in lines), part["dropped_packets"], ", ".join(part["remarks"]),
        )
        for part in parts
    ]  # fmt: skip


def _rate(line: CurveLine, part: Part) -> int | None:
    """Over the time that was counted: the rest of the part is unknown, and not zero."""
    return line.of(part) // part["counted_s"] if part["counted_s"] else None


def curves_of(parts: Iterable[Part], lines: Iterable[CurveLine]) -> dict[str, Any]:
    """The document of a chart. A part that nobody counted, and what lies between parts, is a gap."""
    lines = tuple(lines)
    listed = list(parts)
    return {
        "unit": "bps",
        "lines": [
            {
                "name": line.name, "look": line.look, "dashed": line.is_dashed, "filled": line.is_filled,
                "points": list(_points(listed, line)),
            }
            for line in lines
        ],
    }  # fmt: skip


def _points(parts: list[Part], line: CurveLine) -> Iterator[tuple[str, int | None]]:
    last_end = None
    for part in parts:
        if last_end is not None and last_end != part["start"]:
            yield last_end, None
        yield part["start"], _rate(line, part)
        last_end = part["end"]
    if parts and last_end is not None:
        yield last_end, _rate(line, parts[-1])


def flow_of(usage: documents.ReservationUsage, direction: str) -> documents.CountedFlow | None:
    return next((flow for flow in usage["flows"] if flow["direction"] == direction), None)
