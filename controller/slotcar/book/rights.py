"""The operator's rules about what a transaction holds, asked under the ledger's lock: nobody can race past them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from slotcar.book.model import Entry, State
from slotcar.book.rules.flows import check_flows as check_claims
from slotcar.book.rules.gate import needs_approval
from slotcar.book.rules.quotas import Usage, check_quota
from slotcar.book.transaction import Transaction
from slotcar.policy.owning import HAVE


def firm_state(transaction: Transaction, entry: Entry) -> State:
    """What a new entry, or a hold, becomes: committed, or above the gate it waits for approval."""
    gate = transaction.terms.policy.gate
    waits = gate.limits_something and needs_approval(gate, entry.amount, None, entry.reservation.owner)
    return State.AWAITING_APPROVAL if waits else State.COMMITTED


def with_proposed_change(entry: Entry) -> Entry:
    """The entry as if the change that waits, where one does, were in force."""
    change = entry.proposed
    if change is None:
        return entry
    return replace(entry, reservation=change.reservation, paths=change.paths, demands=change.demands, proposed=None)


def check_flows(transaction: Transaction, entries: Sequence[Entry], now: datetime, *, name_other: bool) -> None:
    """
    Raises:
        FlowTaken: another owner's live reservation, or a change of it that waits, has packets of one of these; or one of
        these has packets of another.
    """
    others = transaction.entries.on_same_pairs(entries)
    if others or len({entry.reservation.owner for entry in entries}) > 1:
        own = [claim for entry in entries for claim in entry.claims]
        check_claims(own, (claim for other in others for claim in other.claims), now, name_other=name_other)


def owners_usage(transaction: Transaction, owners: Collection[str], now: datetime) -> Mapping[str, Usage]:
    """What each owner has, of those that have a quota."""
    policy = transaction.terms.policy
    return {
        owner: transaction.entries.usage(owner, now)
        for owner in sorted(owners)
        if policy.quota_of(owner).limits_something or policy.reserving.site.policies.has_own(HAVE)
    }


def check_quotas(transaction: Transaction, before: Mapping[str, Usage], now: datetime) -> None:
    """
    Raises:
        QuotaExceeded: an owner has more than its quota by now, and more than `before`.
    """
    for owner, usage in before.items():
        policy = transaction.terms.policy
        after = transaction.entries.usage(owner, now)
        check_quota(owner, policy.quota_of(owner), usage, after, policy.reserving.site.policies)
