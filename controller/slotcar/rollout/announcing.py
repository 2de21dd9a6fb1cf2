"""Tells the owners of background reservations every change of their rate, ahead of time where it is known ahead of time
(GARA §4.1 calls the program back at each change; here before it).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeAlias

from slotcar.book.model import Entry, State
from slotcar.book.timeline import active_at
from slotcar.store import Ledger
from slotcar_client.wire.events import ReservationRate

#: So long before a change it is announced, or longer: as long as the longest notice that an inventory may ask for.
ANNOUNCED_AHEAD = timedelta(minutes=1)

#: Forward and reverse, bits per second of payload; nothing where no slot is open.
Rates: TypeAlias = tuple[int, int]
CLOSED: Rates = (0, 0)


@dataclass(slots=True)
class Announcing:
    """The announcements of the controller that leads. Its memory is its own: the next leader announces present rates again.

    Attributes:
        announced: by number of the entry, the rates that its owner was told, each with the instant from which they hold,
            ascending.
    """

    ledger: Ledger
    announced: dict[int, list[tuple[datetime, Rates]]] = field(default_factory=dict)

    def announce(self, entries: Iterable[Entry], now: datetime, until: datetime) -> None:
        """Writes an event for each rate until `until` that the owner does not know of yet.

        Args:
            entries: with the rates of background reservations in their slots (`BackgroundShares`).
        """
        live: set[int] = set()
        for entry in entries:
            if entry.reservation.share is None or entry.state is not State.COMMITTED:
                continue
            live.add(entry.number)
            earlier = self.announced.get(entry.number, [])
            changes = news(entry, earlier, now, until)
            for at, (forward_bps, reverse_bps) in changes:
                rate = ReservationRate(at=at, forward_bps=forward_bps, reverse_bps=reverse_bps)
                self.ledger.record(rate, now, entry.handle)
            self.announced[entry.number] = _together(earlier, changes, now)
        for number in self.announced.keys() - live:
            del self.announced[number]


def news(
    entry: Entry, earlier: Sequence[tuple[datetime, Rates]], now: datetime, until: datetime
) -> list[tuple[datetime, Rates]]:
    """The rates to announce to the owner: the instants in `[now, until]` from which another rate holds than it believes."""
    instants = {now, *(at for at, _ in earlier), *(instant for slot in entry.reservation.slots for instant in slot)}
    changes: list[tuple[datetime, Rates]] = []
    for at in sorted(instant for instant in instants if now <= instant <= until):
        rates = _rates_at(entry, at)
        if rates != _believed([*earlier, *changes], at):
            changes.append((at, rates))
    return changes


def _rates_at(entry: Entry, at: datetime) -> Rates:
    return next((one.slot.rates for one in active_at((entry,), at)), CLOSED)


def _believed(earlier: Sequence[tuple[datetime, Rates]], at: datetime) -> Rates:
    """The rates that were announced for the latest instant until `at`; of two announcements for one instant, the last."""
    return max(
        ((since, place, rates) for place, (since, rates) in enumerate(earlier) if since <= at),
        default=(at, 0, CLOSED),
    )[2]


def _together(
    earlier: Sequence[tuple[datetime, Rates]], changes: Sequence[tuple[datetime, Rates]], now: datetime
) -> list[tuple[datetime, Rates]]:
    """The rates that the owner believes from `now` on: known ones and announced ones together."""
    announced = {at: rates for at, rates in [*earlier, *changes] if at > now}
    return [(now, _believed([*earlier, *changes], now)), *sorted(announced.items())]
