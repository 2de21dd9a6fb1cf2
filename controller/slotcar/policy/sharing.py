"""What a community's manager has shared out among its members, and the questions about it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from slotcar.base.units import UnitError
from slotcar.base.vocabulary import Service
from slotcar.policy.asking import CONTROLLER, owner_of, principal_of
from slotcar.policy.caller import Caller
from slotcar.policy.policies import Policies
from slotcar.policy.questions import Question, integer, named
from slotcar.policy.site import Site
from slotcar.policy.verdict import NotAllowed, Verdict

USE_SHARE = "use_share"
ALL_HOURS = tuple(range(24))
ALL_SERVICES = tuple(one.value for one in Service)
#: Of one community.
MOST_SHARES = 1_000


@dataclass(frozen=True, slots=True)
class CommunityShare:
    """The most that some members of a community may have together, before `until`.

    Attributes:
        name: unique in its community. members: owners.
        rate_bps: of one direction, at one instant.
        until: None where it ends when it is withdrawn. given_by: empty for what the site gives the community itself.
        hours: of the day in the site's zone, at which its members may reserve at all; services: likewise.
    """

    community: str
    name: str
    members: tuple[str, ...]
    rate_bps: int
    until: datetime | None = None
    hours: tuple[int, ...] = ALL_HOURS
    services: tuple[str, ...] = ALL_SERVICES
    given_by: str = ""
    given_at: datetime | None = None

    def is_running(self, now: datetime) -> bool:
        return self.until is None or now < self.until


def hours_text(hours: Collection[int]) -> str:
    """Hours in a row as `18-23`; empty where it is all of them.

    >>> hours_text((0, 1, 5, 22, 23))
    '0-1, 5, 22-23'
    """
    if len(hours) == len(ALL_HOURS):
        return ""
    rows: list[list[int]] = []
    for hour in sorted(hours):
        if rows and rows[-1][-1] == hour - 1:
            rows[-1].append(hour)
        else:
            rows.append([hour])
    return ", ".join(f"{row[0]}-{row[-1]}" if len(row) > 1 else str(row[0]) for row in rows)


def hours_of(text: str) -> tuple[int, ...]:
    """
    Raises:
        UnitError: it says no hours.

    >>> hours_of("22-1, 5")
    (22, 23, 0, 1, 5)
    """
    hours: list[int] = []
    for part in text.split(","):
        first, dash, last = (one.strip() for one in part.partition("-"))
        ends = (first, last if dash else first)
        if not all(one.isdecimal() and int(one[:3]) < len(ALL_HOURS) for one in ends):
            raise UnitError("has what is no hour of a day from 0 to 23", text, "say such as `18-23`, `22-5` or `0,1`")
        begin, end = map(int, ends)
        hours += range(begin, end + 1) if begin <= end else (*range(begin, len(ALL_HOURS)), *range(end + 1))
    return tuple(hours)


def given_to(community: str, site: Site) -> CommunityShare | None:
    """What the site gives a community, as one share of all its owners; None where it says no number."""
    one = site.communities[community]
    if one.at_most_bps is None:
        return None
    return CommunityShare(community, community, tuple(sorted(one.owners)), one.at_most_bps)


def verdict_on_share(
    policies: Policies, owner: str, share: CommunityShare, peak_bps: int, before_bps: int, hours: Collection[int],
    service: str,
) -> Verdict:  # fmt: skip
    """Whether the owner may have what makes the members' most `peak_bps`, where it was `before_bps` in the same time."""
    context = {
        "community": named("Community", share.community),
        "peak_bps": integer(peak_bps),
        "before_bps": integer(before_bps),
        "hours": sorted(hours),
        "service": named("Service", service),
        "share": {
            "rate_bps": integer(share.rate_bps),
            "hours": list(share.hours),
            "services": [named("Service", one) for one in share.services],
        },
    }
    return policies.decide(Question(("Owner", owner), USE_SHARE, CONTROLLER, (), context))


def may_share_out(caller: Caller, verb: str, community: str, site: Site) -> Verdict:
    who, entities = principal_of(caller)
    manages = caller.name in site.communities[community].managers
    context = {"community": named("Community", community), "manages": manages}
    return caller.policies.decide(Question(who, verb, CONTROLLER, entities, context))


def require_may_share_out(caller: Caller, verb: str, community: str, site: Site) -> None:
    """
    Raises:
        NotAllowed: it neither manages the community nor may by another policy.
    """
    verdict = may_share_out(caller, verb, community, site)
    if not verdict.allowed:
        words = {"who": caller.name, "what": "share out what it has", "role": caller.role.value}
        raise NotAllowed(verdict.sentence({**words, "owner": owner_of(caller), "of": community}))
