"""`Broker`: all verbs; here those that move reservations and groups on to another state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from slotcar.auth import access
from slotcar.book.applying import ApplyPlan
from slotcar.book.approving import Approve, Commit, Reject
from slotcar.book.groups import ApproveGroup, CancelGroup, CommitGroup, OnGroup, RejectGroup
from slotcar.book.model import Entry, State
from slotcar.book.operation import Move
from slotcar.book.operations import ExtendHold
from slotcar.book.rules import roles
from slotcar.book.rules.request_limits import require_few_windows, require_reason
from slotcar.book.rules.roles import Caller
from slotcar.book.rules.verb_rules import allows
from slotcar.broker.files import ReservationFiles
from slotcar.planning.errors import NotPossible
from slotcar.planning.routing import RoutedReservation
from slotcar.planning.source import members_of_groups
from slotcar.recovery.held_routers import HeldRouters
from slotcar.reservation import require_valid
from slotcar.wiring import held_routers_for
from slotcar_client.wire import verbs

_VERB_OF: Mapping[type[OnGroup], str] = {
    ApproveGroup: "group_approve",
    RejectGroup: "group_reject",
    CancelGroup: "group_cancel",
    CommitGroup: "group_commit",
}


@dataclass(frozen=True, slots=True)
class Broker(ReservationFiles):
    """The verbs. Errors are `SlotcarError`s; `RefusedByAdmission` carries the numbers."""

    @property
    def held_routers(self) -> HeldRouters:
        """Holds, releases, and rollbacks that hold."""
        return held_routers_for(self.network, self.settings, self.ledger, self.clocks)

    # -- states ----------------------------------------------------------------------------------------------------

    def commit(self, which: str, caller: Caller, now: datetime, expected_version: int | None = None) -> Entry:
        """Makes a hold firm; above the operator's gate it waits for approval instead.

        Raises:
            ForbiddenTransition: it is not held.
        """
        entry, caller = self._changeable(which, caller, "commit", now, alone=True)
        return self.ledger.run(Commit(now, entry.handle, caller.actor, expected_version))

    def cancel(
        self, which: str, caller: Caller, now: datetime, expected_version: int | None = None, reason: str = ""
    ) -> Entry:
        """Gives it back, at once; routers follow at the reconcile loop's next turn.

        Raises:
            InvalidInput: the reason is not one line.
        """
        entry, caller = self._changeable(which, caller, "cancel", now, alone=True)
        require_reason(reason)
        return self.ledger.run(
            Move(now, entry.handle, caller.actor, expected_version, to=State.CANCELLED, reason=reason)
        )

    def approve(self, which: str, expected_version: int, caller: Caller, now: datetime) -> Entry:
        """Lets what waits of it into force as it was at `expected_version`: the reservation, or the change of it.

        Raises:
            NotAllowed: no operator. StaleVersion: it has changed since. ForbiddenTransition: nothing of it waits.
            CannotExpress, RefusedByPolicy: see `create`.
        """
        roles.require_operator(caller, "approve a reservation", "approve")
        entry = self._alone(self.status(which, caller))
        change = entry.proposed
        routed = RoutedReservation(change.reservation, change.paths, change.demands) if change else None
        return self.ledger.run(
            Approve(
                now,
                entry.handle,
                caller.actor,
                expected_version,
                condition=self._platform_limits.condition(routed) if routed else None,
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
        handle = self._alone(self.status(which, caller)).handle
        return self.ledger.run(Reject(now, handle, caller.actor, expected_version, reason=reason))

    def extend(
        self, which: str, by: timedelta, caller: Caller, now: datetime, expected_version: int | None = None
    ) -> Entry:
        """Keeps a hold until `by` from now.

        Raises:
            NotPossible: it is not held. HoldTooLong: the operator lets no hold last so long.
        """
        entry, caller = self._changeable(which, caller, "extend", now, alone=True)
        if not allows(verbs.Extend, entry.state):
            raise NotPossible(f"reservation {entry.handle} is {entry.state.value}: only a hold can be extended")
        return self.ledger.run(ExtendHold(now, entry.handle, caller.actor, expected_version, hold_until=now + by))

    # -- groups ----------------------------------------------------------------------------------------------------

    def create_groups(
        self, members: Sequence[RoutedReservation], caller: Caller, now: datetime, hold: timedelta | None = None
    ) -> tuple[tuple[Entry, ...], ...]:
        """Admits and commits all members of one group or several, or holds them, or leaves them to approval, in one
        decision; or none of them. The members of each group.

        Raises:
            PlanNotAdmitted: no room for some member; its refusal names it. CannotExpress, NameTaken, RefusedByPolicy: see
            `create`.
        """
        require_few_windows((("", one.reservation) for one in members), self.settings.max_windows)
        for one in members:
            roles.owner_for(caller, require_valid(one.reservation).owner)
        how: dict[str, Any] = {"hold_until": now + hold} if hold else {}
        entries = self.ledger.run(
            ApplyPlan.of([self._request(one, caller, **how) for one in members], now, actor=caller.actor)
        )
        groups: dict[str, list[Entry]] = {}
        for entry in entries:
            groups.setdefault(entry.group or "", []).append(entry)
        return tuple(map(tuple, groups.values()))

    def create_groups_from_documents(
        self, documents: Sequence[Mapping[str, Any]], now: datetime, hold: timedelta | None, caller: Caller
    ) -> tuple[tuple[Entry, ...], ...]:
        """As `create_groups`, of groups as a reservation file says them."""
        return self.create_groups(
            members_of_groups(documents, now, self.settings.max_windows, self.network), caller, now, hold
        )

    def on_group(
        self, change: type[OnGroup], which: str, caller: Caller, now: datetime, reason: str = "",
        expected_version: int | None = None,
    ) -> tuple[Entry, ...]:  # fmt: skip
        """Cancels, commits, approves or rejects all members of a group at once.

        Raises:
            UnknownHandle, StaleVersion, NotAllowed. ForbiddenTransition: its state does not allow it. InvalidInput: the
            reason is not one line.
        """
        if change.needs_operator:
            roles.require_operator(caller, "approve or reject a group", _VERB_OF[change])
        members = self.group(which, caller)
        for one in members if not change.needs_operator else ():
            access.require_change(caller, one, _VERB_OF[change])
        require_reason(reason)
        group = members[0].group or ""
        return self.ledger.run(change(now, group, caller.actor, reason, expected_version))
