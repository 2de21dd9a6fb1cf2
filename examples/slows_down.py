"""A program that slows down when it is told: it sends at the rate of its reservation, and is slower before a router is.

    python examples/slows_down.py OWNER/NAME --send-to 192.0.2.7:5001

It reads the reservation at each of its events, because whoever reserved is told of every change: an operator's, one that
makes room for others, one of its own. Where a slot with a lower rate is to come, it slows down `ahead_s` before.
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from paced import PacedSender
from slotcar_client import Slotcar, connect
from slotcar_client.answers import Entry, Slot

#: What is on the way, and in queues, has arrived by then.
AHEAD_S = 1.0
#: States of a reservation that carries traffic in its slots; all others carry none.
CARRIED = ("committed",)


def rate_at(slots: Sequence[Slot], at: datetime) -> int:
    """The rate forward at an instant; 0 outside of all slots."""
    return next((one["forward_bps"] for one in slots if _time(one["start"]) <= at < _time(one["end"])), 0)


def safe_rate(slots: Sequence[Slot], now: datetime, ahead: timedelta) -> int:
    """The lowest rate from now to `ahead` from now: what is sent now meets no smaller policer on its way."""
    starts = (_time(one["start"]) for one in slots)
    ends = (_time(one["end"]) for one in slots)
    instants = [now, *(at for at in (*starts, *ends) if now < at <= now + ahead)]
    return min(rate_at(slots, at) for at in instants)


def follow(
    slotcar: Slotcar, which: str, sender: PacedSender, ahead_s: float = AHEAD_S, look_s: float = 0.05,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> None:  # fmt: skip
    """Keeps the sender to the reservation until that is over."""
    current = _Current(slotcar.reservation(which))
    handle = current.entry["handle"]
    last = slotcar.events(reservation=handle, newest=True, limit=1)
    after = last[0]["sequence"] if last else 0
    current.entry = slotcar.reservation(handle)  # what changed before `after` was read
    threading.Thread(target=_listen, args=(slotcar, handle, after, current), daemon=True).start()
    while not current.is_over(clock()):
        slots = current.entry["reservation"]["slots"]
        sender.rate_bps = safe_rate(slots, clock(), timedelta(seconds=ahead_s))
        current.news.wait(look_s)
        current.news.clear()
    sender.rate_bps = 0


class _Current:
    """The reservation as the last event left it."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.news = threading.Event()

    def is_over(self, now: datetime) -> bool:
        return self.entry["state"] not in CARRIED or now >= _time(self.entry["reservation"]["slots"][-1]["end"])


def _listen(slotcar: Slotcar, handle: str, after: int, current: _Current) -> None:
    for _event in slotcar.watch(handle, after=after):
        current.entry = slotcar.reservation(handle)
        current.news.set()
        if current.entry["state"] not in CARRIED:
            return


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", help="a handle, or OWNER/NAME")
    parser.add_argument("--send-to", required=True, help="address and port that the packets go to")
    said = parser.parse_args()
    host, _, port = said.send_to.rpartition(":")
    with connect() as slotcar, PacedSender((host, int(port))) as sender:
        follow(slotcar, said.which, sender)


if __name__ == "__main__":
    main()
