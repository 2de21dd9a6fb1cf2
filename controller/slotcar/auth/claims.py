"""What the claims of an issuer's token say of a caller: its name, role, owner, groups and community. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from slotcar.base.problems import SlotcarError, printable, shortened
from slotcar.policy.caller import Caller, Memberships, Role
from slotcar.policy.issuers import ClaimsMapping, Issuer
from slotcar.policy.site import Site

#: Names that go on as they are, with `@` and the issuer's name behind them.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
#: The greatest first.
_GREATEST = (Role.OPERATOR, Role.AUDITOR, Role.REQUESTER)
#: Of an entitlement that names a group (AARC-G069 §2): the group with its parents, a role in it, and who says so.
_ENTITLEMENT = re.compile(r"(?P<group>urn:.+?:group:[^#]+?)(?P<role>:role=[^#:]+)?(?P<authority>#.*)?", re.IGNORECASE)


class NobodyHere(SlotcarError):
    """An issuer's token is in order, and whom it stands for has nothing to do here."""


def caller_of(claims: Mapping[str, Any], issuer: Issuer, site: Site, expires_at: datetime | None) -> Caller:
    """The caller of whom an issuer says this.

    Raises:
        NobodyHere: the issuer's mapping gives it no role, or the claims name nobody.
    """
    mapping = issuer.claims
    subject = claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise NobodyHere("the token names nobody: it has no `sub`")
    name = f"{_name(claims, mapping)}@{issuer.name}"
    groups = groups_of(claims, mapping)
    role = _role(groups, mapping)
    if role is None:
        raise NobodyHere(f"{name} has no role here: none of its groups at {issuer.name} gives one")
    owner = next((owner for owner, members in mapping.owners.items() if members & groups), name)
    caller = site.caller(name, role, owner, expires_at)
    known = caller.member_of
    community = next((one for one, members in mapping.communities.items() if members & groups), None)
    member_of = Memberships(
        groups=known.groups | {one for one, members in mapping.groups.items() if members & groups},
        community=known.community or community,
        domain=known.domain,
        is_program=known.is_program or _is_program(claims, subject, mapping),
        of_issuer=True,
    )
    return replace(caller, member_of=member_of, proof=proof_of(issuer.url, subject))


def proof_of(issuer: str, subject: str) -> str:
    """By which proof somebody is known whom an issuer names (OpenID Connect Core §5.7: both together, and nothing else)."""
    return f"subject {printable(shortened(subject, 200))} of {issuer}"


def groups_of(claims: Mapping[str, Any], mapping: ClaimsMapping) -> frozenset[str]:
    """The groups that the claims list: of `wlcg.groups` paths, of `eduperson_entitlement` the groups of AARC-G069."""
    return frozenset(_groups(claims, mapping.group_claims))


def _groups(claims: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    for name in names:
        value = _claim(claims, name)
        for one in [value] if isinstance(value, str) else value if isinstance(value, list) else []:
            if isinstance(one, str):
                yield one
                yield from _of_entitlement(one)


def _of_entitlement(text: str) -> Collection[str]:
    """The group of an entitlement, without who says so, and without the role in it: who has a role in a group is its member
    (AARC-G069 §3). A parent is not meant: an issuer lists it where one is its member."""
    parts = _ENTITLEMENT.fullmatch(text)
    if parts is None:
        return ()
    group, role = unquote(parts["group"]), unquote(parts["role"] or "")
    return {group, group + role}


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """A claim by its name, or by the names on the way to it, as in `realm_access.roles`."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _name(claims: Mapping[str, Any], mapping: ClaimsMapping) -> str:
    """What names the caller; a text that is no name is known by its digest."""
    value = _claim(claims, mapping.name)
    if not isinstance(value, str) or not value:
        raise NobodyHere(f"the token has no `{mapping.name}`, by which the site names people")
    if _PLAIN_NAME.fullmatch(value):
        return value
    return f"sub-{hashlib.sha256(value.encode()).hexdigest()[:32]}"


def _role(groups: frozenset[str], mapping: ClaimsMapping) -> Role | None:
    given = {role for role, members in mapping.roles.items() if members & groups}
    return next((role for role in _GREATEST if role in given), mapping.role)


def _is_program(claims: Mapping[str, Any], subject: str, mapping: ClaimsMapping) -> bool:
    """Where no person stands behind a token, its subject is the client itself (RFC 9068 §2.2)."""
    return subject in mapping.programs or subject in (claims.get("client_id"), claims.get("azp"))
