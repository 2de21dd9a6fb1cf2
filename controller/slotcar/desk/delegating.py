"""Delegations: an owner hands rights on one reservation to somebody else, limited in time, and takes them back (ADR 89)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from slotcar.auth import access
from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import iso
from slotcar.book.errors import DelegationRefused
from slotcar.book.handing import Give, Withdraw
from slotcar.book.model import Entry
from slotcar.book.rules.roles import may_overview, only_owner
from slotcar.desk.desk import Desk
from slotcar.desk.entries import Entries
from slotcar.policy.asking import verdict_on
from slotcar.policy.caller import Caller
from slotcar.policy.delegating import DELEGABLE, Delegation, as_requester
from slotcar.policy.verdict import NotAllowed

#: Of a token, a certificate, or NAME@ISSUER.
CALLER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")


@dataclass(frozen=True, slots=True)
class Delegations:
    desk: Desk

    def give(
        self, which: str, to: str, may: Collection[str], until: datetime, caller: Caller, now: datetime,
        expected_version: int | None = None,
    ) -> Entry:  # fmt: skip
        """Hands rights on a reservation to a caller of that name, before `until`; in the place of what it had of it.

        Raises:
            InvalidInput: with all that is wrong. NotAllowed: the caller may not delegate, or not do so itself.
            DelegationRefused: to itself, or the reservation is over, or ends before. UnknownHandle, StaleVersion.
        """
        entry = Entries(self.desk).status(which, caller)
        caller = access.acting(caller, entry, "delegate", self.desk.site, now)
        _check(to, may, until, now)
        owner, name = entry.reservation.owner, "/".join(entry.reservation.key)
        if to in (caller.name, owner):
            raise DelegationRefused(f"{to} has its own rights on {name}: delegate to somebody else")
        groups = caller.member_of.groups - self.desk.site.groups.keys()
        verbs = tuple(one for one in DELEGABLE if one in may)
        self._require_own(caller, verbs, owner, groups)
        delegation = Delegation(to, verbs, until, caller.name, now, tuple(sorted(groups)))
        return self.desk.ledger.run(Give(now, entry.handle, caller.actor, expected_version, delegation=delegation))

    def withdraw(
        self, which: str, to: str, caller: Caller, now: datetime, expected_version: int | None = None
    ) -> Entry:
        """Takes back what a caller of that name was handed.

        Raises:
            NotAllowed: the caller may not. DelegationRefused: it has nothing of it. UnknownHandle, StaleVersion.
        """
        entry = Entries(self.desk).status(which, caller)
        caller = access.acting(caller, entry, "withdraw", self.desk.site, now)
        return self.desk.ledger.run(Withdraw(now, entry.handle, caller.actor, expected_version, to=to))

    def listed(self, caller: Caller, now: datetime, after: int = 0, limit: int = 100) -> tuple[Entry, ...]:
        """Reservations of which something is delegated, by number: those of the caller's owner, and those of which it was
        handed something; all for whoever sees all owners."""
        if may_overview(caller):
            return self.desk.ledger.delegated(now, after=after, limit=limit)
        return self.desk.ledger.delegated(now, only_owner(caller), caller.name, after, limit)

    def _require_own(self, caller: Caller, verbs: Sequence[str], owner: str, groups: frozenset[str]) -> None:
        """
        Raises:
            NotAllowed: a requester of the owner, as which the rights are handed on, has not all of them.
        """
        giver = as_requester(caller.name, owner, groups, self.desk.site)
        for verb in verbs:
            verdict = verdict_on(giver, verb, owner)
            if not verdict.allowed:
                what = f"hand on {verb}, which an owner here may not do"
                words = {"who": giver.name, "what": what, "role": giver.role.value, "owner": owner, "of": owner}
                raise NotAllowed(verdict.sentence(words))


def _check(to: str, may: Collection[str], until: datetime, now: datetime) -> None:
    problems = []
    if not CALLER_NAME.fullmatch(to):
        hint = "a token's name, or NAME@ISSUER: what `slotcar whoami` tells them"
        problems.append(Problem("request", 0, "to", "is no caller's name", to, hint))
    known = f"known are {', '.join(DELEGABLE)}"
    if not may:
        problems.append(Problem("request", 0, "may", "names no right", "", known))
    problems += [
        Problem("request", 0, "may", "cannot be handed on", one, known) for one in may if one not in DELEGABLE
    ]
    if until <= now:
        problems.append(Problem("request", 0, "until", "is past", iso(until), f"it is {iso(now)}"))
    if problems:
        raise InvalidInput(problems)
