"""Which owners may use which endpoints: what the inventory says of hosts and prefixes, and everybody elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network

from slotcar.network.model import Network
from slotcar.path.model import Path
from slotcar.policy.errors import EndpointNotAllowed
from slotcar.reservation.model import Reservation


@dataclass(frozen=True, slots=True)
class EndpointOwners:
    """Owners by address and by prefix, the longest prefix first; `addresses` are those of the hosts, by name."""

    hosts: Mapping[IPv4Address, tuple[str, ...]] = field(default_factory=dict)
    prefixes: Sequence[tuple[IPv4Network, tuple[str, ...]]] = ()
    addresses: Mapping[str, IPv4Address] = field(default_factory=dict)

    def of(self, address: IPv4Address) -> tuple[str, ...] | None:
        """Who may use the address: its host's owners, else those of the longest prefix around it; None for everybody."""
        if address in self.hosts:
            return self.hosts[address]
        return next((owners for prefix, owners in self.prefixes if address in prefix), None)

    def check(self, reservation: Reservation, paths: Sequence[Path]) -> None:
        """
        Raises:
            EndpointNotAllowed: the reservation's owner may not use one of its two ends, named or said as an address; or
            the host whose cores or disks it claims.
        """
        if not self.hosts and not self.prefixes:
            return
        claim = reservation.claim
        if claim is not None and (of_host := self.addresses.get(claim.place)) is not None:
            owners = self.of(of_host)
            if owners is not None and reservation.owner not in owners:
                raise EndpointNotAllowed("/".join(reservation.key), reservation.owner, claim.place)
        for path in paths:
            for host, address in ((path.source, path.source_address), (path.destination, path.destination_address)):
                owners = self.of(IPv4Address(address))
                if owners is not None and reservation.owner not in owners:
                    raise EndpointNotAllowed("/".join(reservation.key), reservation.owner, host)


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
    return EndpointOwners(hosts, tuple(sorted(prefixes, key=lambda one: (-one[0].prefixlen, one[0]))), addresses)
