"""Reservations as rows, slots as shapes, progress against the promise. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from slotcar.admission.placing import profile_of
from slotcar.admission.rates import MICROBITS_PER_BYTE, SECOND_US, RateStep, clipped, microbits
from slotcar.ledger.model import OCCUPYING, Entry, State
from slotcar.ledger.slot_states import SlotState
from slotcar.reservation.model import Reservation, Slot
from slotcar.timebase import Window, to_us
from slotcar.units import format_bytes_about, format_rate
from slotcar.views.explain import need_words, rate_words
from slotcar.web.times import Clock
from slotcar.web.words import StateMark, mark_of

#: A picture of more slots is a grey field; the table below has them in pages.
SLOTS_DRAWN = 400
SLOTS_LISTED = 50
#: Of the picture's own measure.
WIDTH, HEIGHT = 1000, 100
#: Of a slot with a rate near 0, as a part of the highest one: it is still to be seen.
LEAST_HEIGHT = 0.02


@dataclass(frozen=True, slots=True)
class Row:
    """One reservation in a table. The version is the one that an action says it saw."""

    handle: str
    name: str
    service: str
    rate: str
    start: datetime
    end: datetime
    mark: StateMark
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
    reservation = entry.reservation
    return Row(
        entry.handle,
        "/".join(reservation.key),
        reservation.claim.kind if reservation.claim else reservation.service.value,
        amount_words(reservation),
        reservation.start,
        reservation.end,
        mark_of(entry),
        tuple(f"{key}={value}" for key, value in sorted(reservation.labels.items())),
        entry.version,
    )


def amount_words(reservation: Reservation) -> str:
    return need_words(reservation.need) if reservation.need else rate_words(reservation)


def picture_of(reservation: Reservation, now: datetime, *, in_place: bool = False) -> SlotPicture:
    """The slots as shapes: left to right the time from first to last, the height the rate, the greater of both ways.

    Args:
        in_place: the slot that is open is on its devices; else it looks as one to come.
    """
    slots = reservation.slots[:SLOTS_DRAWN]
    window = Window(slots[0].start, slots[-1].end)
    now_x = _x(now, window) if window.contains(now) else None
    return SlotPicture(
        _bars(slots, window, HEIGHT - 10, now, in_place=in_place), now_x, len(reservation.slots) - len(slots)
    )


def lanes_of(entries: Sequence[Entry], window: Window, now: datetime) -> tuple[tuple[Bar, ...], ...]:
    """Each entry's slots within a window, as shapes of one lane: left to right the time, the height its own rate."""
    return tuple(
        _bars(
            [slot for slot in entry.reservation.slots if slot.start < window.end and slot.end > window.start],
            window, HEIGHT - 20, now, entry.reservation.peak_rate_bps, in_place=is_in_place(entry),
        )
        for entry in entries
    )  # fmt: skip


def is_in_place(entry: Entry) -> bool:
    return entry.slot is not None and entry.slot.state is SlotState.IN_PLACE


def _bars(
    slots: Sequence[Slot],
    window: Window,
    height: int,
    now: datetime,
    highest_bps: int | None = None,
    *,
    in_place: bool,
) -> tuple[Bar, ...]:
    """The first of the slots within the window; the highest rate, by default the highest of these, is `height` high."""
    highest_bps = highest_bps or max((max(slot.rates) for slot in slots), default=0) or 1
    bars = []
    for slot in slots[:SLOTS_DRAWN]:
        high = round(max(max(slot.rates) / highest_bps, LEAST_HEIGHT) * height, 2)
        look = "past" if slot.end <= now else "now" if slot.contains(now) and in_place else "coming"
        left, right = _x(slot.start, window), _x(slot.end, window)
        bars.append(
            Bar(left, round(HEIGHT - high, 2), max(round(right - left, 2), 1.0), high, look, rates_words(slot))
        )
    return tuple(bars)


def _x(moment: datetime, window: Window) -> float:
    """How far from the left; what lies outside of the window is at its edge."""
    inside = min(max(moment, window.start), window.end) - window.start
    return round(inside / window.duration * WIDTH, 2)


def rates_words(slot: Slot) -> str:
    """`10 Mbit/s`, or each way where they differ."""
    forward, reverse = slot.rates
    if forward == reverse or not reverse:
        return format_rate(forward)
    return f"{format_rate(forward)} forward, {format_rate(reverse)} reverse" if forward else format_rate(reverse)


def progress_of(entry: Entry, now: datetime) -> ProgressRow | None:
    """None of what asks for no volume."""
    need = entry.reservation.need
    if need is None:
        return None
    moved_by_now = microbits(clipped(profile_of(entry.reservation), 0, to_us(now))) // MICROBITS_PER_BYTE
    promised = min(moved_by_now, need.volume_bytes)
    progress = entry.progress
    moved = need.volume_bytes - progress.remaining_bytes if progress else promised
    behind = format_bytes_about(progress.missing_bytes, up=True) if progress and progress.missing_bytes else ""
    return ProgressRow(
        format_bytes_about(need.volume_bytes), format_bytes_about(moved), moved * 100 // need.volume_bytes,
        format_bytes_about(promised), promised * 100 // need.volume_bytes, behind, progress.at if progress else None,
    )  # fmt: skip


def used_bits(entry: Entry, now: datetime) -> int:
    """Rate times time that it has had by now, both ways."""
    if entry.state not in (State.COMMITTED, State.ENDED, State.CANCELLED):
        return 0
    until = min(now, entry.changed_at) if entry.state is State.CANCELLED else now
    both_ways = (RateStep(slot.start_us, slot.end_us, sum(slot.rates)) for slot in entry.reservation.slots)
    return microbits(clipped(both_ways, 0, to_us(until))) // SECOND_US


def can_be_cancelled(entry: Entry) -> bool:
    return entry.state in OCCUPYING
