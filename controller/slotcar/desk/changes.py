"""What moves a reservation on to another state: commit, cancel, approve, reject, extend."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from slotcar.book.approving import Approve, Commit, Reject
from slotcar.book.model import Entry, State
from slotcar.book.operation import Move
from slotcar.book.operations import ExtendHold
from slotcar.book.rules import roles
from slotcar.book.rules.request_limits import require_reason
from slotcar.book.rules.roles import Caller
from slotcar.book.rules.verb_rules import allows
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries, require_alone
from slotcar.planning.errors import NotPossible
from slotcar.planning.routing import RoutedReservation
from slotcar_client.wire import verbs


@dataclass(frozen=True, slots=True)
class StateChanges:
    """Errors are `SlotcarError`s."""

    desk: Desk

    def commit(self, which: str, caller: Caller, now: datetime, expected_version: int | None = None) -> Entry:
        """Makes a hold firm; above the operator's gate it waits for approval instead.

        Raises:
            ForbiddenTransition: it is not held.
        """
        entry, caller = Entries(self.desk).changeable(which, caller, "commit", now, alone=True)
        return self.desk.ledger.run(Commit(now, entry.handle, caller.actor, expected_version))

    def cancel(
        self, which: str, caller: Caller, now: datetime, expected_version: int | None = None, reason: str = ""
    ) -> Entry:
        """Gives it back, at once; routers follow at the reconcile loop's next turn.

        Raises:
            InvalidInput: the reason is not one line.
        """
        entry, caller = Entries(self.desk).changeable(which, caller, "cancel", now, alone=True)
        require_reason(reason)
        return self.desk.ledger.run(
            Move(now, entry.handle, caller.actor, expected_version, to=State.CANCELLED, reason=reason)
        )

    def approve(self, which: str, expected_version: int, caller: Caller, now: datetime) -> Entry:
        """Lets what waits of it into force as it was at `expected_version`: the reservation, or the change of it.

        Raises:
            NotAllowed: no operator. StaleVersion: it has changed since. ForbiddenTransition: nothing of it waits.
            CannotExpress, RefusedByPolicy: see `create`.
        """
        roles.require_operator(caller, "approve a reservation", "approve")
        entry = require_alone(Entries(self.desk).status(which, caller))
        change = entry.proposed
        routed = RoutedReservation(change.reservation, change.paths, change.demands) if change else None
        return self.desk.ledger.run(
            Approve(
                now,
                entry.handle,
                caller.actor,
                expected_version,
                condition=self.desk.platform_limits.condition(routed) if routed else None,
            )
        )

    def reject(
        self, which: str, caller: Caller, now: datetime, expected_version: int | None = None, reason: str = ""
    ) -> Entry:
        """Turns away what waits of it: the reservation; of a committed one the change, and it stays as it is.

        Raises:
            NotAllowed: no operator. ForbiddenTransition: nothing of it waits. InvalidInput: the reason is not one line.
        """
        roles.require_operator(caller, "reject a reservation", "reject")
        require_reason(reason)
        handle = require_alone(Entries(self.desk).status(which, caller)).handle
        return self.desk.ledger.run(Reject(now, handle, caller.actor, expected_version, reason=reason))

    def extend(
        self, which: str, by: timedelta, caller: Caller, now: datetime, expected_version: int | None = None
    ) -> Entry:
        """Keeps a hold until `by` from now.

        Raises:
            NotPossible: it is not held. HoldTooLong: the operator lets no hold last so long.
        """
        entry, caller = Entries(self.desk).changeable(which, caller, "extend", now, alone=True)
        if not allows(verbs.Extend, entry.state):
            raise NotPossible(f"reservation {entry.handle} is {entry.state.value}: only a hold can be extended")
        return self.desk.ledger.run(ExtendHold(now, entry.handle, caller.actor, expected_version, hold_until=now + by))
