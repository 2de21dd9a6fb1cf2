"""The reconcile loop: whenever what is wanted changes, make the devices equal to it, and keep their programs ahead of time.

It keeps nothing that it could not compute again: killed and started anew, it reads the devices and goes on.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from controller.rollout.clocks import judge, news
from controller.rollout.model import STALE, Outlook, PushFailed, PushResult, Reading, Superseded, Wanted
from controller.rollout.order import ordered
from controller.rollout.program import WantedFor, acts
from controller.rollout.pusher import Pusher
from controller.rollout.retention import Retention
from controller.rollout.standing import Standing
from controller.rollout.status import LoopStatus, Trouble
from controller.rollout.unready import Unready
from controller.timeline import Active, active_at, boundaries, next_boundary

log = structlog.get_logger("slotcar.loop")
#: How long another controller may lead before this one asks again.
FOLLOW_S = 2.0
#: The longest sleep: a clock that was set, or a missed notification, costs no more.
DOZE = timedelta(seconds=30)
FIRST_RETRY = timedelta(seconds=10)
LAST_RETRY = timedelta(minutes=5)
#: Nothing else is pushed so shortly before a boundary that is armed, at the least: a push would race the devices' own step.
QUIET = timedelta(seconds=4)
#: A push is not put off for longer.
PATIENCE = 3 * QUIET
#: So soon a boundary is waited for, armed or not: pushing at once would come too late for it.
IMMINENT = timedelta(seconds=1)
#: What waits for a boundary is staged anew only while there is so much time for it.
RESTAGE = timedelta(seconds=4)
#: How long after a boundary the devices are read: all have acted by then (`order.py`).
SETTLE = timedelta(milliseconds=1200)


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
        clock: the present instant, aware UTC.
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
    instants: Sequence[datetime] = ()
    status: LoopStatus = field(default_factory=LoopStatus)
    _standing: Standing = field(default_factory=Standing)
    _unready: Unready = field(init=False)
    _view: _View = field(init=False)
    _troubles: dict[str, Trouble] = field(default_factory=dict)
    _armed: tuple[datetime, ...] = ()
    _looked: set[datetime] = field(default_factory=set)
    _looked_at: datetime | None = None
    _held: datetime | None = None
    _seen: int = 0
    _late: bool = False
    _put_off: datetime | None = None
    _took: deque[timedelta] = field(default_factory=lambda: deque(maxlen=5))
    _pushed_in: deque[timedelta] = field(default_factory=lambda: deque(maxlen=5))
    _checked_at: datetime | None = None
    _lease: Lease | None = None
    _fence: int = 0

    def __post_init__(self) -> None:
        self._unready = Unready(self.ledger)

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
        self.ledger.append_event("controller.leading", self.clock())
        # The number of the event that says so, or a later one: greater than that of all who led before.
        self._lease, self._fence = lease, self.ledger.last_event()
        log.info("leading", fence=self._fence)
        self.status.leading, self.status.error = True, ""
        self._standing = Standing()
        self._unready.take_over(active_at(self.ledger.live_between(self.clock()), self.clock()))
        self._armed, self._held = (), None
        self._looked.clear()
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
        entries = self.ledger.live_between(now)
        lead = self._lead_now()
        coming = self._boundaries(entries, now, max(now + lead, armed_until(now, self.ahead)) + DOZE)
        self.status.next_boundary = coming[0] if coming else self._far(entries, now)
        if (later := self._better_at(coming, now)) is not None:
            return later
        near = [instant for instant in coming if instant <= now + lead]
        self._doubt(now, near)
        self._late = False
        wanted = to_arm(coming, now, lead, self.ahead)
        first = first_of(wanted, self._armed, now, lead)
        self.reconcile(entries, now, first)
        self._took.append(self.clock() - now)
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
        waits = [self.clock() + DOZE, *(trouble.retry_at for trouble in self._troubles.values())]
        waits += [instant + SETTLE for instant in coming[:1]]
        waits += [instant - lead for instant in coming if instant - lead > now]
        return min(waits)

    def _doubt(self, now: datetime, near: Sequence[datetime]) -> None:
        """Devices are looked at again once in a while, and those that a near boundary changes once before it."""
        if self._checked_at is None or now - self._checked_at >= self.check:
            self._standing.doubt()
            self._checked_at = now
        fresh = [instant for instant in near if instant not in self._looked]
        if fresh and (self._looked_at is None or now - self._looked_at >= self.lead):
            self._looked_at = now
            for instant in fresh:
                self._standing.doubt(self._standing.armed_for(instant))
        self._looked = set(near)

    def _lead_now(self) -> timedelta:
        """As told, or longer where the last turns took longer: what is staged must be staged before its boundary."""
        return max(self.lead, *(took + took / 2 + QUIET for took in self._took)) if self._took else self.lead

    def _quiet(self) -> timedelta:
        """So shortly before an armed boundary nothing else is pushed: the fastest push would meet it, and be taken back."""
        alone = all(acts(device) for device in self.pusher.devices.values())
        return min(max(QUIET, min(self._pushed_in)), PATIENCE) if alone and self._pushed_in else QUIET

    def _better_at(self, coming: Sequence[datetime], now: datetime) -> datetime | None:
        """When to push instead, where it would meet the devices' own step at a boundary; not put off for ever."""
        later = None
        if coming and (left := coming[0] - now) <= (self._quiet() if coming[0] in self._armed else IMMINENT):
            later = now + left + SETTLE
        elif acting := [instant for instant in self._armed if timedelta() <= now - instant < SETTLE]:
            later = acting[-1] + SETTLE
        self._put_off = (self._put_off or now) if later else None
        if self._put_off is not None and now - self._put_off > PATIENCE:
            self._put_off = later = None  # boundaries are dense
        return later

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
        """Whether something else is wanted of them at the boundary by now, and there is time to stage that instead."""
        now, last = self.clock(), self.ledger.last_event()
        if last == self._seen or boundary - now < RESTAGE:
            return False
        self._seen = last
        active = self._admissible(active_at(self.ledger.live_between(now), boundary))
        wanted = self.wanted_for(active, boundary).wanted
        return any(name in wanted and wanted[name].identity != one.identity for name, one in held.items())

    def _due(self, outlook: Outlook) -> dict[str, Wanted]:
        return {
            name: one
            for name, one in outlook.wanted.items()
            if not self._standing.verified(name, one) and not self._waiting(name)
        }

    def _aside_unrenderable(self, outlook: Outlook) -> bool:
        fresh = {name: why for name, why in outlook.unrenderable.items() if not self._waiting(name)}
        for name, why in fresh.items():
            self._put_aside(name, why)
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
        began = self.clock()
        try:
            readings = self.pusher.read(sorted(targets))
            restless = [failure for failure in readings.failures.values() if STALE in failure.message]
            for failure in readings.failures.values():
                if failure not in restless:
                    self._put_aside(failure.device, failure.message)
            self._look(readings.found, targets)
            if readings.failures:
                # One that acts whenever it is asked is not in trouble: it is read when its boundaries have passed.
                self._late = len(restless) == len(readings.failures)
                return False
            targets = afresh() if afresh else targets
            if self._lease is not None and not self._lease.held():
                raise LedgerUnavailable("the lead was lost: another controller may have it")
            result = self.pusher.push(targets, readings.found, at, fence=self._fence, give_up=give_up, shifts=shifts)
        except LedgerUnavailable:
            raise  # what cannot be recorded is not done
        except SlotcarError as error:
            self._failed(targets, error)
            return False
        self._done(targets, result, self.clock() - began)
        return True

    def _failed(self, targets: Mapping[str, Wanted], error: SlotcarError) -> None:
        if isinstance(error, Superseded):
            log.info("superseded", message=str(error))
            self._standing.forget(targets)
            self._late = True
            return
        reasons = dict.fromkeys(targets, str(error))
        if isinstance(error, PushFailed):
            self.status.failed_pushes += 1
            self._standing.forget(targets)
            reasons = dict(error.devices) or reasons
            if all(STALE in why for why in reasons.values()):
                log.info("push came too late", error=str(error), revision=error.revision)
                self._late = True
                return
            log.error("push failed", error=str(error), rolled_back=error.rolled_back, revision=error.revision)
        else:
            log.error("push impossible", error=str(error))
        for name, why in reasons.items():
            self._put_aside(name, why)

    def _done(self, targets: Mapping[str, Wanted], result: PushResult, took: timedelta) -> None:
        self._standing.has(targets)
        for name in targets:
            self._troubles.pop(name, None)
            self.status.troubles.pop(name, None)
            self.status.phases[name] = "active"
        self._look_at_clocks(result.ahead_us)
        if result.revision:
            self.status.pushes += 1
            self._pushed_in.append(took)
            self.status.last_revision, self.status.last_push_at = result.revision, self.clock()
            log.info("pushed", revision=result.revision, changed=result.changed, rearmed=result.rearmed)

    def _look_at_clocks(self, ahead_us: Mapping[str, int]) -> None:
        """Tells once whose clock is wrong, and once that it is right again. Nothing waits for a router's own clock."""
        before = judge(self.status.ahead_us)
        self.status.ahead_us.update(ahead_us)
        for kind, device, details in news(before, judge(self.status.ahead_us), self.status.ahead_us):
            self.ledger.append_event(kind, self.clock(), device=device, details=details)
            log.warning("clock", kind=kind, device=device, **details)

    def _look(self, found: Mapping[str, Reading], targets: Mapping[str, Wanted]) -> None:
        """Tells who acted by itself as it was armed to, and who was changed by somebody else or restarted."""
        passed: dict[datetime, dict[str, int | None]] = {}
        befores = {}
        for name, reading in found.items():
            before = self._standing.believed.get(name)
            seen = self._standing.compare(name, reading)
            if seen.drift:
                log.warning("device drifted", device=name, what=seen.drift)
                self.ledger.append_event("device.drifted", self.clock(), device=name, details={"message": seen.drift})
            if seen.acted and before is not None:
                befores[name] = before
            for instant in seen.acted:
                # A device tells how late its last step was.
                passed.setdefault(instant, {})[name] = reading.lag_us if instant == seen.acted[-1] else None
        if befores:
            arrived = {
                name: replace(self._standing.believed[name], carried=targets[name].carried, ends=targets[name].ends)
                for name in befores
            }
            revision = self.pusher.acted(befores, arrived, max(passed))
            for instant, lags in sorted(passed.items()):
                details = {"at": instant.isoformat(), "devices": sorted(lags), "lag_us": lags, "revision": revision}
                self.ledger.append_event("boundary.active", self.clock(), details=details)
                log.info("boundary", **details)

    def _tell_armed(self, outlook: Outlook, instants: Sequence[datetime]) -> None:
        for instant in instants:
            devices = sorted(name for name, one in outlook.wanted.items() if instant in one.program.boundaries)
            self.status.phases.update(dict.fromkeys(devices, "armed"))
            if devices and instant not in self._armed:
                details = {"at": instant.isoformat(), "devices": devices, "revision": self.status.last_revision}
                self.ledger.append_event("boundary.staged", self.clock(), details=details)
        self._armed = tuple(instants)

    def _waiting(self, name: str) -> bool:
        trouble = self._troubles.get(name)
        return trouble is not None and trouble.retry_at > self.clock()

    def _put_aside(self, name: str, message: str) -> None:
        before = self._troubles.get(name)
        wait = min(LAST_RETRY, before.wait * 2) if before else FIRST_RETRY
        self._troubles[name] = Trouble(message, self.clock() + wait, wait)
        self.status.troubles[name] = message
        self.status.phases[name] = "failed"
        log.warning("device put aside", device=name, error=message, retry_s=wait.total_seconds())
        if before is None or before.message != message:
            self.ledger.append_event("push.device-failed", self.clock(), device=name, details={"message": message})

    def _admissible(self, active: Sequence[Active]) -> tuple[Active, ...]:
        waiting = {name for name in self._troubles if self._waiting(name)}
        now = self.clock()
        return self._unready.admissible(active, waiting, now, now + self._lead_now())
