"""Which owners may use which endpoints: what the inventory says of hosts and prefixes, and everybody elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network

from slotcar.book.rules.errors import BindNotAllowed, EndpointNotAllowed, HostNotGiven
from slotcar.managers import manager_of, request_of
from slotcar.network.model import Network
from slotcar.network.path.model import Path
from slotcar.reservation.model import ANY_ACCOUNT, Claim, Reservation


@dataclass(frozen=True, slots=True)
class EndpointOwners:
    """Owners by address and by prefix, the longest prefix first; `addresses` are those of the hosts, by name. `accounts` of
    a host may be bound by an owner: by the host's name, then by owner."""

    hosts: Mapping[IPv4Address, tuple[str, ...]] = field(default_factory=dict)
    prefixes: Sequence[tuple[IPv4Network, tuple[str, ...]]] = ()
    addresses: Mapping[str, IPv4Address] = field(default_factory=dict)
    accounts: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

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
        if not self.hosts and not self.prefixes:
            return
        for path in paths:
            for host, address in ((path.source, path.source_address), (path.destination, path.destination_address)):
                owners = self.of(IPv4Address(address))
                if owners is not None and reservation.owner not in owners:
                    raise EndpointNotAllowed("/".join(reservation.key), reservation.owner, host)

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
        owners = self.of(address)
        if owners is None and ANY_ACCOUNT not in claim.accounts:
            raise HostNotGiven("/".join(reservation.key), reservation.owner, claim.place)
        if owners is not None and reservation.owner not in owners:
            raise EndpointNotAllowed("/".join(reservation.key), reservation.owner, claim.place)

    def _check_bound(self, reservation: Reservation) -> None:
        """
        Raises:
            BindNotAllowed: it binds processes of a host, was not asked by an operator, and the inventory does not name its
            owner among those of the host, or does not give it the accounts that it was granted. Whose a unit or a
            process is, only the host knows: it is asked there.
        """
        claim = reservation.claim
        bound = bound_by(claim) if claim else ""
        if claim is None or not bound or claim.accounts == (ANY_ACCOUNT,):
            return
        address = self.addresses.get(claim.place)
        owners = self.of(address) if address else None
        named = owners is not None and reservation.owner in owners
        accounts = self._accounts_of(reservation.owner, claim.place)
        kind, _, name = bound.partition(":")
        is_granted = set(claim.accounts) <= set(accounts) if claim.accounts else False
        if not named or not is_granted or (kind == "user" and name not in claim.accounts):
            raise BindNotAllowed(
                "/".join(reservation.key), reservation.owner, claim.place, bound, accounts if named else None
            )


def bound_by(claim: Claim) -> str:
    """Which processes of its place a claim binds, as its manager says it; empty where none."""
    manager, request = manager_of(claim.kind), request_of(claim.kind, claim.request)
    return manager.bound(request) if manager and request else ""


def endpoint_owners(network: Network) -> EndpointOwners:
    """The owners that the inventory names."""
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
    return EndpointOwners(hosts, longest_first, addresses, accounts)
