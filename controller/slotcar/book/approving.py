"""Commit, approve, reject: the steps by which a reservation or a change of one comes into force, or does not (ADR 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slotcar.book.errors import ForbiddenTransition
from slotcar.book.model import Condition, Entry, State
from slotcar.book.operation import OnEntry, move, require_allowed
from slotcar.book.recording import ask, by_whom, modified, record
from slotcar.book.rights import check_flows, firm_state, with_proposed_change
from slotcar.book.share_bounds import check_approved
from slotcar.book.transaction import Transaction
from slotcar.book.transfers import progress_after
from slotcar_client.wire import verbs
from slotcar_client.wire.events import ReservationChangeRejected


@dataclass(frozen=True)
class Commit(OnEntry):
    """A hold becomes firm; above the gate it waits for approval instead. The gate sees the form that is committed."""

    def run(self, transaction: Transaction) -> Entry:
        """
        Raises:
            UnknownHandle, StaleVersion; ForbiddenTransition: it is not held. EndpointNotAllowed: not any more.
        """
        entry = self.entry(transaction)
        require_allowed(verbs.Commit, entry, State.COMMITTED)
        transaction.terms.policy.endpoints.check(entry.reservation, entry.paths)
        return move(transaction, entry, firm_state(transaction, entry), self.actor, self.now, "")


@dataclass(frozen=True, kw_only=True)
class Approve(OnEntry):
    """A reservation that waits becomes committed; of one that is, the change that waits comes into force.

    Attributes:
        condition: what must hold beside room in the tables, of the form that comes into force.
        is_promised: domains have agreed on it in two phases; what was promised in the first is kept.
    """

    condition: Condition | None = None
    is_promised: bool = False

    def run(self, transaction: Transaction) -> Entry:
        """
        Raises:
            UnknownHandle, StaleVersion; ForbiddenTransition: nothing of it waits, or the change's slots are over.
            RefusedByPolicy; what the condition raises.
        """
        entry = self.entry(transaction)
        requested_entry = with_proposed_change(entry)
        require_allowed(verbs.Approve, entry, State.COMMITTED)
        if entry.proposed is not None and requested_entry.reservation.end <= self.now:
            raise ForbiddenTransition(entry.handle, State.ENDED, State.COMMITTED)
        transaction.terms.policy.endpoints.check(requested_entry.reservation, requested_entry.paths)
        check_flows(transaction, [requested_entry], self.now, name_other=True)
        ask(transaction, requested_entry, self.condition)
        if not self.is_promised:
            check_approved(transaction, requested_entry, entry if entry.proposed else None, self.now)
        if entry.proposed is None:
            return move(transaction, entry, State.COMMITTED, self.actor, self.now, "")
        return self._change(transaction, entry, requested_entry)

    def _change(self, transaction: Transaction, entry: Entry, proposal: Entry) -> Entry:
        transaction.give_back(entry)
        form: dict[str, Any] = {
            "reservation": proposal.reservation,
            "paths": proposal.paths,
            "demands": proposal.demands,
        }
        form["progress"] = progress_after(entry, proposal.reservation, self.now)
        form["requester"] = entry.proposed.requester if entry.proposed else None
        form["change"] = entry.changed_at_once(self.now)
        changed = transaction.change(entry, entry.state, self.now, proposed=None, **form)
        transaction.take(changed)
        record(transaction, changed, modified(entry, changed, self.actor), self.now)
        return changed


@dataclass(frozen=True, kw_only=True)
class Reject(OnEntry):
    """A reservation that waits is turned away; of one that is committed, the change that waits, and it stays as it is."""

    reason: str = ""

    def run(self, transaction: Transaction) -> Entry:
        """
        Raises:
            UnknownHandle, StaleVersion; ForbiddenTransition: nothing of it waits.
        """
        entry = self.entry(transaction)
        require_allowed(verbs.Reject, entry, State.REJECTED)
        if entry.proposed is None:
            return move(transaction, entry, State.REJECTED, self.actor, self.now, self.reason)
        transaction.give_back(entry)
        changed = transaction.change(entry, entry.state, self.now, proposed=None)
        transaction.take(changed)
        says = ReservationChangeRejected(
            **by_whom(changed, self.actor), reservation=entry.proposed.reservation, reason=self.reason
        )
        record(transaction, changed, says, self.now)
        return changed
