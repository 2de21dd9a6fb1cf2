"""Groups, which are decided whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from slotcar.auth import access
from slotcar.book.applying import ApplyPlan
from slotcar.book.groups import ApproveGroup, CancelGroup, CommitGroup, OnGroup, RejectGroup
from slotcar.book.model import Entry
from slotcar.book.rules import roles
from slotcar.book.rules.request_limits import require_few_windows, require_reason
from slotcar.book.rules.roles import Caller
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries
from slotcar.desk.requests import Requests
from slotcar.planning.routing import RoutedReservation
from slotcar.reservation import require_valid

_VERB_OF: Mapping[type[OnGroup], str] = {
    ApproveGroup: "group_approve",
    RejectGroup: "group_reject",
    CancelGroup: "group_cancel",
    CommitGroup: "group_commit",
}


@dataclass(frozen=True, slots=True)
class Groups:
    """Errors are `SlotcarError`s."""

    desk: Desk

    def create(
        self, members: Sequence[RoutedReservation], caller: Caller, now: datetime, hold: timedelta | None = None
    ) -> tuple[tuple[Entry, ...], ...]:
        """Admits and commits all members of one group or several, or holds them, or leaves them to approval, in one
        decision; or none of them. The members of each group.

        Raises:
            PlanNotAdmitted: no room for some member; its refusal names it. CannotExpress, NameTaken, RefusedByPolicy: see
            `Requests.create`.
        """
        require_few_windows((("", one.reservation) for one in members), self.desk.settings.max_windows)
        for one in members:
            roles.owner_for(caller, require_valid(one.reservation).owner)
        how: dict[str, Any] = {"hold_until": now + hold} if hold else {}
        requests = Requests(self.desk)
        approval_of = requests.approvals(caller)
        wanted = [requests.request(one, caller, **how, **approval_of(one.reservation)) for one in members]
        entries = self.desk.ledger.run(ApplyPlan.of(wanted, now, actor=caller.actor))
        groups: dict[str, list[Entry]] = {}
        for entry in entries:
            groups.setdefault(entry.group or "", []).append(entry)
        return tuple(map(tuple, groups.values()))

    def on(
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
        members = Entries(self.desk).group(which, caller)
        for one in members if not change.needs_operator else ():
            access.require_change(caller, one, _VERB_OF[change])
        require_reason(reason)
        group = members[0].group or ""
        return self.desk.ledger.run(change(now, group, caller.actor, reason, expected_version))
