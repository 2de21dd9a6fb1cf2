"""A part of what a plan shows of the devices: so many lines of their diffs, and where the next part begins."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import iso
from slotcar.base.units import UnitError
from slotcar.planning.plan import Plan
from slotcar.planning.plan_file import device_document, plan_document
from slotcar.reservation.times import parse_time
from slotcar_client.wire import documents

#: Stands for what a plan changes at once, before any boundary.
AT_ONCE = "now"


@dataclass(frozen=True, slots=True)
class PageStart:
    """Where a page begins: a boundary, a device of it (empty: the first), and a line of that device's diff.

    Attributes:
        at: the boundary; None for what changes at once.
    """

    at: datetime | None = None
    device: str = ""
    line: int = 0

    def __str__(self) -> str:
        when = iso(self.at) if self.at else AT_ONCE
        return f"{when}/{self.device}/{self.line}"


def page_start(text: str, now: datetime) -> PageStart:
    """
    Raises:
        InvalidInput: it is not what the `next` of a page says.
    """
    when, _, rest = text.partition("/")
    device, _, line = rest.rpartition("/")
    try:
        if not (line.isascii() and line.isdigit() and len(line) < 10):
            raise UnitError("is not the beginning of a page", text, "say what `next` of the page before said")
        return PageStart(None if when == AT_ONCE else parse_time(when, now), device, int(line))
    except UnitError as error:
        raise InvalidInput([Problem("request", 0, "from", error.message, error.value, error.hint)]) from error


def page_document(plan: Plan, start: PageStart, max_lines: int) -> documents.Plan:
    """The plan's document with at most `max_lines` lines of diffs from `start` on.

    `plan` shows the boundaries from `start.at` on. The last diff may be cut; `next` is where it goes on.
    """
    boundaries: list[documents.Boundary] = []
    next_start = PageStart(plan.next_at) if plan.next_at else None
    remaining_lines, left_out, cut = max_lines, plan.boundaries_left_out, False
    for number, boundary in enumerate(plan.boundaries):
        at = None if boundary.at == plan.made_at else boundary.at
        resumed = number == 0 and at == start.at
        devices = []
        for one in boundary.devices:
            if resumed and one.device < start.device:
                continue
            if remaining_lines <= 0:
                next_start, cut = PageStart(at, one.device), True
                break
            first = start.line if resumed and one.device == start.device else 0
            document = device_document(one, first, remaining_lines)
            devices.append(document)
            remaining_lines -= len(document["diff"])
            if document["lines_left_out"]:
                next_start, cut = PageStart(at, one.device, first + len(document["diff"])), True
                break
        if devices:
            boundaries.append({"at": iso(boundary.at), "devices": devices})
        if cut:
            left_out += len(plan.boundaries) - number - 1
            break
    return {
        **plan_document(plan),
        "boundaries": boundaries,
        "boundaries_left_out": left_out,
        "next": str(next_start) if next_start else None,
    }
