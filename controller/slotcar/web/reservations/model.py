"""Reservations as rows, slots as shapes, progress against the promise. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from slotcar.admission.placing import profile_of
from slotcar.admission.rates import MICROBITS_PER_BYTE, SECOND_US, RateStep, clipped, microbits
from slotcar.base.timebase import Window, to_us
from slotcar.base.units import format_bytes_about, format_rate
from slotcar.book.model import OCCUPYING, Entry, State
from slotcar.book.slot_now import SlotState
from slotcar.reservation.model import Reservation, Slot
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
    """A slot in a picture: where from the left and from the top, how wide and how high; `look`: past, now, coming, or gone,
    which it was to be and never was."""

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

    @property
    def has_gone_slots(self) -> bool:
        return any(bar.look == "gone" for bar in self.bars)


@dataclass(frozen=True, slots=True)
class ProgressRow:
    """A volume by a deadline: what its profile moves by now, and what its owner said remains.

    Attributes:
        which: what `moved` is.
        promised: by now; empty of what is over, which promises nothing.
    """

    volume: str
    which: str
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
        reservation.claim.kind if reservation.claim else reservation.service_class,
        amount_words(reservation),
        reservation.start,
        reservation.end,
        mark_of(entry),
        tuple(f"{key}={value}" for key, value in sorted(reservation.labels.items())),
        entry.version,
    )


def amount_words(reservation: Reservation) -> str:
    return need_words(reservation.need) if reservation.need else rate_words(reservation)


def picture_of(entry: Entry, now: datetime) -> SlotPicture:
    """The slots as shapes: left to right the time from first to last, the height the rate, the greater of both ways.

    The slot that is open looks so where it is on its devices, and else as one to come. What is over has no present: its
    slots are past as far as they were in force, and gone after that.
    """
    reservation = entry.reservation
    slots = reservation.slots[:SLOTS_DRAWN]
    window, over = Window(slots[0].start, slots[-1].end), over_since(entry, now)
    now_x = _x(now, window) if over is None and window.contains(now) else None
    bars = _bars(slots, window, HEIGHT - 10, now, in_place=is_in_place(entry), over=over)
    return SlotPicture(bars, now_x, len(reservation.slots) - len(slots))


def over_since(entry: Entry, now: datetime) -> datetime | None:
    """Since when it is in force no more: cancelled, ended, or never in force; None where it is or still may be.

    What the clock has ended is over also where no controller has written it down yet.
    """
    if entry.state is State.COMMITTED:
        return entry.reservation.end if entry.reservation.end <= now else None
    if entry.state in OCCUPYING:
        return entry.hold_until if entry.hold_until is not None and entry.hold_until <= now else None
    if entry.state in (State.REJECTED, State.TIMED_OUT):
        return min(entry.changed_at, entry.reservation.start)
    return min(entry.changed_at, entry.reservation.end)


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
    over: datetime | None = None,
) -> tuple[Bar, ...]:
    """The first of the slots within the window; the highest rate, by default the highest of these, is `height` high.

    A slot that was open when all was `over` is two bars: what it was, and what it was to be.
    """
    highest_bps = highest_bps or max((max(slot.rates) for slot in slots), default=0) or 1
    bars = []
    for slot in slots[:SLOTS_DRAWN]:
        high = round(max(max(slot.rates) / highest_bps, LEAST_HEIGHT) * height, 2)
        for start, end, look in _parts(slot, now, over, in_place=in_place):
            left, right = _x(start, window), _x(end, window)
            bars.append(
                Bar(left, round(HEIGHT - high, 2), max(round(right - left, 2), 1.0), high, look, rates_words(slot))
            )
    return tuple(bars)


def _parts(
    slot: Slot, now: datetime, over: datetime | None, *, in_place: bool
) -> tuple[tuple[datetime, datetime, str], ...]:
    """From when to when the slot looks how."""
    if over is None:
        look = "past" if slot.end <= now else "now" if slot.contains(now) and in_place else "coming"
        return ((slot.start, slot.end, look),)
    if slot.start < over < slot.end:
        return ((slot.start, over, "past"), (over, slot.end, "gone"))
    return ((slot.start, slot.end, "past" if slot.end <= over else "gone"),)


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
    """None of what asks for no volume, and of what was never in force."""
    need = entry.reservation.need
    if need is None or entry.state in (State.REJECTED, State.TIMED_OUT):
        return None
    over, progress = over_since(entry, now), entry.progress
    by_then = microbits(clipped(profile_of(entry.reservation), 0, to_us(over or now))) // MICROBITS_PER_BYTE
    promised = min(by_then, need.volume_bytes)
    moved = need.volume_bytes - progress.remaining_bytes if progress else promised
    which = "Moved, as reported" if progress else f"Moved, if it {'sends' if over is None else 'sent'} at its rates"
    behind = progress.missing_bytes if progress and over is None else 0
    return ProgressRow(
        format_bytes_about(need.volume_bytes), which, format_bytes_about(moved), moved * 100 // need.volume_bytes,
        format_bytes_about(promised) if over is None else "", promised * 100 // need.volume_bytes,
        format_bytes_about(behind, up=True) if behind else "", progress.at if progress else None,
    )  # fmt: skip


def used_bits(entry: Entry, now: datetime) -> int:
    """Rate times time that it has had by now, both ways."""
    if entry.state not in (State.COMMITTED, State.ENDED, State.CANCELLED):
        return 0
    until = min(now, entry.changed_at) if entry.state is State.CANCELLED else now
    both_ways = (RateStep(slot.start_us, slot.end_us, sum(slot.rates)) for slot in entry.reservation.slots)
    return microbits(clipped(both_ways, 0, to_us(until))) // SECOND_US


def can_be_cancelled(entry: Entry, now: datetime) -> bool:
    return entry.state in OCCUPYING and over_since(entry, now) is None
