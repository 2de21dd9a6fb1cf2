"""What a modify may change, and the reservation that results. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import ValidationError

from slotcar.base.timebase import Window, iso
from slotcar.base.vocabulary import Direction
from slotcar.planning.errors import NotPossible
from slotcar.reservation.model import Endpoint, Reservation, Slot


@dataclass(frozen=True, slots=True)
class Modification:
    """None leaves a value as it is. `end` and `duration` exclude each other.

    Attributes:
        rate_bps: of each direction that is reserved; excludes `forward_bps` and `reverse_bps`.
    """

    rate_bps: int | None = None
    forward_bps: int | None = None
    reverse_bps: int | None = None
    start: datetime | None = None
    end: datetime | None = None
    duration: timedelta | None = None

    @property
    def changes_window(self) -> bool:
        return self.start is not None or self.end is not None or self.duration is not None

    @property
    def changes_rate(self) -> bool:
        return self.rate_bps is not None or self.forward_bps is not None or self.reverse_bps is not None


def modified(old: Reservation, change: Modification, now: datetime) -> Reservation:
    """
    Raises:
        NotPossible: nothing to change, a slot that is over, both an end and a duration, a window of a recurring
            reservation, a window that ends before it starts or lies in the past, or another start for a slot that
            has begun.
    """
    if not change.changes_rate and not change.changes_window:
        raise NotPossible("modify needs a rate, a start, an end or a duration")
    if old.need is not None:
        raise NotPossible(
            f"{old.owner}/{old.name} is a volume by a deadline, and admission chooses its rates: say what remains of it, or"
            " change it in its file and apply that"
        )
    if old.end <= now:
        raise NotPossible(f"{old.owner}/{old.name} ended at {iso(old.end)}: nothing of it can change any more")
    if old.share and change.changes_rate:
        raise NotPossible(
            f"{old.owner}/{old.name} is a background reservation: its rate follows from what the others leave;"
            " change its share in its file and apply that"
        )
    if len({slot.rates for slot in old.slots}) > 1:
        raise NotPossible(
            f"the rate of {old.owner}/{old.name} changes with time: change it in its file and apply that"
        )
    windows: tuple[Window, ...] = (_window(old, change, now),) if change.changes_window else old.windows
    forward_bps, reverse_bps = _rates(old, change)
    slots = [Slot(window.start, window.end, forward_bps, reverse_bps) for window in windows]
    ways = [way for way in Direction.BOTH.ways if slots[0].rate_bps(way)]
    direction = old.direction if set(ways) <= set(old.direction.ways) else Direction.BOTH
    try:
        return Reservation.model_validate({**old.model_dump(), "slots": slots, "direction": direction})
    except ValidationError as error:
        raise NotPossible(str(error.errors()[0]["msg"]).removeprefix("Value error, ")) from error


def _rates(old: Reservation, change: Modification) -> tuple[int, int]:
    """Forward and reverse, bits per second."""
    if change.rate_bps is not None:
        if change.forward_bps is not None or change.reverse_bps is not None:
            raise NotPossible("say one rate, or one for each way, not both")
        ways = old.direction.ways
        return change.rate_bps * (Direction.FORWARD in ways), change.rate_bps * (Direction.REVERSE in ways)
    first = old.slots[0]
    return (
        first.forward_bps if change.forward_bps is None else change.forward_bps,
        first.reverse_bps if change.reverse_bps is None else change.reverse_bps,
    )


def _window(old: Reservation, change: Modification, now: datetime) -> Window:
    if len(old.windows) > 1:
        raise NotPossible(
            f"{old.owner}/{old.name} recurs {len(old.windows)} times: change its recurrence in its file and apply that"
        )
    if change.end is not None and change.duration is not None:
        raise NotPossible("say an end or a duration, not both")
    window = old.windows[0]
    start = change.start or window.start
    if change.start is not None and window.start <= now and change.start != window.start:
        raise NotPossible(f"the slot began at {iso(window.start)}: its start cannot change any more, its end can")
    end = change.end or start + (change.duration or window.duration)
    if end <= start:
        raise NotPossible(f"the window would end at {iso(end)}, not after its start at {iso(start)}")
    if end <= now:
        raise NotPossible(f"the window would end at {iso(end)}, which is past; to end the slot now, cancel it")
    return Window(start, end)


def with_ports(old: Reservation, source_port: int | None, destination_port: int | None) -> Reservation:
    """The same with other ports; None leaves one as it is."""
    return Reservation.model_validate(
        {
            **old.model_dump(),
            "source": Endpoint(host=old.source.host, port=source_port or old.source.port),
            "destination": Endpoint(host=old.destination.host, port=destination_port or old.destination.port),
        }
    )
