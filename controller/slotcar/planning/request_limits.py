"""How much one request may ask for, whichever way it comes in."""

from __future__ import annotations

from collections.abc import Iterable

from slotcar.problems import InvalidInput, Problem, SlotcarError
from slotcar.reservation.loading import windows_problem
from slotcar.reservation.model import Reservation


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
