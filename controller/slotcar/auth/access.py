"""What the rules of `slotcar.book.rules.roles` say of an entry of the ledger."""

from __future__ import annotations

from datetime import datetime

from slotcar.book.delegating import delegation_to, on_delegation
from slotcar.book.errors import UnknownHandle
from slotcar.book.model import Entry
from slotcar.book.rules.roles import Caller, may_see, require_may_change
from slotcar.policy.asking import verdict_on
from slotcar.policy.site import Site


def require_see(caller: Caller, entry: Entry) -> None:
    """A foreign reservation is as good as absent: its existence is nobody's business.

    Raises:
        UnknownHandle: the caller is a requester and this belongs to another owner.
    """
    if not may_see(caller, entry.reservation.owner):
        raise UnknownHandle(entry.handle)


def require_change(caller: Caller, entry: Entry, verb: str = "change") -> None:
    """`verb`: by which it would be changed.

    Raises:
        NotAllowed: an auditor. UnknownHandle: a requester, on another owner's reservation.
    """
    require_see(caller, entry)
    require_may_change(caller, entry.reservation.owner, verb)


def acting(caller: Caller, entry: Entry, verb: str, site: Site, now: datetime) -> Caller:
    """With whose rights the caller does a verb to the entry: its own, or by a delegation those of whoever gave it; what it
    does then is asked again under the ledger's lock (`Delegate`).

    Raises:
        NotAllowed: an auditor, or whom other rights were handed. UnknownHandle: a requester, on another owner's.
    """
    owner = entry.reservation.owner
    if may_see(caller, owner) and verdict_on(caller, verb, owner).allowed:
        return caller
    if delegation_to(caller, entry, now) is None:
        require_change(caller, entry, verb)
    return on_delegation(caller, verb, entry, site, now)
