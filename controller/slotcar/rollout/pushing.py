"""Makes the devices equal to what is wanted, as often as it takes: reads, pushes, and writes down what became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog

from slotcar.base.problems import InvalidInput, SlotcarError
from slotcar.base.stopping import Stopping
from slotcar.base.timebase import MICROSECOND, Window
from slotcar.book.errors import LedgerUnavailable
from slotcar.book.model import Entry
from slotcar.book.shares import BackgroundShares
from slotcar.book.timeline import Active, active_at
from slotcar.platforms.model import RefusedPart
from slotcar.rollout.adoption import Adoption
from slotcar.rollout.attempts import Attempt, View
from slotcar.rollout.device_order import boundaries_in_order
from slotcar.rollout.device_states import DeviceStates
from slotcar.rollout.forms import Forms
from slotcar.rollout.health import DeviceHealth
from slotcar.rollout.holding import Holds
from slotcar.rollout.model import STALE, NotKept, Outlook, PushFailed, PushResult, Reading, Superseded, Wanted
from slotcar.rollout.observer import Observer
from slotcar.rollout.playbook import CannotRun
from slotcar.rollout.program import WantedFor, acts
from slotcar.rollout.pusher import Pusher, Readings
from slotcar.rollout.reading import ClockWasSet, read_devices
from slotcar.rollout.slot_telling import SlotTelling
from slotcar.rollout.status import LoopStatus
from slotcar.rollout.withholding import Withholding
from slotcar.store import Ledger
from slotcar.store.listening import Lease
from slotcar_client.wire.events import (
    BoundaryActive,
    BoundaryFailed,
    BoundaryStaged,
    ControllerFenceRaised,
    ControllerLeads,
    DeviceUnadopted,
)

log = structlog.get_logger("slotcar.loop")
#: What waits for a boundary is staged anew only while there is so much time for it.
RESTAGE = timedelta(seconds=4)
#: No ledger writes so many events. A device with a greater fence has something else in its place.
GREATEST_FENCE = 10**15


@dataclass(slots=True)
class Pushing:
    """The pushes of the controller that leads.

    Attributes:
        shares: derives what background reservations get.
        clock: the present instant, aware UTC. monotonic: seconds that nobody sets.
        clock_was_set: whether nothing that is due at an instant of the clock may be waited for any more.
        lead: a slot that begins within it is about to begin.
        valid_for: so long what was read of a device holds without another check.
        verified_at: when each device was read that had what is wanted, or was given it.
        path_asked_for: by handle, the start of the slot for which the devices of its path were read.
        push_took: of a push, how long it took with its reading.
        rearm: devices that are to be armed again though they have their program.
    """

    ledger: Ledger
    pusher: Pusher
    adoption: Adoption
    wanted_for: WantedFor
    shares: BackgroundShares
    status: LoopStatus
    clock: Callable[[], datetime]
    monotonic: Callable[[], float]
    clock_was_set: Callable[[], bool]
    push_took: Callable[[timedelta], None]
    lead: timedelta
    valid_for: timedelta = timedelta(minutes=11)
    rearm: set[str] = field(default_factory=set)
    health: DeviceHealth = field(init=False)
    withholding: Withholding = field(init=False)
    holds: Holds = field(init=False)
    telling: SlotTelling = field(init=False)
    forms: Forms = field(init=False)
    verified_at: dict[str, datetime] = field(default_factory=dict)
    path_asked_for: dict[str, datetime] = field(default_factory=dict)
    _observer: Observer = field(init=False)
    view: View = field(init=False)
    _lease: Lease | None = None
    _fence: int = 0
    _last_event: int = 0

    def __post_init__(self) -> None:
        self.health = DeviceHealth(self.ledger, self.status)
        self.withholding = Withholding(self.ledger)
        self.holds = Holds(self.ledger)
        self.telling = SlotTelling(self.ledger)
        self.forms = Forms(self.pusher.archive.state_dir)
        self._observer = Observer(self.ledger, self.pusher, self.status, self.clock)

    @property
    def states(self) -> DeviceStates:
        return self._observer.states

    def take_lead(self, lease: Lease) -> None:
        self._lease, self._fence = lease, self.ledger.take_fence(lease, ControllerLeads(), self.clock())
        log.info("leading", fence=self._fence)
        self._observer.states = DeviceStates()
        self.status.read_at.clear()
        self.adoption.take_over()
        self.holds.take_over()
        now = self.clock()
        live = self.ledger.live_between(now)
        self.withholding.take_over(active_at(live, now))
        self.telling.take_over(live, now)
        self.path_asked_for.clear()

    def reconcile(
        self, entries: Sequence[Entry], at: datetime, to_arm: Sequence[datetime], armed: Sequence[datetime]
    ) -> Attempt:
        """Makes the devices have what is wanted at `at` and arms the boundaries `to_arm`; what cannot be done waits.

        Args:
            armed: the boundaries that devices were armed for before.
        """
        self.health.retry(self.adoption.adopted(), self.clock())
        self._look_at_holds()
        # Each round that fails sets a device aside, so there are at most as many rounds as devices.
        for _ in range(len(self.pusher.devices) + 1):
            self.view = self._view_at(entries, at, to_arm)
            if self.health.set_aside_all(self.view.outlook.unrenderable, self.clock()):
                continue
            self._keep_forms()
            due = self._due(self.view.outlook)
            attempt = self._try(due, at, afresh=partial(self._afresh, entries, tuple(due), to_arm))
            if attempt is Attempt.DONE:
                self.withholding.active_everywhere = self.view.handles
                self._record_armed(self.view.outlook, to_arm, armed)
            if attempt is not Attempt.FAILED:
                return attempt
        return Attempt.FAILED

    def _look_at_holds(self) -> None:
        """What is held is in the status as a trouble, and of no concern otherwise; nothing is known of it any more."""
        released = self.holds.read(self.clock())
        for name in released:
            self.status.troubles.pop(name, None)
        self.health.retry(released, self.clock())
        for name, why in self.holds.held.items():
            self.status.troubles[name] = why
            self.status.phases.pop(name, None)
            self.status.read_at.pop(name, None)
        self.states.forget(self.holds.held)

    def hold(self, entries: Sequence[Entry], boundary: datetime) -> Attempt:
        """Changes at a boundary the devices that cannot be armed for it: a play waits for it on open connections."""
        active = self._admissible(active_at(entries, boundary))
        due = self._due(self.wanted_for(active, boundary))
        held = {name: one for name, one in due.items() if not acts(self.pusher.devices[name])}
        if not held:
            return Attempt.DONE
        self.status.phases.update(dict.fromkeys(held, "staged"))
        devices = tuple(sorted(held))
        self.ledger.record(BoundaryStaged(at=boundary, devices=devices), self.clock())
        before = self._admissible(active_at(entries, self.clock()))
        shifts = boundaries_in_order(self.clock(), before, [(boundary, active)])[0].shifts
        attempt = self._try(held, boundary, lambda: self._superseded(held, boundary), shifts)
        if attempt is not Attempt.OUTDATED:
            outcome = BoundaryActive if attempt is Attempt.DONE else BoundaryFailed
            self.ledger.record(outcome(at=boundary, devices=devices), self.clock())
        return attempt

    def _afresh(
        self, entries: Sequence[Entry], names: Sequence[str], to_arm: Sequence[datetime]
    ) -> Mapping[str, Wanted]:
        """What is wanted of the devices now that they were read: a boundary that passed meanwhile is behind them.

        Raises:
            Superseded: from then on the platform of one of them cannot express it.
        """
        now = self.clock()
        if any(self.view.at < instant <= now for instant in to_arm):
            self.view = self._view_at(entries, now, [instant for instant in to_arm if instant > now])
        wanted = self.view.outlook.wanted
        if missing := [name for name in names if name not in wanted]:
            raise Superseded(f"{', '.join(missing)}: a boundary passed, and what is wanted now cannot be rendered")
        return {name: wanted[name] for name in names}

    def _view_at(self, entries: Sequence[Entry], at: datetime, to_arm: Sequence[datetime]) -> View:
        # A ledger may hold a hundred thousand that begin later: they are not asked at each of these instants.
        last = max([at, *to_arm])
        soon = [entry for entry in entries if entry.reservation.start <= last]
        opened = active_at(soon, at)
        active = self._admissible(opened)
        coming = [(instant, self._admissible(active_at(soon, instant))) for instant in to_arm]
        armed = {instant: _handles(some) for instant, some in coming}
        return View(at, self.wanted_for(active, at, coming), active, _handles(active), _handles(opened), armed)

    def _admissible(self, active: Sequence[Active]) -> tuple[Active, ...]:
        now = self.clock()
        return self.withholding.admissible(
            active, self.health.waiting(now) | self.holds.held.keys(), now, now + self.lead
        )

    def _superseded(self, held: Mapping[str, Wanted], boundary: datetime) -> bool:
        """Whether something else is wanted of them at the boundary by now, and there is time to stage that instead; or
        whether nothing is to wait for it: the clock was set, or this process is to end."""
        now = self.clock()
        if self.clock_was_set():
            return True
        if boundary - now < RESTAGE:
            return False
        if self.pusher.playbooks.stop.requested.is_set():
            return True
        try:
            last = self.ledger.last_event()
            if last == self._last_event:
                return False
            live = self.ledger.live_between(now)
        except LedgerUnavailable:  # the play goes on with what it has; its end cannot be recorded, which is seen then
            return False
        self._last_event = last
        entries = self.shares(live, Window(now, boundary + MICROSECOND))
        active = self._admissible(active_at(entries, boundary))
        wanted = self.wanted_for(active, boundary).wanted
        return any(name in wanted and wanted[name].identity != one.identity for name, one in held.items())

    def _due(self, outlook: Outlook) -> dict[str, Wanted]:
        now = self.clock()
        return {
            name: one
            for name, one in outlook.wanted.items()
            if not self.states.is_verified(name, one)
            and not self.health.is_waiting(name, now)
            and name not in self.holds.held
        }

    def _try(
        self,
        targets: Mapping[str, Wanted],
        at: datetime,
        give_up: Callable[[], bool] | None = None,
        shifts: Mapping[str, timedelta] | None = None,
        afresh: Callable[[], Mapping[str, Wanted]] | None = None,
    ) -> Attempt:
        """Tries a push once; devices that failed are set aside. `afresh`: what is wanted after the reading."""
        if not targets:
            return Attempt.DONE
        self.status.settled = False
        began_s, read_at = self.monotonic(), self.clock()
        self.status.begin_reading(targets, began_s)
        try:
            readings, targets = read_devices(self.pusher, targets, afresh, self.clock_was_set)
            unchanged = self._unchanged(targets) if afresh else ()
            # One that acts whenever it is asked is not in trouble: it is read when its boundaries have passed.
            failures = [one for one in readings.failures.values() if STALE not in one.message]
            for failure in failures:
                self.health.set_aside(failure.device, failure.message, self.clock())
            unknown = set(readings.by_device) - self.states.last_seen.keys()
            self._observer.look_at(readings.by_device, targets, unchanged)
            self._record_refused({name: one.configuration.refused for name, one in readings.by_device.items()})
            if readings.failures:
                return Attempt.FAILED if failures else Attempt.OUTDATED
            if self._wait_to_be_adopted(readings.by_device, targets):
                return Attempt.FAILED
            self._must_lead()
            self._raise_fence(readings.by_device)
            push_at = self.view.at if afresh else at
            result = self._push(
                targets, readings.by_device, push_at, fence=self._fence, give_up=give_up, shifts=shifts, anew=self.rearm,
                unchanged=unchanged,
            )  # fmt: skip
            has_all = unknown - {*result.changed, *result.rearmed}
            self._keep_as_good({name: targets[name] for name in has_all & targets.keys()}, readings)
        except ClockWasSet:
            return Attempt.OUTDATED
        except (LedgerUnavailable, Stopping):
            raise  # what cannot be recorded is not done
        except Exception as error:
            if not isinstance(error, SlotcarError):
                log.exception("push failed in an unforeseen way", devices=sorted(targets))
            return self._failed(targets, error)
        self.status.read_at.update(dict.fromkeys(targets, read_at))
        self._note_verified(targets, result, read_at)
        self._done(targets, result, timedelta(seconds=self.monotonic() - began_s))
        self._record_refused(result.refused)
        if at <= read_at:
            self._observer.record_seen(has_all, at)
        return Attempt.DONE

    def _keep_forms(self) -> None:
        """Keeps what devices are to be configured for, before they are; a full disk keeps nobody from a push."""
        try:
            self.forms.keep(one.entry for one in self.view.active)
        except InvalidInput as error:
            log.warning("the forms of reservations were not kept", error=str(error))

    def _note_verified(self, names: Iterable[str], result: PushResult, read_at: datetime) -> None:
        """What was changed was compared after that; the others by the reading before."""
        now, now_s = self.clock(), self.monotonic()
        for name in names:
            compared_s = result.compared_s.get(name, now_s)
            pushed = name in result.changed or name in result.rearmed
            self.verified_at[name] = now - timedelta(seconds=max(0.0, now_s - compared_s)) if pushed else read_at

    def _keep_as_good(self, present: Mapping[str, Wanted], readings: Readings) -> None:
        """Of what is kept as good Slotcar later takes that it was pushed to: nothing of a router that was never managed."""
        managed = {name: one for name, one in present.items() if self.adoption.manages(name, readings.by_device[name])}
        self.pusher.keep_as_good(managed, self.clock())

    def _push(self, targets: Mapping[str, Wanted], *arguments: Any, **named: Any) -> PushResult:
        """As the pusher does, and has the status tell of it: what these devices tell of changes meanwhile is its own."""
        before, result = self.status.begin_push(targets, self.monotonic()), None
        try:
            result = self.pusher.push(targets, *arguments, **named)
            return result
        finally:
            touched = {*result.changed, *result.rearmed} if result else None
            self.status.end_push(before, touched, self.monotonic(), result.compared_s if result else {})

    def _unchanged(self, targets: Mapping[str, Wanted]) -> tuple[str, ...]:
        """The others, where they are known to have what is wanted now; none while reservations may be withheld."""
        if not self.health.all_well or self.holds.held:
            return ()
        wanted = self.view.outlook.wanted
        return tuple(
            name for name, one in wanted.items() if name not in targets and self.states.is_verified(name, one)
        )

    def _record_refused(self, refused: Mapping[str, Sequence[RefusedPart]]) -> None:
        """By device: what it has not done of the slots that are open now."""
        if any(refused.values()):
            now = self.clock()
            self.withholding.record_refused(active_at(self.ledger.live_between(now), now), refused, now)

    def _wait_to_be_adopted(self, readings: Mapping[str, Reading], targets: Mapping[str, Wanted]) -> bool:
        """Whether there is a device among them that must."""
        unadopted = self.adoption.unadopted(readings, targets)
        for name, why in unadopted.items():
            self.health.set_aside(name, why, self.clock(), DeviceUnadopted)
        return bool(unadopted)

    def _must_lead(self) -> None:
        if self._lease is not None and not self._lease.is_held():
            raise LedgerUnavailable("the lead was lost: another controller may have it")

    def _raise_fence(self, readings: Mapping[str, Reading]) -> None:
        """Goes above what devices have seen: they were led from a ledger that is lost, or from this one before it was
        restored. Only who has the lock gets a number, so a later leader of this ledger is never passed (ADR 12)."""
        device, greatest = max(((name, one.fence) for name, one in readings.items()), key=lambda one: one[1])
        if self._lease is None or not self._fence < greatest <= GREATEST_FENCE:
            return
        raised = ControllerFenceRaised(fence_before=self._fence, fence_of_device=greatest, device=device)
        self._fence = self.ledger.take_fence(self._lease, raised, self.clock(), above=greatest)
        log.warning("fence raised", fence=self._fence, **raised.details)

    def _failed(self, targets: Mapping[str, Wanted], error: Exception) -> Attempt:
        if isinstance(error, Superseded):
            log.info("push superseded", message=str(error))
            self.states.forget(targets)
            return Attempt.OUTDATED
        words = str(error) if isinstance(error, SlotcarError) else f"unforeseen: {type(error).__name__}: {error}"
        reasons = dict.fromkeys(targets, words)
        if isinstance(error, PushFailed):
            self.status.failed_pushes += 1
            reasons = dict(error.devices) or reasons
            if all(STALE in why for why in reasons.values()):
                self._came_too_late(targets, error)
                return Attempt.OUTDATED
            self.states.forget(targets)
            log.error("push failed", error=str(error), rolled_back=error.rolled_back, revision=error.revision)
            self.pusher.playbooks.stop.check()  # it was ended for that, and no device is to blame
        elif isinstance(error, NotKept):
            self.states.forget(targets)  # they have it; that is seen, and kept, when they are read again
            log.error("push not kept", error=words)
        else:
            log.error("push impossible", error=words)
        of_this_machine = isinstance(error, CannotRun | InvalidInput)
        for name, why in reasons.items():
            self.health.set_aside(name, why, self.clock(), of_this_machine=of_this_machine)
        return Attempt.FAILED

    def _came_too_late(self, targets: Mapping[str, Wanted], error: PushFailed) -> None:
        log.info("push came too late", error=str(error), revision=error.revision)
        if error.rolled_back and error.devices.keys() >= targets.keys():
            self.states.push_rolled_back(targets)
        else:  # a device that activated it and was rolled back may have missed steps of its program
            self.states.forget(targets)

    def _done(self, targets: Mapping[str, Wanted], result: PushResult, duration: timedelta) -> None:
        self.states.verified(targets)
        self.rearm.difference_update(targets)
        self.health.recovered(targets)
        self.status.phases.update(dict.fromkeys(targets, "active"))
        self._observer.look_at_clocks(result.ahead_us)
        if result.revision:
            self.status.pushes += 1
            self.push_took(duration)
            self.status.last_revision, self.status.last_push_at = result.revision, self.clock()
            log.info("pushed", revision=result.revision, changed=result.changed, rearmed=result.rearmed)

    def _record_armed(self, outlook: Outlook, instants: Sequence[datetime], armed: Sequence[datetime]) -> None:
        for instant in instants:
            devices = sorted(
                name
                for name, one in outlook.wanted.items()
                if instant in one.program.boundaries and name not in self.holds.held
            )
            self.status.phases.update(dict.fromkeys(devices, "armed"))
            if devices and instant not in armed:
                staged = BoundaryStaged(at=instant, devices=tuple(devices), revision=self.status.last_revision)
                self.ledger.record(staged, self.clock())


def _handles(active: Sequence[Active]) -> set[str]:
    return {one.entry.handle for one in active}
