"""What the rules of `slotcar.book.rules.roles` say of an entry of the ledger."""

from __future__ import annotations

from slotcar.book.errors import UnknownHandle
from slotcar.book.model import Entry
from slotcar.book.rules.roles import Caller, may_see, require_may_change


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
