"""Rights in the words of the other rooms. The policies decide (`slotcar.policy`); nothing here looks at a role."""

from __future__ import annotations

from slotcar.policy.asking import owner_of, require, verdict_on
from slotcar.policy.caller import Caller as Caller
from slotcar.policy.caller import Role as Role
from slotcar.policy.verdict import NotAllowed as NotAllowed

#: No owner is called so.
NOBODY = ""


def may_change(caller: Caller) -> bool:
    """Whether the caller may change anything at all: what is its own, at least."""
    return verdict_on(caller, "change", owner_of(caller)).allowed


def require_may_change(caller: Caller, owner: str | None = None, verb: str = "change") -> None:
    """`verb`: by which it would be changed.

    Raises:
        NotAllowed: it may change nothing of that owner's; of its own, where none is named.
    """
    whose = owner_of(caller) if owner is None else owner
    require(caller, verb, f"change reservations of owner {whose}", whose)


def owner_for(caller: Caller, stated: str | None) -> str:
    """The owner of a new reservation: its token's, where the body says none.

    Raises:
        NotAllowed: the caller may not reserve for that owner.
    """
    owner = stated if stated is not None else owner_of(caller)
    require(caller, "create", f"reserve for owner {owner}", owner)
    return owner


def require_plan(caller: Caller, owner: str) -> None:
    """Planning writes nothing, so an auditor may do it for everybody: the pipeline of a merge request needs no token that
    could reserve.

    Raises:
        NotAllowed: the caller may not plan for that owner.
    """
    require(caller, "plan", f"plan for owner {owner}", owner)


def may_see(caller: Caller, owner: str) -> bool:
    return verdict_on(caller, "see", owner).allowed


def may_see_all(caller: Caller) -> bool:
    """Whether a refusal may name other owners' reservations."""
    return may_overview(caller)


def only_owner(caller: Caller) -> str | None:
    """The owner whose things alone the caller has to do with: a requester's own, or `NOBODY`; None for the others."""
    return None if may_overview(caller) else caller.owner or NOBODY


def require_own(caller: Caller, owner: str, what: str, verb: str = "see") -> None:
    """
    Raises:
        NotAllowed: the caller may not see what is that owner's.
    """
    require(caller, verb, what, owner)


def is_operator(caller: Caller) -> bool:
    """Whether the caller may do what it likes."""
    return verdict_on(caller, "operate").allowed


def require_operator(caller: Caller, what: str, verb: str = "operate") -> None:
    """
    Raises:
        NotAllowed: the caller may not operate the controller, or not do this verb.
    """
    require(caller, verb, what)


def may_overview(caller: Caller) -> bool:
    """Whether the caller sees devices and all owners."""
    return verdict_on(caller, "overview").allowed


def require_overview(caller: Caller, what: str, verb: str = "overview") -> None:
    """
    Raises:
        NotAllowed: the caller sees no device and no other owner, or may not do this verb.
    """
    require(caller, verb, what)
