"""How much one request may ask for, whichever way it comes in."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from slotcar.base import lengths
from slotcar.base.problems import InvalidInput, Problem, SlotcarError, is_line
from slotcar.base.timebase import Window, iso
from slotcar.reservation.loading import windows_problem
from slotcar.reservation.model import Reservation

#: A request for the use of more months would read the whole ledger.
MOST_MONTHS = 24
#: Of a requester's timeline: reading more would be work for everybody.
MOST_ENTRIES = 10_000


class PlanTooLarge(SlotcarError):
    """A plan needs more time, memory or room in its answer than one request may have; the message says what would do."""


def require_few_windows(reservations: Iterable[tuple[str, Reservation]], max_windows: int) -> None:
    """Counts the windows of all reservations of a request together; each comes with its place in the request.

    Raises:
        InvalidInput: there are more windows than `max_windows`; it names the reservation that passes the limit.
    """
    total = 0
    for place, reservation in reservations:
        total += len(reservation.slots)
        if total > max_windows:
            key, message, hint = windows_problem(place, total, max_windows)
            raise InvalidInput([Problem("request", 0, key, message, "", hint)])


def require_few_months(months: int, window: Window) -> None:
    """
    Raises:
        InvalidInput: the window has more than `MOST_MONTHS`.
    """
    if months > MOST_MONTHS:
        hint = f"at most {MOST_MONTHS} months"
        raise InvalidInput([Problem("query", 0, "until", "is too far from `from`", iso(window.end), hint)])


def require_few_entries(entries: int) -> None:
    """
    Raises:
        InvalidInput: there are more than `MOST_ENTRIES` in the time that is asked for.
    """
    if entries > MOST_ENTRIES:
        words = f"there are more than {MOST_ENTRIES:,} reservations in this time".replace(",", " ")
        raise InvalidInput([Problem("query", 0, "until", words, hint="ask for a shorter time")])


def require_reason(reason: str) -> None:
    """
    Raises:
        InvalidInput: it is not one line that the audit log takes.
    """
    if not is_line(reason, lengths.REASON):
        hint = f"say one line of at most {lengths.REASON} characters"
        raise InvalidInput([Problem("request", 0, "reason", "is not a valid reason", reason, hint)])


def require_short_key(idempotency_key: str | None) -> None:
    """
    Raises:
        InvalidInput: it is longer than the ledger remembers.
    """
    if idempotency_key is not None and len(idempotency_key) > lengths.IDEMPOTENCY_KEY:
        hint = f"at most {lengths.IDEMPOTENCY_KEY} characters"
        raise InvalidInput([Problem("request", 0, "idempotency_key", "is too long", idempotency_key, hint)])


def require_future(until: datetime | None, now: datetime) -> None:
    """
    Raises:
        InvalidInput: the end that is asked for is past.
    """
    if until is not None and until <= now:
        raise InvalidInput([Problem("request", 0, "until", "is past", iso(until), f"it is {iso(now)}")])
