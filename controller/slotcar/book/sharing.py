"""Shares of communities, given and withdrawn under the ledger's lock."""

from __future__ import annotations

from dataclasses import dataclass

from slotcar.book.errors import ShareRefused
from slotcar.book.operation import Operation
from slotcar.book.transaction import Transaction
from slotcar.policy.sharing import MOST_SHARES, CommunityShare
from slotcar_client.wire.events import OfShare, ShareGiven, ShareWithdrawn


@dataclass(frozen=True)
class GiveShare(Operation[CommunityShare]):
    """Shares out something of a community, in the place of what had its name. Reservations that are there stay."""

    share: CommunityShare
    actor: str

    def run(self, transaction: Transaction) -> CommunityShare:
        """
        Raises:
            ShareRefused: there are as many as there may be.
        """
        share = self.share
        known = transaction.shares(share.community)
        if share.name not in known and len(known) >= MOST_SHARES:
            raise ShareRefused(f"{share.community} has {MOST_SHARES} shares already: withdraw one of these first")
        transaction.share((share.community, share.name), share)
        _record(transaction, ShareGiven, share, self)
        return share


@dataclass(frozen=True)
class WithdrawShare(Operation[CommunityShare]):
    """Takes a share away: its members are bound by what else there is."""

    community: str
    name: str
    actor: str

    def run(self, transaction: Transaction) -> CommunityShare:
        """
        Raises:
            ShareRefused: there is none of that name.
        """
        share = transaction.shares(self.community).get(self.name)
        if share is None:
            raise ShareRefused(f"{self.community} has no share {self.name}: it was withdrawn, or never was")
        transaction.share((self.community, self.name), None)
        _record(transaction, ShareWithdrawn, share, self)
        return share


def _record(
    transaction: Transaction, kind: type[OfShare], share: CommunityShare, operation: GiveShare | WithdrawShare
) -> None:
    says = kind(
        actor=operation.actor, community=share.community, share=share.name, members=share.members,
        rate_bps=share.rate_bps, ends_at=share.until, hours=share.hours, services=share.services,
    )  # fmt: skip
    transaction.event(says.kind, operation.now, None, None, **says.details)
