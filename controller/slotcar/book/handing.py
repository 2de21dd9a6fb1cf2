"""Gives and withdraws delegations under the ledger's lock."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from slotcar.book.delegating import with_delegation, without_delegation
from slotcar.book.model import Entry
from slotcar.book.operation import OnEntry
from slotcar.book.recording import by_whom, record
from slotcar.book.transaction import Transaction
from slotcar.policy.delegating import Delegation
from slotcar_client.wire.events import DelegationGiven, DelegationWithdrawn, OfDelegation


@dataclass(frozen=True, kw_only=True)
class Give(OnEntry):
    """Hands rights on it to somebody, in the place of those that it had."""

    delegation: Delegation

    def run(self, transaction: Transaction) -> Entry:
        """
        Raises:
            UnknownHandle, StaleVersion; DelegationRefused: see `with_delegation`.
        """
        entry = self.entry(transaction)
        delegations = with_delegation(entry, self.delegation, self.now)
        changed = transaction.change(entry, entry.state, self.now, delegations=delegations)
        _record(transaction, DelegationGiven, changed, self.delegation, self.actor, self.now)
        return changed


@dataclass(frozen=True, kw_only=True)
class Withdraw(OnEntry):
    """Takes back what somebody was handed."""

    to: str

    def run(self, transaction: Transaction) -> Entry:
        """
        Raises:
            UnknownHandle, StaleVersion; DelegationRefused: it has nothing of it.
        """
        entry = self.entry(transaction)
        withdrawn, others = without_delegation(entry, self.to, self.now)
        changed = transaction.change(entry, entry.state, self.now, delegations=tuple(others))
        _record(transaction, DelegationWithdrawn, changed, withdrawn, self.actor, self.now)
        return changed


def _record(
    transaction: Transaction, kind: type[OfDelegation], entry: Entry, one: Delegation, actor: str, now: datetime
) -> None:
    says = kind(**by_whom(entry, actor), to=one.to, may=one.may, delegated_until=one.until)
    record(transaction, entry, says, now)
