"""Asks the policies in force what a caller may do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slotcar.policy.caller import Caller
from slotcar.policy.questions import Question, Uid, entity, named
from slotcar.policy.reading import rights
from slotcar.policy.verdict import NotAllowed, Verdict

#: Verbs that are asked about where they are done, of the reservation or the community that they are done to. All others are
#: asked about when they are sent.
ASKED_WHERE_DONE = frozenset((
    "adopt", "approvals", "approve", "audits", "bind", "cancel", "commit", "configurations", "controller", "create",
    "delegate", "device_events", "device_states", "difference", "differences", "extend", "group_approve",
    "group_cancel", "group_commit", "group_reject", "hold", "holds", "limits", "link_usage", "modify", "network",
    "policy_why", "preview_rollback", "progress", "record_stream", "reject", "release", "resources", "revisions",
    "rollback", "settle_connections", "share_give", "share_withdraw", "withdraw",
))  # fmt: skip
#: Rights about an owner's reservations.
ABOUT_RESERVATIONS = ("see", "change", "plan")
#: What belongs to no owner.
CONTROLLER: Uid = ("Controller", "this")


def principal_of(caller: Caller) -> tuple[Uid, list[dict[str, Any]]]:
    """The caller as policies see it, and what they know of it and of its owner."""
    member, owner = caller.member_of, owner_of(caller)
    if member.is_neighbour and member.domain is not None:
        return ("Domain", member.domain), []
    who: Uid = (kind_of(caller), caller.name)
    parents: list[Uid] = [("Role", caller.role.value), ("Owner", owner)]
    parents += [("Group", one) for one in sorted(member.groups)]
    known = {"community": member.community, "domain": member.domain}
    about = entity(
        who,
        parents,
        name=caller.name,
        owner=named("Owner", owner),
        **{key: named(key.capitalize(), name) for key, name in known.items() if name is not None},
    )
    return who, [about, entity(("Owner", owner), parents_of_owner(member.community, member.domain))]


def asked_by(caller: Caller) -> Mapping[str, Any] | None:
    """The neighbour whose segment it would be: a neighbour reaches no other reservations than those that it asked for."""
    member = caller.member_of
    return named("Domain", member.domain) if member.is_neighbour and member.domain is not None else None


def parents_of_owner(community: str | None, domain: str | None) -> list[Uid]:
    """What an owner is a part of."""
    return [(kind, name) for kind, name in (("Community", community), ("Domain", domain)) if name is not None]


def owner_of(caller: Caller) -> str:
    """Whose reservations the caller acts on, where it names nobody's."""
    return caller.owner or caller.name


def kind_of(caller: Caller) -> str:
    """The type of the principal that the caller is."""
    member = caller.member_of
    return "Domain" if member.is_neighbour else "Program" if member.is_program else "Person"


def verdict_on(caller: Caller, verb: str, owner: str | None = None) -> Verdict:
    """Whether the caller may do a verb, or what a right allows; `owner`: of what it would be done to, where it has one."""

    def question() -> Question:
        who, entities = principal_of(caller)
        resource = CONTROLLER
        if owner is not None:
            resource = ("Reservation", f"of {owner}")
            entities.append(entity(resource, owner=named("Owner", owner), asked_by=asked_by(caller)))
        return Question(who, verb, resource, entities)

    key = (verb, owner, caller.name, caller.role, caller.owner, caller.member_of)
    return caller.policies.decide_once(key, question)


def require(caller: Caller, verb: str, what: str, owner: str | None = None) -> None:
    """As `verdict_on`. `what`: the verb in words.

    Raises:
        NotAllowed: the policies do not permit it.
    """
    verdict = verdict_on(caller, verb, owner)
    if not verdict.allowed:
        words = {"who": caller.name, "what": what, "role": caller.role.value, "owner": owner_of(caller)}
        raise NotAllowed(verdict.sentence({**words, "of": owner or ""}))


def verdict_on_sending(caller: Caller, verb: str) -> Verdict | None:
    """Whether the caller may send a verb at all, of its own owner where it is about reservations; None where that is asked
    about once it is known what it is done to."""
    # The policies that ship decide no verb otherwise when it is sent than where it is done (a test walks docs/security.md).
    if caller.policies.ship_alone:
        return None
    right = rights().get(verb, verb)
    if verb in ASKED_WHERE_DONE or (right == verb and verb != "plan"):
        return None
    return verdict_on(caller, verb, owner_of(caller) if right in ABOUT_RESERVATIONS else None)


def may(caller: Caller, verb: str) -> bool:
    """Whether the caller may do a verb; one about reservations to those of its own owner."""
    is_of_owner = rights().get(verb, verb) in ABOUT_RESERVATIONS
    return verdict_on(caller, verb, owner_of(caller) if is_of_owner else None).allowed


def require_sending(caller: Caller, verb: str) -> None:
    """As `verdict_on_sending`.

    Raises:
        NotAllowed.
    """
    verdict = verdict_on_sending(caller, verb)
    if verdict is not None and not verdict.allowed:
        words = {"who": caller.name, "what": verb.replace("_", " "), "role": caller.role.value}
        raise NotAllowed(verdict.sentence({**words, "owner": owner_of(caller), "of": owner_of(caller)}))
