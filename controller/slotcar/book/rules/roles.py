"""Who may do what: a requester on its own, an operator on all, an auditor reads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from slotcar.base.problems import SlotcarError

#: No owner is called so.
NOBODY = ""


class Role(StrEnum):
    """What a caller may do: `requester` acts on its own reservations, `operator` on all, `auditor` only reads."""

    REQUESTER = "requester"
    OPERATOR = "operator"
    AUDITOR = "auditor"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the CLI and an open loopback API act as an operator."""

    name: str
    role: Role
    owner: str | None = None
    expires_at: datetime | None = None


class NotAllowed(SlotcarError):
    """The caller's role, or somebody else's ownership, forbids it."""


def may_change(caller: Caller) -> bool:
    """Whether the caller may change anything at all: an auditor only reads."""
    return caller.role is not Role.AUDITOR


def require_may_change(caller: Caller) -> None:
    """
    Raises:
        NotAllowed: an auditor.
    """
    if not may_change(caller):
        raise NotAllowed(f"{caller.name} has the role auditor, which only reads; ask an operator")


def owner_for(caller: Caller, stated: str | None) -> str:
    """The owner of a new reservation: a requester's is its token's, whatever the body says.

    Raises:
        NotAllowed: an auditor, or a requester who states somebody else.
    """
    require_may_change(caller)
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
    if may_change(caller):
        owner_for(caller, owner)


def may_see(caller: Caller, owner: str) -> bool:
    return caller.role is not Role.REQUESTER or owner == caller.owner


def may_see_all(caller: Caller) -> bool:
    """Whether a refusal may name other owners' reservations."""
    return caller.role is not Role.REQUESTER


def only_owner(caller: Caller) -> str | None:
    """The owner whose things alone the caller has to do with: a requester's own, or `NOBODY`; None for the others."""
    return caller.owner or NOBODY if caller.role is Role.REQUESTER else None


def require_own(caller: Caller, owner: str, what: str) -> None:
    """
    Raises:
        NotAllowed: a requester asks for another owner's.
    """
    if not may_see(caller, owner):
        raise NotAllowed(f"{caller.name} may ask for {what} of owner {caller.owner} only")


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
