"""Devices that an operator holds: whoever leads leaves them alone until they are released (ADR 34).

A hold is an event, as an adoption is: it outlives every controller, and whoever leads next knows it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from slotcar.ledger import Ledger
from slotcar.ledger.model import Event
from slotcar.ledger.queries import EventFilter

HELD, RELEASED = "device.held", "device.released"
#: So many events of this kind are read at a turn.
MOST = 1000


def held_devices(ledger: Ledger, devices: Collection[str] | None = None) -> dict[str, str]:
    """Those of the devices that are held, each with why in words."""
    latest = ledger.summaries.latest_of_devices((HELD, RELEASED), devices)
    return {event.device: words_of(event) for event in latest if event.kind == HELD and event.device}


def words_of(event: Event) -> str:
    """`rolled back to baseline; held by ops until it is released, and nothing is pushed to it`."""
    why, actor = event.details.get("message", ""), event.details.get("actor", "")
    return f"{why}{'; ' if why else ''}held by {actor} until it is released, and nothing is pushed to it"


@dataclass(slots=True)
class Holds:
    """What the leader knows of them.

    Attributes:
        held: devices, each with why in words.
    """

    ledger: Ledger
    held: dict[str, str] = field(default_factory=dict)
    _after: int | None = None

    def take_over(self) -> None:
        self.held.clear()
        self._after = None

    def read(self) -> set[str]:
        """Those that were released since the last time."""
        last = self.ledger.last_event()
        if last == self._after:
            return set()
        before = set(self.held)
        if self._after is None:
            self.held = held_devices(self.ledger)
        else:
            for event in self.ledger.events_of(EventFilter((HELD, RELEASED)), self._after, MOST):
                if event.kind == HELD and event.device:
                    self.held[event.device] = words_of(event)
                else:
                    self.held.pop(event.device or "", None)
        self._after = last
        return before - set(self.held)
