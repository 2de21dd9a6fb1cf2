"""What the log keeps of who asked, so that policies can be asked again later as whom it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from slotcar.policy.caller import Caller, Role, neighbour
from slotcar.policy.site import Site


def kept_of(caller: Caller, owner: str, together: str = "") -> Mapping[str, Any] | None:
    """What is to be kept beside the caller's name; None of a requester who asks for its own owner, as most do.

    Args:
        owner: of the reservation. together: what the requests have in common that were decided at once.
    """
    kept: dict[str, Any] = {}
    if caller.member_of.is_neighbour:
        return {"neighbour": caller.member_of.domain}
    if caller.role is not Role.REQUESTER or (caller.owner or caller.name) != owner:
        kept["role"] = caller.role.value
        if caller.owner not in (None, caller.name):
            kept["owner"] = caller.owner
    if caller.member_of.groups:
        kept["groups"] = sorted(caller.member_of.groups)
    if caller.member_of.of_issuer and caller.member_of.is_program:
        kept["program"] = True
    if caller.member_of.of_issuer and caller.member_of.community is not None:
        kept["community"] = caller.member_of.community
    if caller.delegate is not None:
        kept["as"] = caller.name
    if together:
        kept["together"] = together
    return kept or None


def recalled(actor: str, owner: str, kept: Mapping[str, Any] | None, site: Site) -> Caller:
    """Who asked, as policies of the site see it: by its name and owner as the site has them, in the groups of then that the
    site does not list, and as what its issuer said that it is."""
    details = kept or {}
    if "neighbour" in details:
        return neighbour(str(details["neighbour"]), site.policies)
    actor = str(details.get("as", actor))  # who acts on a delegation asks with the rights of whoever gave it
    caller = site.caller(
        actor, Role(details.get("role", Role.REQUESTER)), details.get("owner", actor if "role" in details else owner)
    )
    others = frozenset(details.get("groups", ())) - site.groups.keys()
    proof = str(details.get("proof", ""))
    known = caller.member_of
    member_of = replace(
        known,
        groups=known.groups | others,
        community=known.community or details.get("community"),
        is_program=known.is_program or details.get("program") is True,
    )
    return replace(caller, proof=proof, member_of=member_of)
