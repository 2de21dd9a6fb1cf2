"""Who may do what: a requester on its own, an operator on all, an auditor reads."""

from __future__ import annotations

from slotcar.auth.tokens import Caller, Role
from slotcar.ledger.errors import UnknownHandle
from slotcar.ledger.model import Entry
from slotcar.problems import SlotcarError


class NotAllowed(SlotcarError):
    """The caller's role, or somebody else's ownership, forbids it."""


def owner_for(caller: Caller, stated: str | None) -> str:
    """The owner of a new reservation: a requester's is its token's, whatever the body says.

    Raises:
        NotAllowed: an auditor, or a requester who states somebody else.
    """
    if caller.role is Role.AUDITOR:
        raise NotAllowed(f"{caller.name} has the role auditor, which only reads; ask an operator")
    if caller.role is Role.REQUESTER:
        if stated is not None and stated != caller.owner:
            raise NotAllowed(
                f"{caller.name} reserves for owner {caller.owner} only, not for {stated}; leave owner out"
            )
        return caller.owner or caller.name
    return stated if stated is not None else (caller.owner or caller.name)


def require_plan(caller: Caller, owner: str) -> None:
    """Planning writes nothing, so an auditor may do it for everybody: the pipeline of a merge request needs no token that
    could reserve.

    Raises:
        NotAllowed: a requester, for another owner.
    """
    if caller.role is not Role.AUDITOR:
        owner_for(caller, owner)


def may_see(caller: Caller, owner: str) -> bool:
    return caller.role is not Role.REQUESTER or owner == caller.owner


def may_see_all(caller: Caller) -> bool:
    """Whether a refusal may name other owners' reservations."""
    return caller.role is not Role.REQUESTER


def require_see(caller: Caller, entry: Entry) -> None:
    """A foreign reservation is as good as absent: its existence is nobody's business.

    Raises:
        UnknownHandle: the caller is a requester and this belongs to another owner.
    """
    if not may_see(caller, entry.reservation.owner):
        raise UnknownHandle(entry.handle)


def require_change(caller: Caller, entry: Entry) -> None:
    """
    Raises:
        NotAllowed: an auditor. UnknownHandle: a requester, on another owner's reservation.
    """
    require_see(caller, entry)
    if caller.role is Role.AUDITOR:
        raise NotAllowed(f"{caller.name} has the role auditor, which only reads; ask an operator")


def is_operator(caller: Caller) -> bool:
    """Whether the caller may do what it likes."""
    return caller.role is Role.OPERATOR


def require_operator(caller: Caller, what: str) -> None:
    """
    Raises:
        NotAllowed: the caller is no operator.
    """
    if not is_operator(caller):
        raise NotAllowed(f"only an operator may {what}; {caller.name} has the role {caller.role.value}")


def may_overview(caller: Caller) -> bool:
    """Whether the caller sees devices and all owners."""
    return caller.role is not Role.REQUESTER


def require_overview(caller: Caller, what: str) -> None:
    """
    Raises:
        NotAllowed: the caller is a requester, who sees no device and no other owner.
    """
    if not may_overview(caller):
        raise NotAllowed(f"only an operator or an auditor may {what}; {caller.name} has the role requester")
