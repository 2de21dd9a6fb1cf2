"""A program that slows down when it is told: it sends at the rate of its reservation, and is slower before a router is.

    python examples/slows_down.py OWNER/NAME --send-to 192.0.2.7:5001

It follows the reservation's events, because whoever reserved is told of every change: an operator's, one that makes room
for others, one of its own; of a background reservation each change of its rate (`reservation.rate`), before it happens.
Where a lower rate is to come, it slows down `ahead_s` before.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from paced import PacedSender
from slotcar_client import Slotcar, connect
from slotcar_client.wire.documents import Entry, Event, Slot
from slotcar_client.wire.events import ReservationRate, read

#: What is on the way, and in queues, has arrived by then.
AHEAD_S = 1.0
#: States of a reservation that carries traffic in its slots; all others carry none.
CARRIED = ("committed",)
#: Rates forward, each with the instant from which it holds, ascending.
Steps = Sequence[tuple[datetime, int]]


def steps_of_slots(slots: Iterable[Slot]) -> Steps:
    steps: list[tuple[datetime, int]] = []
    for one in slots:
        if steps and steps[-1][0] == _time(one["start"]):
            steps.pop()  # the slot before ends where this one begins
        steps += [(_time(one["start"]), one["forward_bps"]), (_time(one["end"]), 0)]
    return steps


def steps_of_events(events: Iterable[Event]) -> Steps:
    """What was told of a background reservation; of one instant, what was told last."""
    events_read = (read(one["kind"], one["details"]) for one in events)
    rates = {one.at: one.forward_bps for one in events_read if isinstance(one, ReservationRate) and one.at}
    return sorted(rates.items())


def rate_at(steps: Steps, at: datetime) -> int:
    """The rate at an instant; 0 before the first one."""
    return next((rate_bps for since, rate_bps in reversed(steps) if since <= at), 0)


def safe_rate(steps: Steps, now: datetime, ahead: timedelta) -> int:
    """The lowest rate from now to `ahead` from now: what is sent now meets no smaller policer on its way."""
    return min(rate_at(steps, at) for at in (now, *(since for since, _ in steps if now < since <= now + ahead)))


class Followed:
    """What is known of a reservation's rates, kept up to date by its events."""

    def __init__(self, slotcar: Slotcar, which: str) -> None:
        self._slotcar = slotcar
        self.news = threading.Event()
        self.handle = slotcar.reservation(which)["handle"]
        self._events = slotcar.events(reservation=self.handle, limit=10_000)
        self._after = self._events[-1]["sequence"] if self._events else 0
        self._take(slotcar.reservation(self.handle))
        threading.Thread(target=self._listen, daemon=True).start()

    def _take(self, entry: Entry) -> None:
        reservation = entry["reservation"]
        self.ends = _time(reservation["slots"][-1]["end"])
        self.carried = entry["state"] in CARRIED
        self.steps = steps_of_events(self._events) if reservation["share"] else steps_of_slots(reservation["slots"])

    def _listen(self) -> None:
        for event in self._slotcar.watch(self.handle, after=self._after):
            self._events.append(event)
            self._take(self._slotcar.reservation(self.handle))
            self.news.set()
            if not self.carried:
                return


def follow(
    slotcar: Slotcar, which: str, sender: PacedSender, ahead_s: float = AHEAD_S, look_s: float = 0.05,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> None:  # fmt: skip
    """Keeps the sender to the reservation until that is over."""
    followed = Followed(slotcar, which)
    while followed.carried and clock() < followed.ends:
        sender.rate_bps = safe_rate(followed.steps, clock(), timedelta(seconds=ahead_s))
        followed.news.wait(look_s)
        followed.news.clear()
    sender.rate_bps = 0


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", help="a handle, or OWNER/NAME")
    parser.add_argument("--send-to", required=True, help="address and port that the packets go to")
    arguments = parser.parse_args()
    host, _, port = arguments.send_to.rpartition(":")
    with connect() as slotcar, PacedSender((host, int(port))) as sender:
        follow(slotcar, arguments.which, sender)


if __name__ == "__main__":
    main()
