"""Rights on one reservation in somebody else's hands: what they allow, asked again under the ledger's lock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from slotcar.base.timebase import iso
from slotcar.book.errors import DelegationRefused, UnknownHandle
from slotcar.book.model import Entry
from slotcar.book.rules.roles import may_see
from slotcar.policy.caller import Caller
from slotcar.policy.delegating import MOST_DELEGATIONS, SEE, Delegation, verdict_by
from slotcar.policy.site import Site
from slotcar.policy.verdict import NotAllowed, Verdict
from slotcar_client.wire.actor import Actor


class Delegate(Actor):
    """Whoever acts on a delegation. It may have been withdrawn since it was looked at: `require` asks of the entry as it is
    under the ledger's lock."""

    caller: Caller
    verb: str

    @classmethod
    def of(cls, caller: Caller, verb: str, delegation: Delegation) -> Delegate:
        delegate = cls(caller.name, caller.proof, delegation.given_by)
        delegate.caller, delegate.verb = caller, verb
        return delegate

    def require(self, entry: Entry, site: Site, now: datetime) -> None:
        """
        Raises:
            UnknownHandle: nothing of it is handed to the caller any more. NotAllowed: not this verb.
        """
        on_delegation(self.caller, self.verb, entry, site, now)


def require_still_handed(actor: str, entry: Entry, site: Site, now: datetime) -> None:
    """As `Delegate.require`; whoever acts on its own right is not asked again."""
    if isinstance(actor, Delegate):
        actor.require(entry, site, now)


def delegation_to(caller: Caller, entry: Entry, now: datetime) -> Delegation | None:
    """What of the reservation is handed to the caller now; nothing of one that is over."""
    if not entry.is_live_at(now):
        return None
    return next((one for one in running(entry, now) if one.is_to(caller)), None)


def running(entry: Entry, now: datetime) -> tuple[Delegation, ...]:
    """Those that have not run out."""
    return tuple(one for one in entry.delegations if now < one.until)


def shown_delegations(entry: Entry, caller: Caller, now: datetime) -> tuple[Delegation, ...]:
    """Those that run, as far as they are the caller's business: a delegate is shown its own."""
    is_owners = may_see(caller, entry.reservation.owner)
    return tuple(one for one in running(entry, now) if is_owners or one.is_to(caller))


def may_see_entry(caller: Caller, entry: Entry, site: Site, now: datetime) -> bool:
    """Whether the caller sees the reservation, by itself or because something of it is handed to it."""
    if may_see(caller, entry.reservation.owner):
        return True
    delegation = delegation_to(caller, entry, now)
    return delegation is not None and _verdict(delegation, caller, SEE, entry, site, now)[0].allowed


def on_delegation(caller: Caller, verb: str, entry: Entry, site: Site, now: datetime) -> Caller:
    """Whose rights the caller acts with, who may not do the verb by itself: those of whoever gave the delegation, as a
    requester of the reservation's owner. Its `actor` is the delegate.

    Raises:
        UnknownHandle: nothing of it is handed to the caller, or nothing any more. NotAllowed: not this verb.
    """
    delegation = delegation_to(caller, entry, now)
    if delegation is None:
        raise UnknownHandle(entry.handle)
    verdict, giver = _verdict(delegation, caller, verb, entry, site, now)
    if not verdict.allowed:
        owner = entry.reservation.owner
        if not verdict.by and not verdict.errors and verb not in delegation.may:
            handed = ", ".join(delegation.may)
            words_of_it = f"{caller.name} was handed {handed} of {entry.handle}, and not {verb}: ask {owner}"
            raise NotAllowed(words_of_it)
        words = {
            "who": caller.name,
            "what": f"{verb} it",
            "role": caller.role.value,
            "owner": caller.owner or caller.name,
        }
        raise NotAllowed(verdict.sentence({**words, "of": owner}))
    return replace(giver, policies=caller.policies, delegate=Delegate.of(caller, verb, delegation))


def _verdict(
    delegation: Delegation, caller: Caller, verb: str, entry: Entry, site: Site, now: datetime
) -> tuple[Verdict, Caller]:
    return verdict_by(delegation, caller, verb, entry.reservation.owner, site, now)


def with_delegation(entry: Entry, delegation: Delegation, now: datetime) -> tuple[Delegation, ...]:
    """The entry's delegations with this one in the place of what that caller had; without those that ran out.

    Raises:
        DelegationRefused: the reservation is over, or ends before the delegation does, or has as many as it may.
    """
    name = "/".join(entry.reservation.key)
    if not entry.is_live_at(now):
        raise DelegationRefused(f"{name} is over: nothing of it can be handed to anybody")
    end = max(entry.reservation.end, entry.latest.end)
    if delegation.until > end:
        raise DelegationRefused(
            f"{name} ends {iso(end)}: a delegation of it cannot last until {iso(delegation.until)}"
        )
    others = [one for one in running(entry, now) if one.to != delegation.to]
    if len(others) >= MOST_DELEGATIONS:
        raise DelegationRefused(f"{name} is delegated to {MOST_DELEGATIONS} already: withdraw one of these first")
    return (*others, delegation)


def without_delegation(entry: Entry, to: str, now: datetime) -> tuple[Delegation, Sequence[Delegation]]:
    """The delegation of that caller, and the others that run.

    Raises:
        DelegationRefused: it has none, or none any more.
    """
    delegations = running(entry, now) if entry.is_live_at(now) else ()
    withdrawn = next((one for one in delegations if one.to == to), None)
    if withdrawn is None:
        name = "/".join(entry.reservation.key)
        raise DelegationRefused(f"nothing of {name} is delegated to {to}: it was withdrawn, has run out, or never was")
    return withdrawn, [one for one in delegations if one is not withdrawn]
