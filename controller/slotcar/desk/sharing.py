"""A community's manager shares out among its members what it was given, without the operator (ADR 89)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from slotcar.base.problems import InvalidInput, Problem
from slotcar.base.timebase import MICROSECOND, iso
from slotcar.base.units import format_rate
from slotcar.book.errors import UnknownCommunity
from slotcar.book.model import Entry
from slotcar.book.rules.roles import may_overview
from slotcar.book.share_bounds import rate_at
from slotcar.book.sharing import GiveShare, WithdrawShare
from slotcar.desk.desk import Desk
from slotcar.policy.asking import owner_of, require
from slotcar.policy.caller import Caller
from slotcar.policy.sharing import (
    ALL_HOURS,
    ALL_SERVICES,
    CommunityShare,
    given_to,
    may_share_out,
    require_may_share_out,
)
from slotcar.policy.site import Site

SHARE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,127}")


@dataclass(frozen=True, slots=True)
class ShareInUse:
    """A share, or what the site gives a community, and what its members have of it now."""

    share: CommunityShare
    in_use_bps: int


@dataclass(frozen=True, slots=True)
class KnownCommunity:
    """What a caller may know of a community. `given`: None where the site says no number; `managed`: it may share out;
    `withdraws`: it may take back what was shared out."""

    name: str
    owners: tuple[str, ...]
    given: ShareInUse | None
    managed: bool
    withdraws: bool


@dataclass(frozen=True, slots=True)
class Shares:
    desk: Desk

    def give(
        self, community: str, name: str, members: Collection[str], rate_bps: int, until: datetime | None,
        hours: Collection[int], services: Collection[str], caller: Caller, now: datetime,
    ) -> CommunityShare:  # fmt: skip
        """Lets members, together, have so much of what the community has, in the place of what had the name.

        Args:
            members: the owner of that name alone where there are none. hours, services: all where there are none.

        Raises:
            UnknownCommunity. NotAllowed: the caller does not manage it. InvalidInput: with all that is wrong. ShareRefused.
        """
        site = self._known(community, caller, "share_give")
        share = CommunityShare(
            community, name, tuple(dict.fromkeys(members)) or (name,), rate_bps, until,
            tuple(sorted(set(hours))) or ALL_HOURS, tuple(one for one in ALL_SERVICES if one in services) or ALL_SERVICES,
            caller.name, now,
        )  # fmt: skip
        if problems := [*_wrong_with(share, site, now), *_unknown(services)]:
            raise InvalidInput(problems)
        return self.desk.ledger.run(GiveShare(now, share, caller.actor))

    def withdraw(self, community: str, name: str, caller: Caller, now: datetime) -> CommunityShare:
        """
        Raises:
            UnknownCommunity. NotAllowed: the caller does not manage it. ShareRefused: it has no such share.
        """
        self._known(community, caller, "share_withdraw")
        return self.desk.ledger.run(WithdrawShare(now, community, name, caller.actor))

    def communities(self, caller: Caller, now: datetime) -> tuple[KnownCommunity, ...]:
        """Those that the caller manages, or whose owner it acts for; all for whoever sees all owners."""
        site, live = self.desk.site, self._live(now)
        known = []
        for name, one in sorted(site.communities.items()):
            if self._knows(name, caller):
                given = given_to(name, site)
                used = _in_use(given, live, now) if given is not None else None
                may = [self._manages(name, caller, verb) for verb in ("share_give", "share_withdraw")]
                known.append(KnownCommunity(name, tuple(sorted(one.owners)), used, *may))
        return tuple(known)

    def listed(self, caller: Caller, now: datetime) -> tuple[ShareInUse, ...]:
        """Shares that have not run out: those of the caller's owner, and all of the communities that it manages."""
        site, live, owner = self.desk.site, self._live(now), owner_of(caller)
        shown = []
        for share in self.desk.ledger.shares():
            whole = share.community in site.communities and (
                may_overview(caller) or self._manages(share.community, caller)
            )
            if share.is_running(now) and (whole or owner in share.members):
                shown.append(_in_use(share, live, now))
        return tuple(shown)

    def in_use(self, share: CommunityShare, now: datetime) -> ShareInUse:
        return _in_use(share, self._live(now), now)

    def _manages(self, community: str, caller: Caller, verb: str = "share_give") -> bool:
        return may_share_out(caller, verb, community, self.desk.site).allowed

    def _knows(self, community: str, caller: Caller) -> bool:
        is_member = owner_of(caller) in self.desk.site.communities[community].owners
        return is_member or may_overview(caller) or self._manages(community, caller)

    def _known(self, community: str, caller: Caller, verb: str) -> Site:
        site = self.desk.site
        if community not in site.communities or not self._knows(community, caller):
            require(caller, verb, "share out what a community has")  # who may not is not told whether there is one
            raise UnknownCommunity(f"there is no community {community}")
        require_may_share_out(caller, verb, community, site)
        return site

    def _live(self, now: datetime) -> Sequence[Entry]:
        return self.desk.ledger.live_between(now, now + MICROSECOND) if self.desk.site.communities else ()


def _in_use(share: CommunityShare, live: Sequence[Entry], now: datetime) -> ShareInUse:
    theirs = (one.counted for one in live if one.reservation.owner in share.members)
    steps = tuple(step for one in theirs if one is not None for step in one.steps)
    return ShareInUse(share, rate_at(steps, now))


def _wrong_with(share: CommunityShare, site: Site, now: datetime) -> Iterator[Problem]:
    owners, given = site.communities[share.community].owners, given_to(share.community, site)
    if not SHARE_NAME.fullmatch(share.name):
        yield Problem("request", 0, "name", "is no name", share.name, "letters, digits, dots and dashes")
    for member in share.members:
        if member not in owners:
            known = f"{share.community} has {', '.join(sorted(owners))}"
            yield Problem("request", 0, "members", f"is no member of {share.community}", member, known)
    if given is not None and share.rate_bps > given.rate_bps:
        words = f"is more than {share.community} has"
        yield Problem(
            "request", 0, "rate", words, format_rate(share.rate_bps), f"it has {format_rate(given.rate_bps)}"
        )
    if share.until is not None and share.until <= now:
        yield Problem("request", 0, "until", "is past", iso(share.until), f"it is {iso(now)}")
    for hour in share.hours:
        if hour not in ALL_HOURS:
            yield Problem("request", 0, "hours", "is no hour of a day", str(hour), "from 0 to 23")


def _unknown(services: Collection[str]) -> Iterator[Problem]:
    for one in services:
        if one not in ALL_SERVICES:
            yield Problem("request", 0, "services", "is no service", one, f"known are {', '.join(ALL_SERVICES)}")
