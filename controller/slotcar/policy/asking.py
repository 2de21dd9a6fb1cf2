"""Asks the policies in force what a caller may do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slotcar.policy.caller import Caller
from slotcar.policy.questions import Question, Uid, entity, uid
from slotcar.policy.verdict import NotAllowed, Verdict

#: What belongs to no owner.
CONTROLLER: Uid = ("Controller", "this")


def principal_of(caller: Caller) -> tuple[Uid, Mapping[str, Any]]:
    """The caller as policies see it, and what they know of it."""
    groups = caller.member_of
    who: Uid = ("Program" if groups.is_program else "Person", caller.name)
    parents: list[Uid] = [
        ("Role", caller.role.value),
        *(("Group", one) for one in sorted(groups.groups)),
        *(("Community", one) for one in sorted(groups.communities)),
        *([("Domain", groups.domain)] if groups.domain else []),
    ]
    return who, entity(who, parents, name=caller.name, owner={"__entity": uid("Owner", owner_of(caller))})


def owner_of(caller: Caller) -> str:
    """Whose reservations the caller acts on, where it names nobody's."""
    return caller.owner or caller.name


def verdict_on(caller: Caller, verb: str, owner: str | None = None) -> Verdict:
    """Whether the caller may do a verb, or what a right allows; `owner`: of what it would be done to, where it has one."""
    who, about = principal_of(caller)
    resource, entities = CONTROLLER, [about]
    if owner is not None:
        resource = ("Reservation", f"of {owner}")
        entities.append(entity(resource, owner={"__entity": uid("Owner", owner)}))
    return caller.policies.decide(Question(who, verb, resource, entities))


def require(caller: Caller, verb: str, what: str, owner: str | None = None) -> None:
    """As `verdict_on`. `what`: the verb in words.

    Raises:
        NotAllowed: the policies do not permit it.
    """
    verdict = verdict_on(caller, verb, owner)
    if not verdict.allowed:
        words = {"who": caller.name, "what": what, "role": caller.role.value, "owner": owner_of(caller)}
        raise NotAllowed(verdict.sentence({**words, "of": owner or ""}))
