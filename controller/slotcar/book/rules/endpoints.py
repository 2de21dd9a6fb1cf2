"""Which owners may use which endpoints: what the inventory says of hosts and prefixes, and everybody elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from slotcar.book.rules.errors import BindNotAllowed, EndpointNotAllowed, HostNotGiven, NotPermitted, RefusedByPolicy
from slotcar.managers import manager_of, request_of
from slotcar.network.model import Network
from slotcar.network.path.model import Path
from slotcar.policy.owning import BIND_PROCESSES, CLAIM_HOST, USE_ENDPOINT, on_endpoint
from slotcar.policy.policies import Policies, shipped_policies
from slotcar.policy.verdict import Verdict
from slotcar.reservation.model import ANY_ACCOUNT, Claim, Reservation


@dataclass(frozen=True, slots=True)
class EndpointOwners:
    """Owners by address and by prefix, the longest prefix first; `addresses` are those of the hosts, by name. `accounts` of
    a host may be bound by an owner: by the host's name, then by owner. `policies` decide by these."""

    hosts: Mapping[IPv4Address, tuple[str, ...]] = field(default_factory=dict)
    prefixes: Sequence[tuple[IPv4Network, tuple[str, ...]]] = ()
    addresses: Mapping[str, IPv4Address] = field(default_factory=dict)
    accounts: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    policies: Policies = field(default_factory=shipped_policies, repr=False)

    def of(self, address: IPv4Address) -> tuple[str, ...] | None:
        """Who may use the address: its host's owners, else those of the longest prefix around it; None for everybody."""
        if address in self.hosts:
            return self.hosts[address]
        return next((owners for prefix, owners in self.prefixes if address in prefix), None)

    def check(self, reservation: Reservation, paths: Sequence[Path]) -> None:
        """
        Raises:
            EndpointNotAllowed: the reservation's owner may not use one of its two ends, named or said as an address; or
            the host whose cores or disks it claims. HostNotGiven: see `_check_claimed`. BindNotAllowed: see `_check_bound`.
        """
        self._check_bound(reservation)
        self._check_claimed(reservation)
        for path in paths:
            for host, address in ((path.source, path.source_address), (path.destination, path.destination_address)):
                verdict = self.may_use(reservation.owner, IPv4Address(address))
                self._require(
                    verdict, reservation, EndpointNotAllowed("/".join(reservation.key), reservation.owner, host)
                )

    def may_use(self, owner: str, address: IPv4Address) -> Verdict:
        """Whether the owner may reserve from and to the address."""
        return on_endpoint(self.policies, USE_ENDPOINT, owner, str(address), self.of(address))

    def _require(self, verdict: Verdict, reservation: Reservation, error: RefusedByPolicy) -> None:
        """
        Raises:
            RefusedByPolicy: `error`, where no policy permits it. NotPermitted: a policy forbids it by name.
        """
        if not verdict.allowed and not verdict.by and not verdict.errors:
            raise error
        if not verdict.allowed:
            words = {"who": reservation.owner, "owner": reservation.owner, "of": reservation.owner, "role": "owner"}
            sentence = verdict.sentence({**words, "what": f"have {'/'.join(reservation.key)}"})
            raise NotPermitted(sentence, tuple(rule.name for rule in verdict.by))

    def granted(self, reservation: Reservation, *, operator: bool) -> Reservation:
        """The reservation with the accounts whose processes it may bind, by who asks; what it said of them is not heard.
        That an operator asked is kept with every claim: see `_check_claimed`."""
        claim = reservation.claim
        if claim is None:
            return reservation
        accounts: tuple[str, ...] = ()
        if operator:
            accounts = (ANY_ACCOUNT,)
        elif bound_by(claim):
            accounts = self._accounts_of(reservation.owner, claim.place)
        if claim.accounts == accounts:
            return reservation
        return reservation.model_copy(update={"claim": claim.model_copy(update={"accounts": accounts})})

    def _accounts_of(self, owner: str, host: str) -> tuple[str, ...]:
        return self.accounts.get(host, {}).get(owner, ())

    def _check_claimed(self, reservation: Reservation) -> None:
        """Cores and disks of an end system that names no owners are an operator's to give: all else on it makes room.

        Raises:
            EndpointNotAllowed: the end system, or its network, names other owners. HostNotGiven: neither names any, and no
            operator asked.
        """
        claim = reservation.claim
        address = self.addresses.get(claim.place) if claim is not None else None
        if claim is None or address is None:
            return
        owners, by_operator = self.of(address), ANY_ACCOUNT in claim.accounts
        verdict = on_endpoint(
            self.policies, CLAIM_HOST, reservation.owner, claim.place, owners, by_operator=by_operator
        )
        refused = EndpointNotAllowed if owners is not None else HostNotGiven
        self._require(verdict, reservation, refused("/".join(reservation.key), reservation.owner, claim.place))

    def _check_bound(self, reservation: Reservation) -> None:
        """
        Raises:
            BindNotAllowed: it binds processes of a host, was not asked by an operator, and the inventory does not name its
            owner among those of the host, or does not give it the accounts that it was granted. Whose a unit or a
            process is, only the host knows: it is asked there.
        """
        claim = reservation.claim
        bound = bound_by(claim) if claim else ""
        if claim is None or not bound:
            return
        address = self.addresses.get(claim.place)
        owners = self.of(address) if address else None
        accounts = self._accounts_of(reservation.owner, claim.place)
        kind, _, name = bound.partition(":")
        by_operator = claim.accounts == (ANY_ACCOUNT,)
        context: dict[str, Any] = {"by_operator": by_operator, "granted": list(claim.accounts), "account": ""}
        if kind == "user":
            context["account"] = name
        verdict = on_endpoint(
            self.policies, BIND_PROCESSES, reservation.owner, claim.place, owners, accounts, **context
        )
        is_owners = owners is not None and reservation.owner in owners
        error = BindNotAllowed(
            "/".join(reservation.key), reservation.owner, claim.place, bound, accounts if is_owners else None
        )
        self._require(verdict, reservation, error)


def bound_by(claim: Claim) -> str:
    """Which processes of its place a claim binds, as its manager says it; empty where none."""
    manager, request = manager_of(claim.kind), request_of(claim.kind, claim.request)
    return manager.bound(request) if manager and request else ""


def endpoint_owners(network: Network, policies: Policies | None = None) -> EndpointOwners:
    """The owners that the inventory names. `policies`: those in force; those that ship where none are named."""
    hosts = {host.address: host.owners for host in network.hosts.values() if host.owners is not None}
    prefixes = [
        (prefix, owners)
        for device in network.devices.values()
        for interface in device.interfaces.values()
        for prefix, owners in interface.owners.items()
    ]
    addresses = {host.name: host.address for host in network.hosts.values()}
    accounts = {host.name: host.accounts for host in network.hosts.values() if host.accounts}
    longest_first = tuple(sorted(prefixes, key=lambda one: (-one[0].prefixlen, one[0])))
    return EndpointOwners(hosts, longest_first, addresses, accounts, policies or shipped_policies())
