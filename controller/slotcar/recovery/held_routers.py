"""Routers that an operator takes out of the controller's care: hold, release, a rollback that holds (ADR 34, ADR 49)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from slotcar.base.timebase import SYSTEM, Clocks
from slotcar.book.appending import AppendIfLast
from slotcar.book.rules import roles
from slotcar.book.rules.request_limits import require_future, require_reason
from slotcar.book.rules.roles import Caller
from slotcar.network.model import Network
from slotcar.planning.errors import NotPossible
from slotcar.recovery.rollback import Goal, Rollback, plan_rollback
from slotcar.rollout.check_requests import ask_check, wait_for_answer
from slotcar.rollout.holding import HOLDING, Hold, Removal, holds_of, removed_of, rolled_back_by
from slotcar.rollout.pusher import Pusher
from slotcar.store import Ledger
from slotcar.views.devices import named_devices
from slotcar_client.wire.events import Kind

#: So long whoever asks for a rollback waits for the controller that leads.
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class HeldRouters:
    """Errors are `SlotcarError`s.

    Attributes:
        pusher_for: makes a pusher, which records what it does in the ledger that it is given.
    """

    ledger: Ledger
    network: Network
    pusher_for: Callable[[Ledger | None], Pusher]
    clocks: Clocks = SYSTEM

    def rollback_preview(self, device: str, to: str, caller: Caller, now: datetime) -> Rollback:
        """What would take one router back to a revision, a time or the baseline. Reads it, which takes seconds.

        Raises:
            NotAllowed: no operator. NoSuchDevice. NotPossible: there is nothing to go back to.
        """
        roles.require_operator(caller, "preview a rollback", "preview_rollback")
        return plan_rollback(self.pusher_for(None), self.network, Goal(to, [device]), now)

    def roll_back(self, device: str, to: str, caller: Caller, now: datetime, until: datetime | None = None) -> str:
        """Does what `rollback_preview` showed, as the router is by now, and holds the router: whoever leads pushes nothing
        to it until it is released, or until `until`. The revision, empty where nothing differed.

        Raises:
            NotAllowed. NoSuchDevice. NotPossible: there is nothing to go back to, or whoever leads does not answer; nothing
            was done. PushFailed. Where it fails, the router is held no longer than it was before.
        """
        named_devices(self.network, [device])
        revision = ""

        def push_back() -> Mapping[str, Removal]:
            nonlocal revision
            pusher = self.pusher_for(self.ledger)
            rollback = plan_rollback(pusher, self.network, Goal(to, [device]), now)
            if rollback.failures:
                raise NotPossible("; ".join(f"{one.device}: {one.message}" for one in rollback.failures))
            rollback.must_be_of_now(self.clocks.now())
            revision = pusher.push(rollback.wanted, rollback.readings.by_device, self.clocks.now()).revision
            if revision:
                self.record_rolled_back([device], f"rolled back to {to}", caller)
            return rollback.removed

        self.while_held([device], f"rolled back to {to}", caller, now, until, push_back)
        return revision

    def while_held(
        self, devices: Sequence[str], reason: str, caller: Caller, now: datetime, until: datetime | None,
        roll_back: Callable[[], Mapping[str, Removal]],
    ) -> None:  # fmt: skip
        """Holds the devices, rolls them back, and leaves them held: until they are released, or until `until`. What
        earlier rollbacks took from them stays with the hold.

        Args:
            roll_back: gives what it did on each device.

        Raises:
            NotAllowed. InvalidInput: `until` is past. NotPossible: whoever leads does not answer, and nothing was done.
            What `roll_back` raises: then they are held no longer than before.
        """
        roles.require_operator(caller, "roll a router back", "rollback")
        require_future(until, now)
        before, earlier = holds_of(self.ledger, now, devices), removed_of(self.ledger, devices)
        holds = {name: Hold(name, reason, caller.actor, now, until, removed=earlier.get(name, ())) for name in devices}
        for name, hold in holds.items():
            self._record(hold.event, name)
        ours = holds | holds_of(self.ledger, now, devices)
        try:
            with self._left_alone(devices, caller, now):
                removed = roll_back()
        except BaseException:
            for name, hold in holds.items():
                failed = hold.released_by(caller.actor, "the rollback failed")
                self._record_after(ours[name], before[name].event if name in before else failed)
            raise
        for name, hold in holds.items():  # it is what was last said of the router
            lacks = removed.get(name, Removal()).after(hold.removed)
            self._record(replace(hold, removed=lacks).event, name)

    def record_rolled_back(self, devices: Sequence[str], message: str, caller: Caller) -> None:
        for device in devices:
            self._record(rolled_back_by(caller.actor, message), device)

    def holds(self, caller: Caller, now: datetime) -> tuple[Hold, ...]:
        """The holds of all held routers, by name.

        Raises:
            NotAllowed.
        """
        roles.require_overview(caller, "see which routers are held", "holds")
        return tuple(one for _, one in sorted(holds_of(self.ledger, now).items()))

    def hold(
        self, device: str, caller: Caller, now: datetime, until: datetime | None = None, reason: str = ""
    ) -> Hold:
        """Holds a router as it is: whoever leads leaves it alone from its next turn on, until it is released or `until`.
        A hold that it has already is replaced; what rollbacks took from the router stays with the new one.

        Raises:
            NotAllowed. NoSuchDevice. InvalidInput: `until` is past, or the reason is not one line.
        """
        roles.require_operator(caller, "hold a router", "hold")
        require_reason(reason)
        named_devices(self.network, [device])
        require_future(until, now)
        earlier = removed_of(self.ledger, [device]).get(device, ())
        hold = Hold(device, reason, caller.actor, now, until, removed=earlier)
        self._record(hold.event, device)
        return hold

    def release(self, device: str, caller: Caller, now: datetime) -> Hold:
        """Ends the hold of a router, and gives it: whoever leads reads the router, and pushes what the ledger wants.

        Raises:
            NotAllowed. NoSuchDevice. NotPossible: it is not held, or somebody released it or held it anew meanwhile.
        """
        roles.require_operator(caller, "release a router", "release")
        named_devices(self.network, [device])
        hold = holds_of(self.ledger, now, [device]).get(device)
        if hold is None:
            raise NotPossible(f"{device} is not held")
        if not self._record_after(hold, hold.released_by(caller.actor)):
            raise NotPossible(f"{device} was released or held anew by somebody else meanwhile; look at it again")
        return hold

    @contextmanager
    def _left_alone(self, devices: Sequence[str], caller: Caller, now: datetime) -> Iterator[None]:
        """While it lasts nobody pushes to the devices: nobody leads, or the leader has answered after their holds' record.

        Raises:
            NotPossible: there is no answer.
        """
        lease = self.ledger.try_lead()
        if lease is not None:
            with lease:
                yield
            return
        are = "are" if len(devices) > 1 else "is"
        request_sequence = ask_check(self.ledger, devices, caller.actor, now, f"{', '.join(devices)} {are} held")
        if wait_for_answer(self.ledger, request_sequence, PATIENCE_S) is None:
            raise NotPossible(
                f"the controller that leads did not answer within {PATIENCE_S:.0f} s, so nothing was done: it may wait for"
                " a boundary; try again, or stop it"
            )
        yield

    def _record(self, says: Kind, device: str) -> None:
        self.ledger.record(says, self.clocks.now(), device=device)

    def _record_after(self, hold: Hold, says: Kind) -> bool:
        """Whether it was recorded: not where somebody held the device anew or released it since `hold`."""
        kinds = frozenset(HOLDING)
        return self.ledger.run(AppendIfLast(self.clocks.now(), says, hold.device, hold.number, kinds))
