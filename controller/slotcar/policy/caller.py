"""`Caller`: who asks, and by which policies it is decided what it may do."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from slotcar.policy.policies import Policies, shipped_policies
from slotcar_client.wire.actor import Actor


class Role(StrEnum):
    """What a caller is: `requester` acts on its own reservations, `operator` on all, `auditor` only reads, as far as the
    policies that ship decide it."""

    REQUESTER = "requester"
    OPERATOR = "operator"
    AUDITOR = "auditor"


@dataclass(frozen=True, slots=True)
class Memberships:
    """What a caller belongs to, beside its role: groups by name, and what its owner is a part of.

    Attributes:
        is_program: it is no person.
        is_neighbour: it is the controller of `domain`, which asks for what its own users asked it for.
        of_issuer: an issuer said some of it, which nobody can look up again once its token is gone.
    """

    groups: frozenset[str] = frozenset()
    community: str | None = None
    domain: str | None = None
    is_program: bool = False
    is_neighbour: bool = False
    of_issuer: bool = False


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: the CLI and an open loopback API act as an operator. `policies` are those in force where it asks.

    Attributes:
        proof: by what it is known, in words: a token's name, a subject and its issuer, a certificate, an account.
        known_since: when its token was made; None where nobody knows. What was handed to its name before was another's.
        scopes: of its token; see `slotcar.policy.scopes`. One without any is not narrowed.
        delegate: who acts, where these are the rights of whoever delegated one; see `slotcar.policy.delegating`.
    """

    name: str
    role: Role
    owner: str | None = None
    expires_at: datetime | None = None
    member_of: Memberships = field(default_factory=Memberships)
    proof: str = ""
    policies: Policies = field(default_factory=shipped_policies, compare=False, repr=False)
    delegate: Actor | None = None
    scopes: tuple[str, ...] = ()
    known_since: datetime | None = None

    @property
    def actor(self) -> Actor:
        """Who does something, as the audit log is told."""
        return self.delegate or Actor(self.name, self.proof)


def neighbour(domain: str, policies: Policies) -> Caller:
    """Another domain's controller. It acts by what its domain may, and has no role in this one."""
    member_of = Memberships(domain=domain, is_program=True, is_neighbour=True)
    proof = f"signed messages of domain {domain}"
    return Caller(f"domain {domain}", Role.REQUESTER, domain, member_of=member_of, proof=proof, policies=policies)
