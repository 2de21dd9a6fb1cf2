"""Devices that an operator holds: the leading controller leaves them alone until they are
released, or until the time that the operator set (ADR 34, ADR 49).

A hold is an event, as an adoption is: it outlives every controller, and the next leading controller knows it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from slotcar.base.timebase import iso
from slotcar.book.appending import AppendIfLast
from slotcar.book.model import Event
from slotcar.store import Ledger
from slotcar.store.queries import EventFilter
from slotcar_client.wire.events import DeviceHeld, DeviceReleased, PushRolledBack, PushVerified

#: Of these the last one of a device says whether it is held.
HOLDING = (DeviceHeld.kind, DeviceReleased.kind)
#: So many events of this kind are read at once.
MOST = 1000


@dataclass(frozen=True, slots=True)
class Removal:
    """What one rollback did on a router.

    Attributes:
        taken: handles of the reservations that it took from it, or changed on it.
        carried: handles of those that it carries afterwards, in the last form that is known of them.
    """

    taken: Collection[str] = ()
    carried: Collection[str] = ()

    def after(self, earlier: Collection[str]) -> tuple[str, ...]:
        """What it lacks after this rollback, and `earlier` ones."""
        return tuple(sorted({*earlier, *self.taken} - {*self.carried}))


def hold_words(reason: str, actor: str, until: str | None) -> str:
    """As `Hold.words` and documents have it."""
    end = f"{until} or until it is released" if until else "it is released"
    why = f"{reason}; " if reason else ""
    return f"{why}held by {actor} until {end}, and nothing is pushed to it"


@dataclass(frozen=True, slots=True)
class Hold:
    """Attributes:
    reason: in words; may be empty. actor: who holds it.
    since: when it was recorded. until: when the leading controller ends it; None where only an operator does.
    number: of its event; 0 before it is recorded.
    removed: handles of the reservations that rollbacks have taken from it, or changed on it, since it was last pushed to.
    """

    device: str
    reason: str
    actor: str
    since: datetime
    until: datetime | None = None
    number: int = 0
    removed: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """`rolled back to baseline; held by ops until it is released, and nothing is pushed to it`."""
        return hold_words(self.reason, self.actor, iso(self.until) if self.until else None)

    @property
    def event(self) -> DeviceHeld:
        return DeviceHeld(actor=self.actor, message=self.reason, until=self.until, removed=self.removed)

    def released_by(self, actor: str, message: str = "") -> DeviceReleased:
        """The event that ends it. Until the next push the router lacks what was taken from it."""
        return DeviceReleased(actor=actor, message=message, removed=self.removed)

    def over(self, now: datetime) -> bool:
        return self.until is not None and self.until <= now


def rolled_back_by(actor: str, message: str) -> PushRolledBack:
    return PushRolledBack(by="operator", actor=actor, message=f"{message}, by {actor}")


def holds_of(ledger: Ledger, now: datetime, devices: Collection[str] | None = None) -> dict[str, Hold]:
    """The hold of each held device among these, by name."""
    return {name: one for name, one in _recorded(ledger, devices).items() if not one.over(now)}


def held_devices(ledger: Ledger, now: datetime, devices: Collection[str] | None = None) -> dict[str, str]:
    """The held devices among these, each with the reason in words."""
    return {name: one.words for name, one in holds_of(ledger, now, devices).items()}


def removed_of(ledger: Ledger, devices: Collection[str]) -> dict[str, tuple[str, ...]]:
    """What rollbacks have taken from each of these devices, by its last hold: also where that is over or was released,
    until somebody pushes to the device."""
    pushed = {one.device: one.sequence for one in ledger.summaries.latest_of_devices((PushVerified.kind,), devices)}
    return {
        event.device: says.removed
        for event in ledger.summaries.latest_of_devices(HOLDING, devices)
        if event.device
        and isinstance(says := event.says, DeviceHeld | DeviceReleased)
        and (isinstance(says, DeviceHeld) or event.sequence > pushed.get(event.device, 0))
    }


def _recorded(ledger: Ledger, devices: Collection[str] | None = None) -> dict[str, Hold]:
    """The holds whose release is not recorded; the time of some may be over."""
    latest = ledger.summaries.latest_of_devices(HOLDING, devices)
    return {hold.device: hold for event in latest if (hold := _hold_of(event)) is not None}


def _hold_of(event: Event) -> Hold | None:
    """None where it ended one."""
    says = event.says
    if event.device is None or not isinstance(says, DeviceHeld):
        return None
    return Hold(event.device, says.message, says.actor, event.at, says.until, event.sequence, says.removed)


@dataclass(slots=True)
class Holds:
    """What the leader knows of holds."""

    ledger: Ledger
    _holds: dict[str, Hold] = field(default_factory=dict)
    _after: int | None = None

    @property
    def held(self) -> dict[str, str]:
        """Devices, each with why in words."""
        return {name: one.words for name, one in self._holds.items()}

    @property
    def holds(self) -> Mapping[str, Hold]:
        return self._holds

    def ends(self) -> list[datetime]:
        """When holds end by themselves."""
        return [one.until for one in self._holds.values() if one.until is not None]

    def take_over(self) -> None:
        self._holds.clear()
        self._after = None

    def read(self, now: datetime) -> set[str]:
        """The devices that were released since the last call. A hold that is over by `now` is recorded as released."""
        before = set(self._holds)
        last = self.ledger.last_event()
        if self._after is None:
            self._holds = _recorded(self.ledger)
        elif last != self._after:
            for event in self._events_after(self._after):
                if hold := _hold_of(event):
                    self._holds[hold.device] = hold
                else:
                    self._holds.pop(event.device or "", None)
        self._after = last
        for hold in [one for one in self._holds.values() if one.over(now) and self._ended(one, now)]:
            del self._holds[hold.device]
        return before - set(self._holds)

    def _events_after(self, after: int) -> Iterator[Event]:
        while events := self.ledger.events_of(EventFilter(HOLDING), after, MOST):
            yield from events
            after = events[-1].sequence

    def _ended(self, hold: Hold, now: datetime) -> bool:
        """Whether its end was recorded: not where the operator said something newer since, which the next turn reads."""
        released = hold.released_by("controller", f"held until {iso(hold.until or now)}")
        return self.ledger.run(AppendIfLast(now, released, hold.device, hold.number, frozenset(HOLDING)))
