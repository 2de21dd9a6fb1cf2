"""Requests to the controller that leads, through the ledger's events: check devices now, and repair them.

Whoever asks writes `controller.check-asked`; the leader, which every event wakes, reads the devices, pushes what differs,
and answers `controller.check-done` with the number of the request.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from slotcar.book.model import Event
from slotcar.store import Ledger
from slotcar.store.queries import EventFilter
from slotcar_client.wire.events import CheckDone, CheckRequested, Kind

#: So many of the last requests and answers a new leader looks at; whoever asked waits no longer than some minutes.
LOOK_BACK = 50
NAP_S = 1.0


def ask_check(ledger: Ledger, devices: Sequence[str], actor: str, now: datetime, message: str = "") -> int:
    """Asks the controller that leads; the number after which its answer comes. `message`: why, for people."""
    before = ledger.last_event()
    ledger.record(CheckRequested(devices=tuple(sorted(devices)), actor=actor, message=message), now)
    requests = ledger.events_of(EventFilter((CheckRequested.kind,)), before, LOOK_BACK)
    return next(
        event.sequence for event in requests if isinstance(says := event.says, CheckRequested) and says.actor == actor
    )


def answer_to(ledger: Ledger, request_sequence: int) -> Event | None:
    """The leader's answer to the request of this number; None while there is none."""
    answers = ledger.events_of(EventFilter((CheckDone.kind,)), request_sequence, LOOK_BACK)
    return next((event for event in answers if request_sequence in _requests(event.says)), None)


def _requests(says: Kind | None) -> tuple[int, ...]:
    """The requests that it answers."""
    return says.requests if isinstance(says, CheckDone) else ()


def wait_for_answer(ledger: Ledger, request_sequence: int, patience_s: float) -> Event | None:
    """The answer, once there is one; None where there is none in time. A leader that waits for a boundary answers after
    it.
    """
    deadline = time.monotonic() + patience_s
    while (answer := answer_to(ledger, request_sequence)) is None:
        if time.monotonic() > deadline:
            return None
        ledger.wait_for_event(ledger.last_event(), NAP_S)
    return answer


@dataclass(slots=True)
class CheckRequests:
    """The checks that the leader was asked for and has not done yet: devices by the number of the request."""

    ledger: Ledger
    pending: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _after: int | None = None

    def take_over(self) -> None:
        """What nobody answered is the new leader's."""
        self.pending.clear()
        self._after = None

    def read(self) -> set[str]:
        """The devices of the requests that came since."""
        last = self.ledger.last_event()
        if last == self._after:
            return set()
        events = list(self._events_since(self._after))
        answered = {number for event in events for number in _requests(event.says)}
        new = {
            event.sequence: says.devices
            for event in events
            if isinstance(says := event.says, CheckRequested) and event.sequence not in answered
        }
        self._after = last
        self.pending |= new
        return {name for names in new.values() for name in names}

    def _events_since(self, after: int | None) -> Iterator[Event]:
        """All, page by page: a play may last so long that more came than a page holds."""
        while events := self.ledger.events_of(EventFilter((CheckRequested.kind, CheckDone.kind)), after, LOOK_BACK):
            yield from events
            if after is None:  # a new leader looks at the last ones only
                return
            after = events[-1].sequence

    def answer(self, troubles: Mapping[str, str], now: datetime) -> None:
        """All devices were looked at since the requests came; `troubles` are those that take no push, and why."""
        if not self.pending:
            return
        names = {name for one in self.pending.values() for name in one}
        failed = {name: why for name, why in troubles.items() if name in names}
        done = CheckDone(requests=tuple(sorted(self.pending)), devices=tuple(sorted(names)), failed=failed)
        self.ledger.record(done, now)
        self.pending.clear()
