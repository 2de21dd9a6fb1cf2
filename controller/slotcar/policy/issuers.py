"""`Issuer`: an OpenID provider whose tokens are taken, and what their claims mean here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from slotcar.policy.caller import Role

#: Signatures by a key pair alone. What is signed with a shared secret (HS…) or not at all is never taken.
ALGORITHMS = ("RS256", "ES256", "EdDSA", "Ed25519")
USUAL_ALGORITHMS = ("RS256", "ES256")
#: What an access token says that it is (RFC 9068 §2.1), and what those say whose issuer does not keep to that.
AT_JWT, PLAIN_JWT = "at+jwt", "JWT"
USUAL_GROUP_CLAIMS = ("wlcg.groups", "eduperson_entitlement")


@dataclass(frozen=True, slots=True)
class ClaimsMapping:
    """What claims mean here. Groups are those that the issuer's tokens name; `slotcar.auth.claims` says how they are read.

    Attributes:
        name: the claim that names a caller; the subject is never given to anybody else (OpenID Connect Core §8).
        group_claims: the claims that list groups.
        role: of whoever no group in `roles` gives one; None for nobody.
        roles: groups by the role that they give; the greatest counts.
        owners: groups by the owner on whose reservations their members act; the first counts.
        groups, communities: groups by what they are called in policies.
        programs: subjects that are programs, beside those that the token itself says to be.
    """

    name: str = "sub"
    group_claims: tuple[str, ...] = USUAL_GROUP_CLAIMS
    role: Role | None = None
    roles: Mapping[Role, frozenset[str]] = field(default_factory=dict)
    owners: Mapping[str, frozenset[str]] = field(default_factory=dict)
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    communities: Mapping[str, frozenset[str]] = field(default_factory=dict)
    programs: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SignInClient:
    """What Slotcar is to the issuer where people sign in: a client with an id, and the scopes that it asks for.

    Attributes:
        secret_file: of a client that has a secret; None for a public one, which PKCE alone protects.
        resource: what the access token is asked for, where the issuer wants to be told (RFC 8707).
    """

    client_id: str
    scopes: tuple[str, ...]
    secret_file: Path | None = None
    resource: str | None = None


@dataclass(frozen=True, slots=True)
class Issuer:
    """Attributes:
    name: what it is called here; the names of its callers end in it.
    url: what its tokens say as `iss`.
    audience: what they must say as `aud`.
    token_type: what their header says as `typ`.
    leeway_s: how far the issuer's clock and this one may be apart, in seconds.
    scope: one that tokens must have; None for none.
    page, cli: by which people sign in; None where they do not.
    ca_file: the authorities by which its certificate is checked; None for those of this machine.
    """

    name: str
    url: str
    audience: str
    algorithms: tuple[str, ...] = USUAL_ALGORITHMS
    token_type: str = AT_JWT
    leeway_s: int = 30
    scope: str | None = None
    page: SignInClient | None = None
    cli: SignInClient | None = None
    ca_file: Path | None = None
    claims: ClaimsMapping = field(default_factory=ClaimsMapping)
