"""`Delegation`: rights on one reservation that its owner hands to somebody else, limited in time (GARA's third party)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from slotcar.base.timebase import to_us
from slotcar.policy.asking import parents_of_owner, principal_of, verdict_on
from slotcar.policy.caller import Caller, Role
from slotcar.policy.questions import Question, entity, named
from slotcar.policy.site import Site
from slotcar.policy.verdict import Verdict

SEE = "see"
#: What may be handed on: verbs about one reservation, and `see`, which shows it and which every other one brings along.
DELEGABLE = (SEE, "commit", "extend", "modify", "bind", "progress", "cancel")
#: Of one reservation that run at once.
MOST_DELEGATIONS = 20


@dataclass(frozen=True, slots=True)
class Delegation:
    """
    Attributes:
        to: the name of a caller, as `slotcar whoami` tells it: of a token, or NAME@ISSUER.
        may: of `DELEGABLE`. until: it runs before that, and not at it.
        groups: of whoever gave it, which the site does not list.
    """

    to: str
    may: tuple[str, ...]
    until: datetime
    given_by: str
    given_at: datetime
    groups: tuple[str, ...] = ()

    def is_to(self, caller: Caller) -> bool:
        """Whether it was handed to this caller: a token that was made later under the same name is another's."""
        return self.to == caller.name and (caller.known_since is None or caller.known_since <= self.given_at)

    def giver(self, owner: str, site: Site) -> Caller:
        """Whoever gave it, as a requester of the reservation's owner: nobody hands on more than an owner may."""
        return as_requester(self.given_by, owner, frozenset(self.groups), site)


def as_requester(name: str, owner: str, groups: frozenset[str], site: Site) -> Caller:
    """A caller of that name with no more rights than a requester of the owner. `groups`: beside those of the site."""
    caller = site.caller(name, Role.REQUESTER, owner)
    others = groups - site.groups.keys()
    return replace(caller, member_of=replace(caller.member_of, groups=caller.member_of.groups | others))


def verdict_by(
    delegation: Delegation, caller: Caller, verb: str, owner: str, site: Site, now: datetime
) -> tuple[Verdict, Caller]:
    """Whether the caller may do the verb to the owner's reservation by the delegation, and as whom it is decided: whoever
    gave it may do it itself by now, and what was handed to the caller has it.
    """
    giver = delegation.giver(owner, site)
    verdict = verdict_on(giver, verb, owner)
    if not verdict.allowed:
        return verdict, giver
    who, entities = principal_of(caller)
    if not any(one["uid"] == {"type": "Owner", "id": owner} for one in entities):
        parents = parents_of_owner(site.community_of(owner), site.domain_of(owner))
        entities.append(entity(("Owner", owner), parents))
    resource = ("Reservation", f"of {owner}")
    entities.append(entity(resource, owner=named("Owner", owner)))
    handed = {
        "by": delegation.given_by,
        "verbs": list(delegation.may),
        "verb": verb,
        "left_us": to_us(delegation.until) - to_us(now),
    }
    return caller.policies.decide(Question(who, verb, resource, entities, {"delegation": handed})), giver
