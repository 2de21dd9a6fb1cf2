"""The reconcile loop: whenever what is wanted changes, make the devices equal to it, and keep their programs ahead of time.

It keeps nothing that it could not compute again: killed and started anew, it reads the devices and goes on. What is to be
done next says `schedule.py`; `pushing.py` does it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import structlog

from slotcar.base.stopping import Stopping
from slotcar.base.timebase import SYSTEM, Clocks, ClockWatch, Window
from slotcar.book.errors import LedgerUnavailable
from slotcar.book.model import Entry
from slotcar.book.shares import BackgroundShares
from slotcar.book.timeline import boundaries, next_boundary
from slotcar.rollout.adoption import Adoption
from slotcar.rollout.announcing import ANNOUNCED_AHEAD, Announcing
from slotcar.rollout.attempts import Attempt
from slotcar.rollout.check_requests import CheckRequests
from slotcar.rollout.program import WantedFor, acts
from slotcar.rollout.pusher import Pusher
from slotcar.rollout.pushing import Pushing
from slotcar.rollout.replanning import Replanning
from slotcar.rollout.retention import Retention
from slotcar.rollout.schedule import LONGEST_SLEEP, LoopProgress, Pace, Turn, lead_now, look_until, next_turn, wake_at
from slotcar.rollout.status import LoopStatus
from slotcar.rollout.unrecorded import record_kept
from slotcar.rollout.verifying import ask_paths, record_check, tell
from slotcar.store import Ledger
from slotcar.store.listening import Lease
from slotcar_client.wire.events import ControllerClockOff, ControllerClockSet

log = structlog.get_logger("slotcar.loop")
#: How long another controller may lead before this one asks again.
FOLLOW_S = 2.0
#: A controller whose clock differs from the database's by more does not lead: it would end slots before their time, and for
#: good (ADR 22). The precision of boundaries is finer by far; it is kept by time servers, and told of by `clocks.py`.
CLOCK_LIMIT = timedelta(seconds=30)


@dataclass(slots=True)
class ReconcileLoop:
    """The reconcile loop of one controller; only the controller that leads pushes.

    Attributes:
        retention: of what was pushed; looked at when there is nothing else to do.
        clocks: what it goes by; what is waited for is counted by its seconds that nobody sets.
        shares: derives what background reservations get over a window.
        replan_period: how often transfers that reported progress are planned again.
        instants: when the network itself changes what is wanted (an SLS begins or ends to be valid).
    """

    ledger: Ledger
    pusher: Pusher
    adoption: Adoption
    wanted_for: WantedFor
    pace: Pace
    retention: Retention
    shares: BackgroundShares
    clocks: Clocks = SYSTEM
    replan_period: timedelta = timedelta(minutes=1)
    instants: Callable[[], Sequence[datetime]] = tuple
    status: LoopStatus = field(default_factory=LoopStatus)
    _pushing: Pushing = field(init=False)
    _requests: CheckRequests = field(init=False)
    _announcing: Announcing = field(init=False)
    _replanning: Replanning = field(init=False)
    _clock_watch: ClockWatch = field(init=False)
    _progress: LoopProgress = field(default_factory=LoopProgress, init=False)
    _clock_is_off: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._announcing = Announcing(self.ledger)
        self._replanning = Replanning(self.ledger, self.replan_period, self.clocks.monotonic)
        self._requests = CheckRequests(self.ledger)
        self._clock_watch = ClockWatch(self.clocks.now, self.clocks.monotonic)
        self._pushing = Pushing(
            self.ledger, self.pusher, self.adoption, self.wanted_for, self.shares, self.status, self.clocks.now,
            self.clocks.monotonic,
            clock_was_set=lambda: bool(self._clock_watch.set_by()), push_took=self._push_took, lead=self.pace.lead,
            valid_for=2 * self.pace.check + LONGEST_SLEEP * 2,
        )  # fmt: skip

    def run(self, stopping: threading.Event) -> None:
        """Leads when it can, until it is told to stop. Survives a database that comes and goes, or is read-only."""
        while not stopping.is_set():
            try:
                lease = self.ledger.try_lead()
                if lease is None:
                    self.status.error = ""  # the database answers, and another controller leads
                    self._follow(stopping)
                    continue
                with lease:
                    if agrees := self._clock_agrees(lease):
                        self._lead(lease, stopping)
                if not agrees:
                    self._follow(stopping)
            except Stopping:
                log.info("stopping")
                return
            except LedgerUnavailable as error:
                if self.status.error != str(error):
                    log.warning("ledger unavailable", error=str(error))
                self.status.error = str(error)
                self._follow(stopping)
            finally:
                self.status.leading = self.status.settled = False

    def _follow(self, stopping: threading.Event) -> None:
        """Waits before it asks for the lead again."""
        self._clock_watch.set_by()  # asked so often, a clock that runs a little fast or slow does not count as set
        with self.clocks.idling(self.clocks.monotonic() + FOLLOW_S) as naps:
            any(stopping.wait(nap_s) for nap_s in naps)

    def read_again(self) -> None:
        """Has every device read at the next turn, whatever it was last seen to have."""
        self._pushing.states.doubt()

    def _lead(self, lease: Lease, stopping: threading.Event) -> None:
        self._pushing.take_lead(lease)
        self._requests.take_over()
        self._announcing = Announcing(self.ledger)
        self.status.leading, self.status.error = True, ""
        self._progress = self._progress.of_new_lead(self.clocks.now())
        self._clock_was_set()  # it may have been set since this controller led last
        while not stopping.is_set() and lease.is_held() and self._clock_agrees(lease):
            last_event = self.ledger.last_event()
            self._sleep(last_event, self.turn(), stopping)

    def _clock_agrees(self, lease: Lease) -> bool:
        """Whether this controller's clock may be gone by. Two controllers of one ledger meet in the database's clock."""
        ahead = lease.ahead_of_database(self.clocks.now)
        if abs(ahead) <= CLOCK_LIMIT:
            self._clock_is_off = False
            return True
        side = "ahead of" if ahead > timedelta() else "behind"
        why = (
            f"this controller's clock is {abs(ahead).total_seconds():,.0f} s {side} the database's: it does not lead"
            f" until they differ by at most {CLOCK_LIMIT.total_seconds():.0f} s"
        )
        if not self._clock_is_off:
            log.error("the clock is wrong", ahead_s=ahead.total_seconds())
            off = ControllerClockOff(ahead_of_database_us=round(ahead.total_seconds() * 1_000_000))
            self.ledger.record(off, self.clocks.now())
        self.status.error, self._clock_is_off = why, True
        return False

    def _sleep(self, last_event: int, until: datetime, stopping: threading.Event) -> None:
        """Sleeps until the instant, a new event, a stop, or until the clock is set: then all is computed again."""
        until_s = self.clocks.monotonic() + (until - self.clocks.now()).total_seconds()
        with self.clocks.idling(until_s) as naps:
            for nap_s in naps:
                if stopping.is_set() or self._clock_was_set() or self.ledger.wait_for_event(last_event, nap_s):
                    return

    def _clock_was_set(self) -> bool:
        """Records it, and goes by the new time from now on. Devices count from the old one, so they are armed anew."""
        by = self._clock_watch.set_by()
        if not by:
            return False
        self._clock_watch.accept()
        log.warning("the clock was set", by_s=by.total_seconds())
        self._pushing.rearm |= {name for name, device in self.pusher.devices.items() if acts(device)}
        self.retention.clock_was_set(self.clocks.now())
        self._progress = self._progress.of_new_time()
        self.ledger.record(ControllerClockSet(by_s=round(by.total_seconds(), 3)), self.clocks.now())
        return True

    def turn(self) -> datetime:
        """Does what is to be done now, and gives the instant at which to look again at the latest."""
        now, began_s = self.clocks.now(), self.clocks.monotonic()
        record_kept(self.pusher.archive, self.ledger)
        self.ledger.follow_slss()
        check_requests = self._requests.read()
        self._pushing.states.doubt(check_requests)
        self._pushing.health.retry(check_requests, now)
        self.ledger.expire(now)
        until = look_until(self.pace, self._progress, now)
        live = self.ledger.live_between(now)
        entries = self.shares(live, Window(now, until))
        self._announcing.announce(entries, now, now + max(self.pace.lead, ANNOUNCED_AHEAD))
        coming = self._boundaries(entries, now, until)
        self.status.next_boundary = coming[0] if coming else self._far(entries, now)
        turn = next_turn(self.pace, self._progress, coming, now)
        self._progress, self._pushing.lead = turn.progress, turn.lead
        if turn.postponed_until is not None:
            return turn.postponed_until
        if not self._do(turn, entries, live, now, began_s):
            return self.clocks.now()
        self.status.settled = self._pushing.health.all_well
        self._requests.answer(self.status.troubles, self.clocks.now())
        again: list[datetime] = []
        if turn.idle:
            self.retention.look(now)
            again = [self._replanning.look(entries, now)]
        retries = [*self._pushing.health.retries(self.clocks.now()), *self._pushing.holds.ends(), *again]
        return wake_at(self.pace, turn, coming, retries, now, self.clocks.now())

    def _do(self, turn: Turn, entries: Sequence[Entry], live: Sequence[Entry], now: datetime, began_s: float) -> bool:
        """False where the next turn is to follow at once. `live`: the entries as the ledger has them."""
        pushing = self._pushing
        ask_paths(pushing, live)
        if turn.read_all:
            pushing.states.doubt()
        for instant in turn.read_for:
            pushing.states.doubt(pushing.states.armed_for(instant))
        attempt = pushing.reconcile(entries, now, turn.arm, self._progress.armed)
        if attempt is Attempt.DONE:
            self._progress = replace(self._progress, armed=turn.arm)
        if attempt is not Attempt.OUTDATED:
            tell(pushing, live)
        if attempt is Attempt.DONE and turn.read_all:
            record_check(pushing)
        self._progress = self._progress.took_turn(timedelta(seconds=self.clocks.monotonic() - began_s))
        pushing.lead = lead_now(self.pace, self._progress)
        if attempt is Attempt.OUTDATED or turn.arm_more:
            return False
        if turn.hold is None:
            return True
        attempt = pushing.hold(entries, turn.hold)
        self._progress = replace(self._progress, held=None if attempt is Attempt.OUTDATED else turn.hold)
        return attempt is not Attempt.OUTDATED

    def _push_took(self, duration: timedelta) -> None:
        self._progress = self._progress.took_push(duration)

    def _boundaries(self, entries: Sequence[Entry], after: datetime, until: datetime) -> list[datetime]:
        own = [instant for instant in self.instants() if after < instant <= until]
        return sorted({*boundaries(entries, after, until), *own})

    def _far(self, entries: Sequence[Entry], now: datetime) -> datetime | None:
        slot = next_boundary(entries, now)
        own = [instant for instant in self.instants() if instant > now]
        return min([*own, slot] if slot else own, default=None)
