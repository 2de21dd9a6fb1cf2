"""The reconcile loop: at every slot boundary, and whenever the ledger changes what is wanted, make the devices equal to it.

It keeps nothing that it could not compute again: killed and started anew, it reads the devices and goes on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from controller.ledger import Ledger
from controller.ledger.errors import LedgerUnavailable
from controller.ledger.listening import Lease
from controller.ledger.model import Entry
from controller.problems import SlotcarError
from controller.rollout.model import Outlook, PushFailed, Reading, Wanted
from controller.rollout.pusher import Pusher
from controller.timeline import Active, active_at, next_boundary

log = structlog.get_logger("slotcar.loop")
#: How long another controller may lead before this one asks again.
FOLLOW_S = 2.0
#: The longest sleep: a clock that was set, or a missed notification, costs no more.
DOZE = timedelta(seconds=30)
FIRST_RETRY = timedelta(seconds=10)
LAST_RETRY = timedelta(minutes=5)

#: Each device's configuration and guard while a set of reservations is active at an instant.
WantedFor = Callable[[Sequence[Active], datetime], Outlook]


@dataclass(slots=True)
class Trouble:
    """A device that could not be read or pushed to, and when it is tried again."""

    message: str
    retry_at: datetime
    wait: timedelta


@dataclass(slots=True)
class LoopStatus:
    """What the loop is about, for `/readyz` and the metrics. Written by the loop only."""

    leading: bool = False
    settled: bool = False
    next_boundary: datetime | None = None
    last_revision: str = ""
    last_push_at: datetime | None = None
    pushes: int = 0
    failed_pushes: int = 0
    error: str = ""
    troubles: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ReconcileLoop:
    """One per controller; only the one that leads pushes.

    Attributes:
        lead: how long before a boundary it is prepared.
        check: how often the devices are read though nothing should have changed (a router that restarted).
        clock: the present instant, aware UTC.
        instants: when the network itself changes what is wanted (an SLS begins or ends to be valid).
    """

    ledger: Ledger
    pusher: Pusher
    wanted_for: WantedFor
    lead: timedelta
    check: timedelta
    clock: Callable[[], datetime]
    instants: Sequence[datetime] = ()
    status: LoopStatus = field(default_factory=LoopStatus)
    _verified: dict[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    _believed: dict[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    _carried: set[str] = field(default_factory=set)
    _withheld: set[str] = field(default_factory=set)
    _troubles: dict[str, Trouble] = field(default_factory=dict)
    _handled: datetime | None = None
    _checked_at: datetime | None = None

    def run(self, stopping: threading.Event) -> None:
        """Leads when it can, until it is told to stop. Survives a database that comes and goes."""
        while not stopping.is_set():
            try:
                lease = self.ledger.try_lead()
                if lease is None:
                    stopping.wait(FOLLOW_S)
                    continue
                with lease:
                    self._lead(lease, stopping)
            except LedgerUnavailable as error:
                self.status.error = str(error)
                log.warning("ledger unavailable", error=str(error))
                stopping.wait(FOLLOW_S)
            finally:
                self.status.leading = self.status.settled = False

    def _lead(self, lease: Lease, stopping: threading.Event) -> None:
        log.info("leading")
        self.status.leading, self.status.error = True, ""
        self._verified.clear()
        self._believed.clear()
        self._carried.clear()
        self._checked_at = self.clock()
        while not stopping.is_set() and lease.held():
            seen = self.ledger.last_event()
            wake_at = self.turn()
            left = (wake_at - self.clock()).total_seconds()
            while left > 0 and not stopping.is_set():
                # In short naps, so that a stop is heard.
                if self.ledger.wait_for_event(seen, min(left, 0.5)):
                    break
                left = (wake_at - self.clock()).total_seconds()

    def turn(self) -> datetime:
        """Does what is to be done now, and gives the instant at which to look again at the latest."""
        now = self.clock()
        self.ledger.expire(now)
        if self._checked_at is None or now - self._checked_at >= self.check:
            self._verified.clear()
            self._checked_at = now
        entries = self.ledger.live_between(now)
        self.reconcile(entries, now)
        self.status.settled = not self._troubles
        boundary = self._next_boundary(entries, max(now, self._handled or now))
        self.status.next_boundary = boundary
        if boundary is not None and boundary - self.clock() <= self.lead:
            self._handled = boundary
            self.reconcile(entries, boundary)
            return self.clock()
        waits = [self.clock() + DOZE, *(trouble.retry_at for trouble in self._troubles.values())]
        if boundary is not None:
            waits.append(boundary - self.lead)
        return min(waits)

    def _next_boundary(self, entries: Sequence[Entry], after: datetime) -> datetime | None:
        instants = [one for one in self.instants if one > after]
        slot = next_boundary(entries, after)
        return min([*instants, slot] if slot else instants, default=None)

    def reconcile(self, entries: Sequence[Entry], at: datetime) -> None:
        """Makes the devices have at `at` what is wanted then; leaves devices in trouble, and who needs them, for later."""
        # Each round that fails puts a device aside, so there are at most as many rounds as devices.
        for _ in range(len(self.pusher.devices) + 1):
            active = self._admissible(active_at(entries, at))
            outlook = self.wanted_for(active, at)
            fresh = {name: why for name, why in outlook.unrenderable.items() if not self._waiting(name)}
            for name, why in fresh.items():
                self._put_aside(name, why)
            if fresh:
                continue
            targets = {
                name: one
                for name, one in outlook.wanted.items()
                if self._verified.get(name) != one.identity and not self._waiting(name)
            }
            if not targets or self._try(targets, at):
                self._carried = {one.entry.handle for one in active}
                return

    def _try(self, targets: Mapping[str, Wanted], at: datetime) -> bool:
        """Whether the devices have it now; those that failed are put aside."""
        self.status.settled = False
        try:
            readings = self.pusher.read(sorted(targets))
            for failure in readings.failures.values():
                self._put_aside(failure.device, failure.message)
            self._tell_drift(readings.found)
            if readings.failures:
                return False
            result = self.pusher.push(targets, readings.found, at)
        except PushFailed as error:
            self.status.failed_pushes += 1
            log.error("push failed", error=str(error), rolled_back=error.rolled_back, revision=error.revision)
            reasons = dict(error.devices) or dict.fromkeys(targets, str(error))
            for name, why in reasons.items():
                self._put_aside(name, why)
            for name in targets:
                self._verified.pop(name, None)
                self._believed.pop(name, None)
            return False
        except SlotcarError as error:
            log.error("push impossible", error=str(error))
            for name in targets:
                self._put_aside(name, str(error))
            return False
        for name, one in targets.items():
            self._verified[name] = self._believed[name] = one.identity
            self._troubles.pop(name, None)
            self.status.troubles.pop(name, None)
        if result.revision:
            self.status.pushes += 1
            self.status.last_revision, self.status.last_push_at = result.revision, self.clock()
            log.info("pushed", revision=result.revision, changed=result.changed, rearmed=result.rearmed)
        return True

    def _tell_drift(self, found: Mapping[str, Reading]) -> None:
        """A device that has not what it was seen to have was changed by somebody else, or restarted."""
        for name, reading in found.items():
            believed = self._believed.pop(name, None)
            if believed is None or believed == (reading.configuration.lines, reading.guard_id):
                continue
            message = (
                "its guard is gone" if believed[0] == reading.configuration.lines else "its configuration differs"
            )
            log.warning("device drifted", device=name, what=message)
            self.ledger.append_event("device.drifted", self.clock(), device=name, details={"message": message})

    def _waiting(self, name: str) -> bool:
        trouble = self._troubles.get(name)
        return trouble is not None and trouble.retry_at > self.clock()

    def _put_aside(self, name: str, message: str) -> None:
        before = self._troubles.get(name)
        wait = min(LAST_RETRY, before.wait * 2) if before else FIRST_RETRY
        self._troubles[name] = Trouble(message, self.clock() + wait, wait)
        self.status.troubles[name] = message
        log.warning("device put aside", device=name, error=message, retry_s=wait.total_seconds())
        if before is None or before.message != message:
            self.ledger.append_event("push.device-failed", self.clock(), device=name, details={"message": message})

    def _admissible(self, active: Sequence[Active]) -> tuple[Active, ...]:
        """Without those that cross a device in trouble: active on all devices of its path or on none (DESIGN rule 8).

        What was active before the trouble stays: its device carries it still, and its guard ends it.
        """
        kept = []
        for one in active:
            handle = one.entry.handle
            crossed = {hop.device for path in one.entry.paths for hop in path.hops if hop.device in self._troubles}
            stuck = sorted(name for name in crossed if self._waiting(name))
            if stuck and handle not in self._carried:
                self._withhold(handle, stuck)
                continue
            self._withheld.discard(handle)
            kept.append(one)
        return tuple(kept)

    def _withhold(self, handle: str, devices: Sequence[str]) -> None:
        if handle in self._withheld:
            return
        self._withheld.add(handle)
        details = {"devices": list(devices), "message": "not active anywhere until all devices of its path answer"}
        self.ledger.append_event("push.withheld", self.clock(), handle=handle, details=details)
