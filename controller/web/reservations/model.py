"""Reservations as rows, slots as shapes, progress against the promise. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from controller.ledger.model import OCCUPYING, Entry, State
from controller.reservation.model import Reservation, Slot
from controller.timebase import MICROSECOND, Window
from controller.units import format_bytes_about, format_rate
from controller.views.explain import need_words, rate_words
from controller.web.times import Clock
from controller.web.words import Mark, mark_of

#: A picture of more slots is a grey field; the table below has them in pages.
SLOTS_DRAWN = 400
SLOTS_LISTED = 50
#: Of the picture's own measure.
WIDTH, HEIGHT = 1000, 100


@dataclass(frozen=True, slots=True)
class Row:
    """One reservation in a table. The version is the one that an action says it saw."""

    handle: str
    name: str
    service: str
    rate: str
    start: datetime
    end: datetime
    mark: Mark
    labels: tuple[str, ...]
    version: int


@dataclass(frozen=True, slots=True)
class Bar:
    """A slot in a picture: where from the left and from the top, how wide and how high; `look`: past, now or coming."""

    x: float
    y: float
    width: float
    height: float
    look: str
    words: str


@dataclass(frozen=True, slots=True)
class SlotPicture:
    bars: tuple[Bar, ...]
    now_x: float | None
    left_out: int


@dataclass(frozen=True, slots=True)
class ProgressRow:
    """A volume by a deadline: what its profile moves by now, and what its owner said remains."""

    volume: str
    moved: str
    moved_percent: int
    promised: str
    promised_percent: int
    behind: str
    reported_at: datetime | None


def rows_of(entries: Iterable[Entry], clock: Clock) -> tuple[Row, ...]:
    return tuple(row_of(entry, clock) for entry in entries)


def row_of(entry: Entry, clock: Clock) -> Row:
    asked = entry.reservation
    return Row(
        entry.handle, "/".join(asked.key), asked.service.value, amount_words(asked), asked.start, asked.end,
        mark_of(entry, clock.now), tuple(f"{key}={value}" for key, value in sorted(asked.labels.items())), entry.version,
    )  # fmt: skip


def amount_words(asked: Reservation) -> str:
    return need_words(asked.need) if asked.need else rate_words(asked)


def picture_of(asked: Reservation, now: datetime) -> SlotPicture:
    """The slots as shapes: left to right the time from first to last, the height the rate, the greater of both ways."""
    slots = asked.slots[:SLOTS_DRAWN]
    start, span = slots[0].start, (slots[-1].end - slots[0].start) / MICROSECOND
    highest = max(max(slot.rates) for slot in slots) or 1

    def x(moment: datetime) -> float:
        return round((moment - start) / MICROSECOND / span * WIDTH, 2)

    bars = []
    for slot in slots:
        height = round(max(max(slot.rates) / highest, 0.02) * (HEIGHT - 10), 2)
        look = "past" if slot.end <= now else "now" if slot.contains(now) else "coming"
        width = max(round(x(slot.end) - x(slot.start), 2), 1.0)
        bars.append(Bar(x(slot.start), HEIGHT - height, width, height, look, rates_words(slot)))
    inside = slots[0].start <= now < slots[-1].end
    return SlotPicture(tuple(bars), x(now) if inside else None, len(asked.slots) - len(slots))


def lanes_of(entries: Sequence[Entry], window: Window, now: datetime) -> tuple[tuple[Bar, ...], ...]:
    """Each entry's slots within a window, as shapes of one lane: left to right the time, the height its own rate."""
    start, span = window.start, window.duration / MICROSECOND

    def x(moment: datetime) -> float:
        return round((min(max(moment, window.start), window.end) - start) / MICROSECOND / span * WIDTH, 2)

    lanes = []
    for entry in entries:
        inside = [slot for slot in entry.reservation.slots if slot.start < window.end and slot.end > start]
        highest = max((max(slot.rates) for slot in entry.reservation.slots), default=1) or 1
        lanes.append(
            tuple(
                Bar(
                    x(slot.start), round(HEIGHT - max(slot.rates) / highest * (HEIGHT - 20), 2),
                    max(round(x(slot.end) - x(slot.start), 2), 1.0), round(max(slot.rates) / highest * (HEIGHT - 20), 2),
                    "now" if slot.contains(now) else "past" if slot.end <= now else "coming", rates_words(slot),
                )
                for slot in inside[:SLOTS_DRAWN]
            )
        )  # fmt: skip
    return tuple(lanes)


def rates_words(slot: Slot) -> str:
    """`10 Mbit/s`, or each way where they differ."""
    forward, reverse = slot.rates
    if forward == reverse or not reverse:
        return format_rate(forward)
    return f"{format_rate(forward)} forward, {format_rate(reverse)} reverse" if forward else format_rate(reverse)


def moved_bits(slots: Sequence[Slot], until: datetime) -> int:
    """Payload that the slots carry by then, the greater way."""
    return sum(
        max(slot.rates) * ((min(slot.end, until) - slot.start) // MICROSECOND) // 1_000_000
        for slot in slots
        if slot.start < until
    )


def progress_of(entry: Entry, now: datetime) -> ProgressRow | None:
    """None of what asks for no volume."""
    need = entry.reservation.need
    if need is None:
        return None
    promised = min(moved_bits(entry.reservation.slots, now) // 8, need.volume_bytes)
    told = entry.progress
    moved = need.volume_bytes - told.remaining_bytes if told else promised
    behind = format_bytes_about(told.missing_bytes, up=True) if told and told.missing_bytes else ""
    return ProgressRow(
        format_bytes_about(need.volume_bytes), format_bytes_about(moved), moved * 100 // need.volume_bytes,
        format_bytes_about(promised), promised * 100 // need.volume_bytes, behind, told.at if told else None,
    )  # fmt: skip


def used_bits(entry: Entry, now: datetime) -> int:
    """Rate times time that it has had by now, both ways."""
    if entry.state not in (State.COMMITTED, State.ENDED, State.CANCELLED):
        return 0
    until = min(now, entry.changed_at) if entry.state is State.CANCELLED else now
    return sum(
        sum(slot.rates) * ((min(slot.end, until) - slot.start) // MICROSECOND) // 1_000_000
        for slot in entry.reservation.slots
        if slot.start < until
    )


def can_be_cancelled(entry: Entry) -> bool:
    return entry.state in OCCUPYING
