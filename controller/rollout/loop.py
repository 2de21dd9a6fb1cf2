"""The reconcile loop: whenever what is wanted changes, make the devices equal to it, and keep their programs ahead of time.

It keeps nothing that it could not compute again: killed and started anew, it reads the devices and goes on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import NamedTuple

import structlog

from controller.ledger import Ledger
from controller.ledger.errors import LedgerUnavailable
from controller.ledger.listening import Lease
from controller.ledger.model import Entry
from controller.problems import SlotcarError
from controller.rollout.ahead import armed_until, first_of, to_arm
from controller.rollout.model import STALE, Outlook, PushFailed, PushResult, Reading, Superseded, Wanted
from controller.rollout.observing import Observer
from controller.rollout.order import ordered
from controller.rollout.pacing import SETTLE, Pacing
from controller.rollout.program import WantedFor, acts
from controller.rollout.pusher import Pusher
from controller.rollout.retention import Retention
from controller.rollout.standing import Standing
from controller.rollout.status import LoopStatus
from controller.rollout.troubles import Troubles
from controller.rollout.unready import Unready
from controller.stopping import Stopping
from controller.timebase import ClockWatch
from controller.timeline import Active, active_at, boundaries, next_boundary

log = structlog.get_logger("slotcar.loop")
#: How long another controller may lead before this one asks again.
FOLLOW_S = 2.0
#: The longest sleep: a missed notification costs no more.
DOZE = timedelta(seconds=30)
#: So often, in seconds, a sleep is looked up from: a stop is heard, and a clock that was set is seen.
NAP_S = 0.5
#: What waits for a boundary is staged anew only while there is so much time for it.
RESTAGE = timedelta(seconds=4)
#: No ledger writes so many events. A device with a greater fence has something else in its place.
GREATEST_FENCE = 10**15


class _View(NamedTuple):
    """What devices are to have at an instant, and the handles of the reservations that are active then."""

    outlook: Outlook
    carried: set[str]


@dataclass(slots=True)
class ReconcileLoop:
    """One per controller; only the one that leads pushes.

    Attributes:
        lead: how long before a boundary the devices that it changes are looked at again, and staged where they cannot
            be armed; at the least.
        ahead: how long before a boundary the devices that can be are armed for it, or half of that.
        check: how often the devices are read though nothing should have changed (a router that restarted).
        retention: of what was pushed; looked at when there is nothing else to do.
        clock: the present instant, aware UTC. monotonic: seconds that nobody sets; what is waited for is counted by it.
        instants: when the network itself changes what is wanted (an SLS begins or ends to be valid).
    """

    ledger: Ledger
    pusher: Pusher
    wanted_for: WantedFor
    lead: timedelta
    ahead: timedelta
    check: timedelta
    retention: Retention
    clock: Callable[[], datetime]
    monotonic: Callable[[], float] = time.monotonic
    instants: Sequence[datetime] = ()
    status: LoopStatus = field(default_factory=LoopStatus)
    _observer: Observer = field(init=False)
    _unready: Unready = field(init=False)
    _view: _View = field(init=False)
    _troubles: Troubles = field(init=False)
    _pacing: Pacing = field(init=False)
    _clock_watch: ClockWatch = field(init=False)
    _arm_anew: set[str] = field(default_factory=set)
    _armed: tuple[datetime, ...] = ()
    _looked: set[datetime] = field(default_factory=set)
    _looked_at: datetime | None = None
    _held: datetime | None = None
    _seen: int = 0
    _late: bool = False
    _checked_at: datetime | None = None
    _lease: Lease | None = None
    _fence: int = 0

    def __post_init__(self) -> None:
        self._observer = Observer(self.ledger, self.pusher, self.status, self.clock)
        self._unready = Unready(self.ledger)
        self._troubles = Troubles(self.ledger, self.status)
        self._pacing = Pacing(self.lead, all(acts(device) for device in self.pusher.devices.values()))
        self._clock_watch = ClockWatch(self.clock, self.monotonic)

    def run(self, stopping: threading.Event) -> None:
        """Leads when it can, until it is told to stop. Survives a database that comes and goes, or is read-only."""
        while not stopping.is_set():
            try:
                lease = self.ledger.try_lead()
                if lease is None:
                    stopping.wait(FOLLOW_S)
                    continue
                with lease:
                    self._lead(lease, stopping)
            except Stopping:
                log.info("stopping")
                return
            except LedgerUnavailable as error:
                if self.status.error != str(error):
                    log.warning("ledger unavailable", error=str(error))
                self.status.error = str(error)
                stopping.wait(FOLLOW_S)
            finally:
                self.status.leading = self.status.settled = False

    def _lead(self, lease: Lease, stopping: threading.Event) -> None:
        self._lease, self._fence = lease, self.ledger.take_fence(lease, "controller.leading", self.clock())
        log.info("leading", fence=self._fence)
        self.status.leading, self.status.error = True, ""
        self._observer.standing = Standing()
        self._unready.take_over(active_at(self.ledger.live_between(self.clock()), self.clock()))
        self._armed, self._held = (), None
        self._looked.clear()
        self._checked_at = self.clock()
        self._clock_watch.accept()
        while not stopping.is_set() and lease.held():
            seen = self.ledger.last_event()
            wake_at = self.turn()
            self._sleep(seen, wake_at, stopping)

    def _sleep(self, seen: int, wake_at: datetime, stopping: threading.Event) -> None:
        """Until the instant, an event after `seen`, a stop, or until the clock is set: then all is computed again."""
        until_s = self.monotonic() + (wake_at - self.clock()).total_seconds()
        while not stopping.is_set() and not self._clock_was_set():
            left_s = until_s - self.monotonic()
            if left_s <= 0 or self.ledger.wait_for_event(seen, min(left_s, NAP_S)):
                return

    def _clock_was_set(self) -> bool:
        """Tells it, and goes by the new time from now on. Devices count from the old one, so they are armed anew."""
        by = self._clock_watch.set_by()
        if not by:
            return False
        self._clock_watch.accept()
        log.warning("the clock was set", by_s=by.total_seconds())
        self._troubles.clock_was_set(by)
        self._pacing.clock_was_set()
        self.retention.clock_was_set(self.clock())
        self._arm_anew |= {name for name, device in self.pusher.devices.items() if acts(device)}
        self._checked_at = self._looked_at = self._held = None
        self._looked.clear()
        self._armed = ()
        self.ledger.append_event("controller.clock-set", self.clock(), details={"by_s": round(by.total_seconds(), 3)})
        return True

    def turn(self) -> datetime:
        """Does what is to be done now, and gives the instant at which to look again at the latest."""
        now, began_s = self.clock(), self.monotonic()
        self.ledger.expire(now)
        entries = self.ledger.live_between(now)
        lead = self._pacing.lead_now()
        coming = self._boundaries(entries, now, max(now + lead, armed_until(now, self.ahead)) + DOZE)
        self.status.next_boundary = coming[0] if coming else self._far(entries, now)
        if (later := self._pacing.better_at(coming, self._armed, now)) is not None:
            return later
        near = [instant for instant in coming if instant <= now + lead]
        self._doubt(now, near)
        self._late = False
        wanted = to_arm(coming, now, lead, self.ahead)
        first = first_of(wanted, self._armed, now, lead)
        self.reconcile(entries, now, first)
        self._pacing.turns.append(timedelta(seconds=self.monotonic() - began_s))
        if self._late or len(first) < len(wanted):
            return self.clock()
        if near and near[0] != self._held:
            self._held = near[0]
            self.hold(entries, near[0])
            if self._late:
                self._held = None
                return self.clock()
        self.status.settled = not self._troubles
        if not near:
            self.retention.look(now)
        waits = [self.clock() + DOZE, *self._troubles.retries()]
        waits += [instant + SETTLE for instant in coming[:1]]
        waits += [instant - lead for instant in coming if instant - lead > now]
        return min(waits)

    def _doubt(self, now: datetime, near: Sequence[datetime]) -> None:
        """Devices are looked at again once in a while, and those that a near boundary changes once before it."""
        if self._checked_at is None or now - self._checked_at >= self.check:
            self._observer.standing.doubt()
            self._checked_at = now
        fresh = [instant for instant in near if instant not in self._looked]
        if fresh and (self._looked_at is None or now - self._looked_at >= self.lead):
            self._looked_at = now
            for instant in fresh:
                self._observer.standing.doubt(self._observer.standing.armed_for(instant))
        self._looked = set(near)

    def _boundaries(self, entries: Sequence[Entry], after: datetime, until: datetime) -> list[datetime]:
        own = [instant for instant in self.instants if after < instant <= until]
        return sorted({*boundaries(entries, after, until), *own})

    def _far(self, entries: Sequence[Entry], now: datetime) -> datetime | None:
        slot = next_boundary(entries, now)
        own = [instant for instant in self.instants if instant > now]
        return min([*own, slot] if slot else own, default=None)

    def reconcile(self, entries: Sequence[Entry], at: datetime, to_arm: Sequence[datetime] = ()) -> None:
        """Makes the devices have what is wanted at `at` and arms the boundaries `to_arm`; what cannot be done waits."""
        # Each round that fails puts a device aside, so there are at most as many rounds as devices.
        for _ in range(len(self.pusher.devices) + 1):
            self._view = self._view_at(entries, at, to_arm)
            if self._aside_unrenderable(self._view.outlook):
                continue
            due = self._due(self._view.outlook)
            if self._try(due, at, afresh=partial(self._afresh, entries, tuple(due), to_arm)):
                self._unready.carried = self._view.carried
                self._tell_armed(self._view.outlook, to_arm)
                return
            if self._late:
                return  # of another instant already

    def _afresh(
        self, entries: Sequence[Entry], names: Sequence[str], to_arm: Sequence[datetime]
    ) -> Mapping[str, Wanted]:
        """What is wanted of the devices now that they were read: a boundary that passed meanwhile is behind them."""
        now = self.clock()
        if any(instant <= now for instant in to_arm):
            self._view = self._view_at(entries, now, [instant for instant in to_arm if instant > now])
        return {name: self._view.outlook.wanted[name] for name in names}

    def _view_at(self, entries: Sequence[Entry], at: datetime, to_arm: Sequence[datetime]) -> _View:
        # A ledger may hold a hundred thousand that begin later: they are not asked at each of these instants.
        last = max([at, *to_arm])
        soon = [entry for entry in entries if entry.reservation.start <= last]
        active = self._admissible(active_at(soon, at))
        coming = [(instant, self._admissible(active_at(soon, instant))) for instant in to_arm]
        return _View(self.wanted_for(active, at, coming), {one.entry.handle for one in active})

    def hold(self, entries: Sequence[Entry], boundary: datetime) -> None:
        """Changes at a boundary the devices that cannot be armed for it: a play waits for it on open connections."""
        active = self._admissible(active_at(entries, boundary))
        due = self._due(self.wanted_for(active, boundary))
        held = {name: one for name, one in due.items() if not acts(self.pusher.devices[name])}
        if not held:
            return
        self.status.phases.update(dict.fromkeys(held, "staged"))
        details = {"at": boundary.isoformat(), "devices": sorted(held)}
        self.ledger.append_event("boundary.staged", self.clock(), details=details)
        before = self._admissible(active_at(entries, self.clock()))
        shifts = ordered(self.clock(), before, [(boundary, active)])[0].shifts
        if self._try(held, boundary, lambda: self._superseded(held, boundary), shifts):
            self.ledger.append_event("boundary.active", self.clock(), details=details)
        elif not self._late:
            self.ledger.append_event("boundary.failed", self.clock(), details=details)

    def _superseded(self, held: Mapping[str, Wanted], boundary: datetime) -> bool:
        """Whether something else is wanted of them at the boundary by now, and there is time to stage that instead; or
        whether nothing is to wait for it: the clock was set, or this process is to end."""
        now = self.clock()
        if self._clock_watch.set_by() or (self.pusher.playbooks.stop.requested.is_set() and boundary - now >= RESTAGE):
            return True
        last = self.ledger.last_event()
        if last == self._seen or boundary - now < RESTAGE:
            return False
        self._seen = last
        active = self._admissible(active_at(self.ledger.live_between(now), boundary))
        wanted = self.wanted_for(active, boundary).wanted
        return any(name in wanted and wanted[name].identity != one.identity for name, one in held.items())

    def _due(self, outlook: Outlook) -> dict[str, Wanted]:
        now = self.clock()
        return {
            name: one
            for name, one in outlook.wanted.items()
            if not self._observer.standing.verified(name, one) and not self._troubles.waits(name, now)
        }

    def _aside_unrenderable(self, outlook: Outlook) -> bool:
        now = self.clock()
        fresh = {name: why for name, why in outlook.unrenderable.items() if not self._troubles.waits(name, now)}
        for name, why in fresh.items():
            self._troubles.put_aside(name, why, now)
        return bool(fresh)

    def _try(
        self,
        targets: Mapping[str, Wanted],
        at: datetime,
        give_up: Callable[[], bool] | None = None,
        shifts: Mapping[str, timedelta] | None = None,
        afresh: Callable[[], Mapping[str, Wanted]] | None = None,
    ) -> bool:
        """Whether the devices have it now; those that failed are put aside. `afresh`: what is wanted after the reading."""
        if not targets:
            return True
        self.status.settled = False
        began_s = self.monotonic()
        try:
            readings = self.pusher.read(sorted(targets))
            restless = [failure for failure in readings.failures.values() if STALE in failure.message]
            for failure in readings.failures.values():
                if failure not in restless:
                    self._troubles.put_aside(failure.device, failure.message, self.clock())
            self._observer.look_at(readings.found, targets)
            if readings.failures:
                # One that acts whenever it is asked is not in trouble: it is read when its boundaries have passed.
                self._late = len(restless) == len(readings.failures)
                return False
            targets = afresh() if afresh else targets
            if self._lease is not None and not self._lease.held():
                raise LedgerUnavailable("the lead was lost: another controller may have it")
            self._raise_fence(readings.found)
            result = self.pusher.push(
                targets, readings.found, at, fence=self._fence, give_up=give_up, shifts=shifts, anew=self._arm_anew
            )
        except (LedgerUnavailable, Stopping):
            raise  # what cannot be recorded is not done
        except Exception as error:
            if not isinstance(error, SlotcarError):
                log.exception("push failed in an unforeseen way", devices=sorted(targets))
            self._failed(targets, error)
            return False
        self._done(targets, result, timedelta(seconds=self.monotonic() - began_s))
        return True

    def _raise_fence(self, found: Mapping[str, Reading]) -> None:
        """Goes above what devices have seen: they were led from a ledger that is lost, or from this one before it was
        restored. Only who has the lock gets a number, so a later leader of this ledger is never passed (ADR 12)."""
        device, greatest = max(((name, one.fence) for name, one in found.items()), key=lambda one: one[1])
        if self._lease is None or not self._fence < greatest <= GREATEST_FENCE:
            return
        details = {"fence_before": self._fence, "fence_of_device": greatest, "device": device}
        self._fence = self.ledger.take_fence(
            self._lease, "controller.fence-raised", self.clock(), above=greatest, **details
        )
        log.warning("fence raised", fence=self._fence, **details)

    def _failed(self, targets: Mapping[str, Wanted], error: Exception) -> None:
        if isinstance(error, Superseded):
            log.info("superseded", message=str(error))
            self._observer.standing.forget(targets)
            self._late = True
            return
        words = str(error) if isinstance(error, SlotcarError) else f"unforeseen: {type(error).__name__}: {error}"
        reasons = dict.fromkeys(targets, words)
        if isinstance(error, PushFailed):
            self.status.failed_pushes += 1
            self._observer.standing.forget(targets)
            reasons = dict(error.devices) or reasons
            if all(STALE in why for why in reasons.values()):
                log.info("push came too late", error=str(error), revision=error.revision)
                self._late = True
                return
            log.error("push failed", error=str(error), rolled_back=error.rolled_back, revision=error.revision)
            self.pusher.playbooks.stop.check()  # it was ended for that, and no device is to blame
        else:
            log.error("push impossible", error=words)
        for name, why in reasons.items():
            self._troubles.put_aside(name, why, self.clock())

    def _done(self, targets: Mapping[str, Wanted], result: PushResult, took: timedelta) -> None:
        self._observer.standing.has(targets)
        self._arm_anew.difference_update(targets)
        self._troubles.over(targets)
        self.status.phases.update(dict.fromkeys(targets, "active"))
        self._observer.look_at_clocks(result.ahead_us)
        if result.revision:
            self.status.pushes += 1
            self._pacing.pushes.append(took)
            self.status.last_revision, self.status.last_push_at = result.revision, self.clock()
            log.info("pushed", revision=result.revision, changed=result.changed, rearmed=result.rearmed)

    def _tell_armed(self, outlook: Outlook, instants: Sequence[datetime]) -> None:
        for instant in instants:
            devices = sorted(name for name, one in outlook.wanted.items() if instant in one.program.boundaries)
            self.status.phases.update(dict.fromkeys(devices, "armed"))
            if devices and instant not in self._armed:
                details = {"at": instant.isoformat(), "devices": devices, "revision": self.status.last_revision}
                self.ledger.append_event("boundary.staged", self.clock(), details=details)
        self._armed = tuple(instants)

    def _admissible(self, active: Sequence[Active]) -> tuple[Active, ...]:
        now = self.clock()
        return self._unready.admissible(active, self._troubles.waiting(now), now, now + self._pacing.lead_now())
